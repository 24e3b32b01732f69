"""Lists the receipts of a large fleet after packing: `python receipts.py [--hosts 1000] [--days 14]`.

Each host has 24 boxes a day with a segment each. Prints the CPU time of `status` beside that of decoding the
whole receipts.
"""

from __future__ import annotations

import argparse
import time

from perfcore_command_fleet.status import status_of
from perfcore_fleet_kit import receipts
from perfcore_fleet_kit.fleet_index import FleetIndex
from perfcore_fleet_kit.keys import receipt_name
from perfcore_fleet_kit.receipts import Pack, Receipt
from perfcore_fleet_kit.state import pack_key
from perfcore_storage_kit import sets
from perfcore_testing.memory import MemoryStorage

from perfcore.hookspecs import Part
from perfcore.store.store import Store

HOUR = 3_600_000_000_000
VERSION = "1" * 40


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=1_000)
    parser.add_argument("--days", type=int, default=14)
    arguments = parser.parse_args()
    store = Store(MemoryStorage())
    for hour in range(24 * arguments.days):
        members = [_receipt(host, hour) for host in range(arguments.hosts)]
        pack = Pack(receipts={receipt_name(receipt.stream, receipt.number): receipt for receipt in members})
        store.storage.create(pack_key(VERSION, f"{hour:040x}"), receipts.encode(pack))
    start = time.process_time()
    rows = [sets.decode(store.storage.read(row.key).data, row.key) for row in store.storage.list("receipts/")]
    plain = [receipts.decode(row, Pack, "a pack") for row in rows]
    peer = time.process_time() - start
    del plain
    start = time.process_time()
    status = status_of(FleetIndex.read(store, VERSION), HOUR)
    seconds = time.process_time() - start
    print(f"{status.receipts:,} receipts in {status.packs} packs: {seconds:.2f} s, whole receipts {peer:.2f} s")


def _receipt(host: int, hour: int) -> Receipt:
    stream = f"{host:08x}" * 6
    actions = ("index", "list", "detail", "search", "login", "cart", "api", "static")
    return Receipt(
        stream=stream,
        number=hour + 1,
        source="statprofiler",
        shard="collector1",
        profile=f"{host:020x}{hour:020x}",
        digest=f"{hour:020x}{host:020x}",
        length=1_000_000 + host,
        begin=hour * HOUR,
        end=hour * HOUR + HOUR // 2,
        period=10_000_000,
        labels={"host": f"web{host}.example.net", "release": "R1"},
        parts=[Part((("section", "request"), ("action", action))) for action in actions],
        samples=[100 + host] * len(actions),
        tables=[f"{hour:040x}"] * 4,
    )


if __name__ == "__main__":
    main()
