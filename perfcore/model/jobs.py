"""What is measured, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.model import EMPTY

if TYPE_CHECKING:
    from perfcore.errors import PerfError
    from perfcore.model.profiles import Profile


@attrs.frozen(kw_only=True)
class Step:
    """A collector or postprocessor by name, with the options it is to run with (its Settings as JSON values)."""

    name: str
    params: Mapping[str, Any] = EMPTY


@attrs.frozen(kw_only=True)
class Job:
    """What is measured: a command, with everything that is needed to run it and to say what it was.

    `argv` is authoritative: element 0 is the program. With `shell` it is one string for the shell. `cmd`,
    `args` and `workload` are what people call its parts. `cwd` is the folder of the tree that is measured,
    `env` the variables set on top of the inherited environment. `version` is None outside a repository.
    """

    argv: tuple[str, ...]
    cmd: str
    args: str = ""
    workload: str = ""
    shell: bool = False
    cwd: Path = Path()
    env: Mapping[str, str] = EMPTY
    collector: Step = Step(name="time")
    postprocessors: tuple[Step, ...] = ()
    version: str | None = None
    dirty: bool = False

    @property
    def label(self) -> str:
        """The command as people read it, in one line."""
        return " ".join(part for part in (self.cmd, self.args, self.workload) if part)


@attrs.frozen(kw_only=True)
class Plan:
    """Jobs that are measured together, in turn, on one machine: an executor never splits a plan.

    `schedule` holds options of the schedule that outweigh those of the jobs' collectors. `context` is what the
    submitting process offers an executor that works in it (`perfcore.measure.runner.Context`); others ignore it.
    """

    jobs: tuple[Job, ...]
    schedule: Mapping[str, Any] = EMPTY
    context: Any = None


@attrs.frozen(kw_only=True)
class Measured:
    """What came of one job of a plan: a profile, or the error that ended it."""

    job: Job
    profile: Profile | None = None
    error: PerfError | None = None
