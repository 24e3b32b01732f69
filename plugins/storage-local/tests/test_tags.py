"""What tags cost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from perfcore_storage_local import LocalStorage

if TYPE_CHECKING:
    from pathlib import Path


def test_a_long_key_that_one_process_replaces_again_and_again_is_hashed_once_each_time(tmp_path: Path) -> None:
    """As the index of a version with thousands of profiles, with an object written in between."""
    storage, size = LocalStorage(tmp_path / "place"), 1_000_000
    storage.create("objects/ab/long", bytes(size))
    hashed: list[int] = []

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "_hashed":
            hashed.append(sum(map(len, frame.f_locals["data"])))

    for number in range(1, 4):
        hashed.clear()
        sys.setprofile(note)
        try:
            storage.create(f"objects/ab/{number}", b"short")
            storage.replace("objects/ab/long", bytes((number,)) * size, storage.read("objects/ab/long").tag)
        finally:
            sys.setprofile(None)
        assert size <= sum(hashed) < 1.1 * size
    assert storage.read("objects/ab/long").data == bytes((3,)) * size
