"""What the k-th profile of a version takes to be registered, beside the first, and how long its index is.

    python benchmarks/registering.py [--profiles 5000] [--commands 20] [--block 500] [--rounds 3]

One process registers one profile after the other, as a collector that measures a large suite does; then its index is
decoded, as the next command does. Figures are user and system time of blocks of registrations, without what is waited
for the disk; the ratios are medians over the rounds, each in a new store. Profiles of one command have the same entry
but for their name and time. Needs perfcore with `storage-local`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from perfcore_storage_local import LocalStorage

from perfcore.model import Entry
from perfcore.store import index as indexes
from perfcore.store import objects
from perfcore.store.store import Store, object_key

if TYPE_CHECKING:
    from perfcore.hookspecs import Storage

VERSION = "c0" * 20
ENVIRONMENT = "e" * 40
CONTENT = b'{"a profile": "%s", "number": %d}'
SIZE = 1_500  # bytes of a profile of few runs


def register(store: Store, number: int, command: int) -> None:
    content = CONTENT % (b"x" * SIZE, number)
    entry = Entry(
        profile=objects.identify(objects.Object("profile", "time", content)),
        created=1_750_000_000_000_000_000 + number,
        name=f"time-suite-{number:06}.perf",
        type="time",
        cmd="python",
        args=f"suite.py --size {command}",
        workload="small",
        collector="time",
        config_id=f"{command:040x}",
        environment_id=ENVIRONMENT,
    )
    store.register("git", VERSION, content, "time", entry)


def measure(profiles: int, commands: int, block: int) -> tuple[list[float], int, float]:
    """(seconds of CPU for a registration of each block, bytes of the index, seconds to decode it)."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(cast("Storage", LocalStorage(Path(folder) / "store")))
        register(store, -1, 0)  # makes the folders
        blocks = []
        for first in range(0, profiles, block):
            start = time.process_time()
            for number in range(first, first + block):
                register(store, number, number % commands)
            blocks.append((time.process_time() - start) / block)
        data = store.storage.read(object_key(VERSION)).data
        start = time.process_time()
        indexes.decode(data, where="the index")
        return blocks, len(data), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=int, default=5_000)
    parser.add_argument("--commands", type=int, default=20, help="how many different ones")
    parser.add_argument("--block", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    measured = [measure(options.profiles, options.commands, options.block) for _ in range(options.rounds)]
    for number, times in enumerate(zip(*(blocks for blocks, _, _ in measured), strict=True), 1):
        ratio = statistics.median(seconds / blocks[0] for seconds, (blocks, _, _) in zip(times, measured, strict=True))
        milliseconds = statistics.median(times) * 1e3
        print(f"up to {number * options.block:7,}: {milliseconds:6.2f} ms each, {ratio:5.2f} of the first")
    size, decoding = measured[0][1], statistics.median(seconds for _, _, seconds in measured)
    print(f"index: {size:,} bytes, {size / options.profiles:.0f} a profile, decoded in {decoding * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
