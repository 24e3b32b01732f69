"""The set `receipts`, as push and pull bring it along."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfcore_storage_kit.sets import Rules


class ReceiptSet:
    """Records of what fleets sent, and their saved queries."""

    contract = "perfcore_fleet_kit.contract:ReceiptSetContract"

    def redacted(self, key: str, data: bytes, rules: Rules) -> bytes | None:
        from perfcore_storage_kit import sets

        from perfcore_fleet_kit import redaction

        record = redaction.redacted(sets.decode(data, key), key, rules)
        return None if record is None else sets.encode(record)
