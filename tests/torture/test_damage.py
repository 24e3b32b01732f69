"""Damaged files are named by `fsck`, and no reading command fails badly or shows a wrong number.

Every seventh truncation and bit of each kind of file (so every byte, and every bit of a byte); all of them in
`benchmarks/torture.py`, and where the formats themselves are tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STRIDE = 7


def test_every_truncation_and_every_flipped_bit_is_noticed(torture: Callable[..., Any]) -> None:
    done = torture("damage.py", STRIDE, 5)
    assert len(done["swept"]) == 10
    small = {"list of notes": 60, "note": 25, "marks of a pack": 8}  # of some bytes
    assert all(sweep["tried"] > small.get(name, 85) for name, sweep in done["swept"].items()), done
    assert all(sweep["carry nothing"] * 20 < sweep["tried"] for sweep in done["swept"].values()), done
    assert all(ran > 60 for ran in done["commands"].values())


def test_of_a_short_file_every_damage_is_tried_once() -> None:
    import damage

    some = damage.some_damages("short", b"{}", 100)
    assert sorted(some) == sorted(damaged for _, damaged in damage.damages(b"{}"))
    assert len(some) == 2 + 16
