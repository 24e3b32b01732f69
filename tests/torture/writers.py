"""Many processes register profiles with one version at once, beside one that collects garbage without a grace.

    python writers.py PROCESSES ADDS

Each process saves profiles of its own and registers each at once. All of them have one name and one second, and no
two have one content. Prints how many are registered and what is said of the store, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from perfcore_command_store.garbage import remove_garbage
from world import World, profile, warm

from perfcore.store.lookup import Ref

SMALL = 3


def add_many(world: World, numbers: range) -> None:
    repository, head = world.repository, world.head
    for number in numbers:
        saved = repository.save(profile(number, head, rows=SMALL if number % 10 else 5000))
        repository.register(Ref(kind="pending", pending=saved))


def collect_until(world: World, end: Path) -> None:
    rounds = 0
    while not end.exists():
        remove_garbage(world.repository, grace=0.0)
        rounds += 1
        time.sleep(0.1)  # most of the processors are for the writers
    end.write_text(str(rounds))


def in_a_fork(work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
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
        end = Path(folder) / "end"
        collector = in_a_fork(partial(collect_until, world, end))
        shares = [range(first, first + adds) for first in range(0, processes * adds, adds)]
        pids = [in_a_fork(partial(add_many, world, numbers)) for numbers in shares]
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        end.touch()
        codes.append(os.waitstatus_to_exitcode(os.waitpid(collector, 0)[1]))
        entries = world.repository.entries(world.head)
        contents = {entry.profile for entry in entries}
        seconds = {entry.created // 1_000_000_000 for entry in entries}
        print(
            json.dumps(
                {
                    "codes": codes,
                    "collections": int(end.read_text() or 0),
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
