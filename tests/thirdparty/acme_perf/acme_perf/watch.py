"""What watches every collector: one CPU for each run, a journal of what was measured, and our pool of machines."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

from perfcore.model import Job, Profile
from perfcore.profile.recording import Session


def pin(session: Session) -> Generator[None, None, None]:
    """Keeps each run, of any collector, on one CPU."""
    if not hasattr(os, "sched_setaffinity"):
        session.note("not pinned to a CPU: this system cannot")
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def journal(profile: Profile, job: Job) -> None:
    """Writes a line for every profile to the file $ACME_JOURNAL."""
    path = os.environ.get("ACME_JOURNAL")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{profile.collector.name}: {job.label!r}\n")


def pool() -> dict[str, str]:
    """Which of our pools the machine is in."""
    return {"pool": os.environ.get("ACME_POOL", "none")}
