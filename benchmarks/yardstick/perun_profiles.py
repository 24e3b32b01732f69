"""Makes profiles with the library of Perun, in a repository where `perun init` was run.

`python perun_profiles.py history ROWS` registers a profile with so many rows for every version of the branch.
`python perun_profiles.py crowd ROWS PROFILES` registers so many with the last version.
`python perun_profiles.py calls ROWS` makes a pending one of so many calls, as its collector `trace` has them.
`python perun_profiles.py allocations FILE` makes one of an allocation at each of the stacks in a folded file, as its
collector `memory` has them. Python is that of the environment of Perun.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from typing import Any

from made_up import RUNS, runs_of_functions
from perun.logic import index, pcs, store
from perun.profiles import native

FUNCTIONS = 500
THREADS = 4
ORDER = list(range(1, RUNS + 1))
COLLECTORS = {"time": "time", "mixed": "trace", "memory": "memory"}


def history(rows: int, versions: list[str]) -> None:
    """Register a profile with each of these versions, in the steps that `perun add` takes."""
    objects = pcs.get_object_directory()
    for number, version in enumerate(versions):
        # Perun asks for its time, and keeps one profile of a name for each version.
        source = os.path.join(pcs.get_job_directory(), f"time-make-{number}.perf")
        with open(source, "w"):
            pass
        profile = stored(rows, number)
        body = json.dumps(profile)
        content = f"profile time {len(body)}\0{body}".encode()
        sum = store.compute_checksum(content)
        store.add_loose_object_to_dir(objects, sum, store.pack_content(content))
        index.register_in_minor_index(objects, version, source, sum, profile)
        os.remove(source)


def stored(rows: int, number: int) -> dict[str, Any]:
    """A profile as Perun keeps it: what its own class makes of the rows, which takes long for many profiles."""
    taken = runs_of_functions(rows, number)
    common = {"subtype": "real", "time": "0.0", "type": "time"}
    rest = described([], "make", f"input{number}.txt", type="time", units={"time": "s"})
    return {
        **rest,
        "resources": {f"{name}#0": {"amount": took, "order": ORDER} for name, took in taken.items()},
        "resource_type_map": {f"{name}#0": {**common, "uid": name} for name in taken},
        "models": [],
    }


def calls(rows: int) -> None:
    save(described(traced(rows), "program", "big.txt", type="mixed", units={"mixed(time delta)": "us"}))


def allocations(file: str) -> None:
    with open(file) as lines:
        resources = [allocated(line.rpartition(" "), number) for number, line in enumerate(lines)]
    save(described(resources, "program", "big.txt", type="memory", units={"memory": "B"}))


def save(content: dict[str, Any]) -> None:
    """Keep a profile as pending."""
    profile = native.Profile(content)
    profile["origin"] = subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip()
    native.save_profile(profile)


def traced(rows: int) -> list[dict[str, Any]]:
    """Calls of the functions of a large program with some threads."""
    chance = random.Random(rows)
    called: Counter[str] = Counter()
    found = []
    for row in range(rows):
        name, amount = f"function_{chance.randrange(FUNCTIONS)}", round(chance.gauss(1e6, 1e4))
        found.append(
            {
                "amount": amount,
                "timestamp": 1_000_000 + row * 40,
                "call-order": called[name],
                "uid": name,
                "tid": 4000 + chance.randrange(THREADS),
                "type": "mixed",
                "subtype": "time delta",
                "location": "program",
                "workload": "big.txt",
                "exclusive": amount * 3 // 4,
            }
        )
        called[name] += 1
    return found


def allocated(parts: tuple[str, str, str], number: int) -> dict[str, Any]:
    trace = [frame(name) for name in reversed(parts[0].split(";"))]
    return {
        "type": "memory",
        "subtype": "malloc",
        "address": 0x5500_0000 + number * 64,
        "amount": int(parts[2]),
        "trace": trace,
        "uid": trace[0],
    }


def frame(name: str) -> dict[str, Any]:
    module, _, function = name.rpartition(".")
    return {"source": f"src/{module or name}.c", "function": function, "line": sum(name.encode()) % 900 + 1}


def described(
    resources: list[dict[str, Any]], command: str, workload: str, *, type: str, units: dict[str, str]
) -> dict[str, Any]:
    return {
        "resources": resources,
        "header": {
            "type": type,
            "cmd": command,
            "exitcode": 0,
            "workload": workload,
            "label": "",
            "units": units,
        },
        "machine": {"architecture": "x86_64", "system": "Linux", "host": "bench"},
        "collector_info": {"name": COLLECTORS[type], "params": {}},
        "postprocessors": [],
    }


if __name__ == "__main__":
    revisions = subprocess.check_output(["git", "rev-list", "HEAD"], text=True).split()
    if sys.argv[1] == "history":
        history(int(sys.argv[2]), revisions)
    elif sys.argv[1] == "crowd":
        history(int(sys.argv[2]), revisions[:1] * int(sys.argv[3]))
    elif sys.argv[1] == "calls":
        calls(int(sys.argv[2]))
    else:
        allocations(sys.argv[2])
