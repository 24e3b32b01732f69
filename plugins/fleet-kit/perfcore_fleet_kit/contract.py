"""How the laws of the kind set are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from typing import ClassVar

import msgspec
import pytest
from perfcore_storage_kit import sets
from perfcore_testing.set import SetContract

from perfcore_fleet_kit import receipts
from perfcore_fleet_kit.receipts import Receipt
from perfcore_fleet_kit.shared_set import ReceiptSet


def _receipt() -> sets.Record:
    receipt = Receipt(
        stream="web1",
        number=1,
        source="stacks",
        shard="secret-laptop",
        profile="",
        digest="ab" * 20,
        length=1,
        begin=1,
        end=2,
        labels={"user": "secret"},
    )
    return sets.decode(receipts.encode(receipt), "a receipt")


def _query() -> sets.Record:
    payload = msgspec.json.encode({"format": 1, "name": "hers", "where": "user=secret"})
    return sets.Record(rank=1, of="0" * 40, ids=(), payload=payload)


class ReceiptSetContract(SetContract):
    records: ClassVar = {f"receipts/{7:040x}/web1.1": _receipt(), "receipts/@queries/hers": _query()}

    @pytest.fixture
    def driver(self) -> ReceiptSet:
        return ReceiptSet()
