"""Whether the clock rate of the CPUs explains a change: the table `clock` of profiles, as `collect time` writes it."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from perfcore.analysis.verdict_text import TIMES
from perfcore.text import percent, printable
from perfcore_check_pair import wording

if TYPE_CHECKING:
    from perfcore.model import Pairing, Profile

# Idle and busy runs on one machine differ by less; what a governor or turbo changes is more.
_APART = 0.03


def explanation(pairing: Pairing, unit: str, ratio: float | None) -> str:
    """In what the clocks of the two sides differ, where that changes times in the direction that this one changed."""
    if unit not in TIMES or ratio is None:
        return ""
    before, after = (_rate(side.profiles) for side in (pairing.baseline, pairing.target))
    rates = []
    if before and after and abs(after / before - 1) > _APART:
        if (after < before) != (ratio > 1):
            return ""
        rates.append(f"{before / 1e9:.2f} → {after / 1e9:.2f} GHz ({percent(after / before)})")
    settings = [*_setting(pairing, "governor"), *_setting(pairing, "turbo")]
    differences = ", ".join([*rates, *settings])
    return f"the clock rate of the CPUs may explain it: {differences}" if differences else ""


def _rate(profiles: Collection[Profile]) -> float | None:
    """The median of all runs in Hz."""
    rates = [float(value) for value in _values(profiles, "frequency") if isinstance(value, int | float) and value > 0]
    return statistics.median(rates) if rates else None


def _setting(pairing: Pairing, name: str) -> Iterator[str]:
    """`governor powersave → performance`, where both sides have one."""
    sides = [set(map(_word, _values(side.profiles, name))) for side in (pairing.baseline, pairing.target)]
    if all(sides) and sides[0] != sides[1]:
        yield f"{name} {wording.listing(sides[0])} → {wording.listing(sides[1])}"


def _values(profiles: Collection[Profile], name: str) -> Iterator[object]:
    for profile in profiles:
        table = profile.table("clock")
        column = table.get(name) if table is not None else None
        yield from (value for value in column or () if value is not None)


def _word(value: object) -> str:
    return {True: "on", False: "off"}.get(value, "") if isinstance(value, bool) else printable(str(value))
