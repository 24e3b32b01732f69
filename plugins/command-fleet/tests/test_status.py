"""The state of a fleet as columns is that of its receipts, one by one."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from perfcore_command_fleet.status import status_of
from perfcore_fleet_kit import retention
from perfcore_fleet_kit.briefs import Briefs
from perfcore_fleet_kit.fleet_index import FleetIndex
from perfcore_fleet_kit.keys import receipt_name, version_prefix
from perfcore_fleet_kit.receipts import Receipt
from perfcore_fleet_kit.state import PACK, FleetState
from perfcore_fleet_kit.testing import HOUR, VERSION, commit, segment
from perfcore_storage_kit import sets
from perfcore_testing.memory import MemoryStorage

from perfcore.store.store import Store

FOREVER = 1 << 62


def made_store(seed: int) -> Store:
    """Segments of some hosts and streams, of which some are missing, not whole, packed (some twice) or expired."""
    numbers, store = random.Random(seed), Store(MemoryStorage())
    for stream in range(6):
        for number in sorted(numbers.sample(range(1, 12), numbers.randint(1, 11))):
            made = segment(
                f"s{stream}",
                number,
                {"main": numbers.randint(1, 50)},
                hour=numbers.randint(0, 5),
                labels={"host": f"web{stream % 3}"},
                whole=numbers.random() < 0.8,
                period=numbers.choice((1_000, 10_000)),
            )
            commit(store, made)
            if numbers.random() < 0.1:
                before = list(store.read_many([row.key for row in store.storage.list(version_prefix(VERSION))]))
                retention.pack(store, VERSION, FleetState.read(store, VERSION), HOUR, FOREVER)
                for key, data in before:  # as another store brings them again
                    if isinstance(data, bytes) and numbers.random() < 0.5 and not has(store, key):
                        store.storage.create(key, data)
    state = FleetState.read(store, VERSION)
    retention.expire(store, VERSION, state, numbers.sample(sorted(state.receipts), 3), HOUR, 0)
    return store


def has(store: Store, key: str) -> bool:
    return any(row.key == key for row in store.storage.list(key))


def rows_of(state: FleetState, box: int) -> dict[tuple[int, str], dict[str, Any]]:
    """The boxes of hosts by going through receipts."""
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    for receipt in state.receipts.values():
        row = rows.setdefault((receipt.end // box * box, receipt.host), {"streams": set()})
        row["streams"].add(receipt.stream)
        amounts = {
            "segments": 1,
            "samples": receipt.total,
            "time": receipt.total * receipt.period,
            "partial": not receipt.whole,
        }
        for key, amount in amounts.items():
            row[key] = row.get(key, 0) + amount
    for receipt in state.gone.values():
        row = rows.setdefault((receipt.end // box * box, receipt.host), {"streams": set()})
        row["expired"] = row.get("expired", 0) + 1
    return {key: {**row, "streams": len(row["streams"])} for key, row in sorted(rows.items())}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("box", [HOUR, 4 * HOUR])
def test_boxes_are_those_of_the_receipts(seed: int, box: int) -> None:
    store = made_store(seed)
    state, status = FleetState.read(store, VERSION), status_of(FleetIndex.read(store, VERSION), box)
    expected = rows_of(state, box)
    assert [(row.begin, row.host) for row in status.boxes] == list(expected)
    for row, amounts in zip(status.boxes, expected.values(), strict=True):
        fields = msgspec.structs.asdict(row)
        assert {key: fields[key] for key in fields if key not in ("begin", "host")} == {
            **dict.fromkeys(("segments", "samples", "time", "partial", "expired"), 0),
            **amounts,
        }
    assert (status.receipts, status.problems) == (len(state.receipts), ())
    assert status.newest == max(receipt.end for receipt in state.receipts.values())


@pytest.mark.parametrize("seed", range(10))
def test_gaps_are_the_numbers_that_no_segment_has(seed: int) -> None:
    store = made_store(seed)
    numbers: dict[str, set[int]] = {}
    state = FleetState.read(store, VERSION)
    for receipt in (*state.receipts.values(), *state.gone.values()):
        numbers.setdefault(receipt.stream, set()).add(receipt.number)
    missing = {(stream, n) for stream, there in numbers.items() for n in range(1, max(there)) if n not in there}
    gaps = status_of(FleetIndex.read(store, VERSION), HOUR).gaps
    assert {(gap.stream, n) for gap in gaps for n in range(gap.first, gap.last + 1)} == missing
    assert all(gap.host == f"web{int(gap.stream[1:]) % 3}" for gap in gaps)


def test_a_pack_with_other_beginnings_is_read_by_its_receipts() -> None:
    """As packs were written before their beginnings were columns: rows of JSON."""
    store = Store(MemoryStorage())
    commit(store, *(segment("s", number, {"main": number}) for number in (1, 2, 4)))
    retention.pack(store, VERSION, FleetState.read(store, VERSION), HOUR, FOREVER)
    expected = status_of(FleetIndex.read(store, VERSION), HOUR)
    (row,) = store.storage.list(f"{version_prefix(VERSION)}{PACK}")
    stored = store.storage.read(row.key)
    record = sets.decode(stored.data, row.key)
    old = b'[["s",1,"web1",0,1,1000,true,"' + b"0" * 40 + b'",1]]'
    changed = sets.encode(record._replace(payload=with_beginnings(record.payload, old)))
    store.storage.replace(row.key, changed, stored.tag)
    assert status_of(FleetIndex.read(store, VERSION), HOUR) == expected
    assert expected.samples == 7


def with_beginnings(payload: bytes, beginnings: bytes) -> bytes:
    """The payload of a pack with something else in front."""
    length = int.from_bytes(payload[:4], "little")
    return len(beginnings).to_bytes(4, "little") + beginnings + payload[4 + length :]


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.replace(b'"length":', b'"length":1'.ljust(31, b"0") + b","),
        lambda document: document.replace(b'"digest":"', b'"digest":"z'),
        lambda document: document.replace(b'"number":1', b'"number":-9223372036854775809'),
        lambda document: document.replace(b'"samples":[3]', b'"samples":[9223372036854775807,3]'),
    ],
)
def test_a_receipt_with_numbers_out_of_bounds_is_named(change: Callable[[bytes], bytes]) -> None:
    store = Store(MemoryStorage())
    commit(store, segment("s", 1, {"main": 3}), segment("s", 2, {"main": 4}))
    key = version_prefix(VERSION) + receipt_name("s", 1)
    stored = store.storage.read(key)
    record = sets.decode(stored.data, key)
    document = zlib.decompress(record.payload)
    changed = zlib.compress(change(document))
    assert change(document) != document
    store.storage.replace(key, sets.encode(record._replace(payload=changed)), stored.tag)
    status = status_of(FleetIndex.read(store, VERSION), HOUR)
    assert status.samples == 4
    (problem,) = status.problems
    assert problem.startswith(f"{key} is damaged")


def test_briefs_are_what_was_encoded() -> None:
    receipt = Receipt(
        stream="s", number=1, source="x", shard="y", profile="p", digest="0123456789" * 4, length=5, begin=0, end=7
    )
    rows = [receipt.brief(), receipt.brief()._replace(number=2, whole=False, expired=True, host="web")]
    decoded = Briefs.decode(Briefs.of(rows).encode(), "it")
    assert [decoded.row(at) for at in range(2)] == rows
    assert decoded.take([1]).row(0) == rows[1]
