"""Many processes register profiles with one version at once.

    python writers.py PROCESSES ADDS

Each process saves profiles of its own and registers each at once. All of them have one name and one second, and no
two have one content. Prints how many are registered and what is said of the store, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

from world import World, profile, warm

from perfcore.store.lookup import Ref

SMALL = 3


def add_many(world: World, numbers: range) -> None:
    repository, head = world.repository, world.head
    for number in numbers:
        saved = repository.save(profile(number, head, rows=SMALL if number % 10 else 5000))
        repository.register(Ref(kind="pending", pending=saved))


def in_a_fork(world: World, numbers: range) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            add_many(world, numbers)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def main() -> None:
    processes, adds = int(sys.argv[1]), int(sys.argv[2])
    warm()
    with tempfile.TemporaryDirectory() as folder:
        world = World.make(Path(folder))
        pids = [in_a_fork(world, range(first, first + adds)) for first in range(0, processes * adds, adds)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        entries = world.repository.entries(world.head)
        contents = {entry.profile for entry in entries}
        seconds = {entry.created // 1_000_000_000 for entry in entries}
        print(
            json.dumps(
                {
                    "codes": codes,
                    "registered": len(entries),
                    "contents": len(contents),
                    "numbers": sorted(int(entry.args) for entry in entries) == list(range(processes * adds)),
                    "seconds": len(seconds),
                    "names": len({entry.name for entry in entries}),
                    "pending": len(world.repository.pending()),
                    "wrong": world.wrongs(),
                }
            )
        )


if __name__ == "__main__":
    main()
