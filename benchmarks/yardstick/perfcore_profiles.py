"""Makes profiles with so many rows, in a repository where `perf init` was run.

    python perfcore_profiles.py history ROWS          registers one with every version of the branch
    python perfcore_profiles.py crowd ROWS PROFILES   registers so many with the last version
    python perfcore_profiles.py pending ROWS          one that is pending

Python is that of the environment of perfcore. The disk is not waited for: whoever pulls the plug makes it all anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from made_up import RUNS, runs_of_functions

from perfcore.model import Entry, Header, Profile, Tool
from perfcore.profile.table import column, table
from perfcore.repository import Repository
from perfcore.store import objects, pending

CREATED = 1_750_000_000_000_000_000


def main(what: str, rows: int, profiles: int = 1) -> None:
    os.fsync = lambda fd: None
    repository = Repository.open(Path.cwd())
    if what == "pending":
        pending.save(repository.store, profile(rows, 0))
        return
    versions = subprocess.check_output(["git", "rev-list", "HEAD"], text=True).split()
    for number, version in enumerate(versions if what == "history" else versions[:1] * profiles):
        register(repository, version, profile(rows, number))


def register(repository: Repository, version: str, made: Profile) -> None:
    content, tables = repository.store.encode_profile(made)
    entry = Entry(
        profile=objects.identify(objects.Object("profile", made.header.type, content)),
        created=made.created,
        name=f"time-make-{made.header.workload}.perf",
        type=made.header.type,
        tables=tables,
        cmd=made.header.cmd,
        workload=made.header.workload,
        collector=made.collector.name,
        config_id=made.config_id,
        environment_id=made.environment_id,
    )
    repository.store.register(repository.vcs_name, version, content, made.header.type, entry)


def profile(rows: int, number: int) -> Profile:
    taken = runs_of_functions(rows, number)
    columns = (
        column("uid", [name for name in taken for _ in range(RUNS)]),
        column("run", [run for _ in taken for run in range(1, RUNS + 1)], role="order"),
        column("time", [second for seconds in taken.values() for second in seconds], unit="s", role="value"),
    )
    return Profile(
        header=Header(type="time", argv=("make",), cmd="make", workload=f"input{number}.txt", units={"time": "s"}),
        created=CREATED + number * 1_000_000_000,
        collector=Tool(name="time"),
        machine={"host": "bench", "system": "Linux", "arch": "x86_64"},
        config_id="1:" + "0" * 40,
        environment_id="1:" + "0" * 40,
        tables={"resources": table("resources", columns)},
    )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
