"""The contract of shared sets. Inherit from it in your tests:

class TestRatings(SetContract):
    records = {"ratings/12/alice": sets.Record(rank=1, of="0" * 40, ids=(), payload=b"a secret opinion")}

    @pytest.fixture
    def driver(self):
        return Ratings()
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

import pytest

from perfcore_testing.kinds import misfits

if TYPE_CHECKING:
    from perfcore_storage_kit.sets import Record

    from perfcore.hookspecs import SharedSet

SECRET = "secret"


class _Rules:
    """Of a push that replaces a word, or nothing."""

    omit: frozenset[str] = frozenset()

    def __init__(self, secret: str = "") -> None:
        self._secret = secret

    def text(self, text: str) -> str:
        return text.replace(self._secret, "***") if self._secret else text

    def profile(self, id: str) -> tuple[str, tuple[str, ...]]:
        return id, ()

    def code(self, id: str) -> str:
        return id


class SetContract:
    """What every set keeps. Override `driver` and `records`."""

    records: ClassVar[Mapping[str, Record]] = {}
    """Records by their keys, some of which say `secret`."""

    @pytest.fixture
    def driver(self) -> SharedSet:
        raise NotImplementedError("override the fixture `driver` and return a set")

    @pytest.fixture
    def redacted(self, driver: SharedSet) -> Callable[[str, bytes, _Rules], bytes | None]:
        method: Callable[[str, bytes, _Rules], bytes | None] | None = getattr(driver, "redacted", None)
        if method is None:
            pytest.skip("nothing of this set leaves while there are rules")
        return method

    def test_it_fits_the_kind(self, driver: SharedSet) -> None:
        """Its method has the specification's arguments."""
        assert misfits("set", driver) == []

    def test_what_no_rule_changes_leaves_as_it_is(self, redacted: Callable[[str, bytes, _Rules], bytes | None]) -> None:
        """Byte for byte, or two clones with other rules would have two records of one name."""
        from perfcore_storage_kit import sets

        for key, record in self.records.items():
            assert redacted(key, sets.encode(record), _Rules()) == sets.encode(record)

    def test_what_a_rule_replaces_does_not_leave(self, redacted: Callable[[str, bytes, _Rules], bytes | None]) -> None:
        """Neither as it is, nor in a stream of zlib."""
        from perfcore_storage_kit import sets

        for key, record in self.records.items():
            data = redacted(key, sets.encode(record), _Rules(SECRET))
            assert data is None or SECRET.encode() not in _unpacked(sets.decode(data, key).payload)

    def test_rank_and_source_stay_as_they_are(self, redacted: Callable[[str, bytes, _Rules], bytes | None]) -> None:
        """So a record that comes back is known. What was redacted once is not changed again."""
        from perfcore_storage_kit import sets

        for key, record in self.records.items():
            data = redacted(key, sets.encode(record), _Rules(SECRET))
            if data is not None:
                assert sets.decode(data, key)[:2] == record[:2]
                assert redacted(key, data, _Rules(SECRET)) == data


def _unpacked(payload: bytes) -> bytes:
    try:
        return zlib.decompress(payload)
    except zlib.error:
        return payload
