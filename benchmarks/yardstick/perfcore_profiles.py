"""Makes profiles with so many rows, in a repository where `perf init` was run.

    python perfcore_profiles.py history ROWS          registers one with every version of the branch
    python perfcore_profiles.py crowd ROWS PROFILES   registers so many with the last version
    python perfcore_profiles.py rows ROWS             one that is pending
    python perfcore_profiles.py decimals VALUES       one that is pending, of numbers with four digits after the point
    python perfcore_profiles.py sampled STACKS        one that is pending, of a million samples

Python is that of the environment of perfcore. The disk is not waited for: whoever pulls the plug makes it all anew.
"""

from __future__ import annotations

import importlib
import os
import random
import subprocess
import sys
from pathlib import Path

from made_up import RUNS, runs_of_functions

from perfcore.model import Entry, Header, Profile, Tool
from perfcore.model.record import replace
from perfcore.profile.table import column, table
from perfcore.repository import Repository
from perfcore.store import objects, pending

CREATED = 1_750_000_000_000_000_000


def main(what: str, rows: int, profiles: int = 1) -> None:
    os.fsync = lambda fd: None
    repository = Repository.open(Path.cwd())
    if what in MADE:
        pending.save(repository.store, MADE[what](rows))
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


def decimals(values: int) -> Profile:
    chance = random.Random(values)
    value = column("time", [round(chance.gauss(1, 0.01), 4) for _ in range(values)], unit="s", role="value")
    made = profile(0, 0)
    return replace(made, tables={"resources": table("resources", (value,))})


def sampled(stacks: int) -> Profile:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    module = importlib.import_module("stacks")
    program = module.Program(stacks)
    program.version()
    made: Profile = module.profile(program, 0)
    return made


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


MADE = {"rows": lambda rows: profile(rows, 0), "decimals": decimals, "sampled": sampled}


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
