"""A change that the clock rate of the CPUs explains says so."""

from __future__ import annotations

from typing import Any

import pytest
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_collect_time.clock import COLUMNS
from perfcore_testing.check import measured, noisy, pairing

from perfcore.model import Change, Profile
from perfcore.profile.table import TableBuilder

SAID = "the clock rate of the CPUs may explain it: "


def clocked(profile: Profile, *clocks: tuple[int | None, str | None, bool | None]) -> Profile:
    table = TableBuilder("clock", COLUMNS)
    for run, (frequency, governor, turbo) in enumerate(clocks):
        table.add(run=run, frequency=frequency, governor=governor, turbo=turbo)
    return profile.replace_tables(clock=table.build())


def checked(before: Any, after: Any, *, factor: float = 1.3) -> Change:
    sides = [measured(noisy(5e6 * times, 1, runs=12), session="s") for times in (1.0, factor)]
    clocks = [clocked(side, *rates) if rates else side for side, rates in zip(sides, (before, after), strict=True)]
    return next(iter(PairCheck(PairSettings()).compare(pairing(*clocks))))


SLOW, FAST = (2_400_000_000, "powersave", False), (3_120_000_000, "performance", True)


@pytest.mark.parametrize(
    ("before", "after", "factor", "said"),
    [
        ([FAST] * 3, [SLOW] * 3, 1.3, "3.12 → 2.40 GHz (-23.1 %), governor performance → powersave, turbo on → off"),
        ([SLOW] * 3, [FAST] * 3, 0.7, "2.40 → 3.12 GHz (+30.0 %), governor powersave → performance, turbo off → on"),
        ([(None, None, True)], [(None, None, False)], 1.3, "turbo on → off"),
        ([(3_000_000_000, None, None)], [(2_500_000_000, None, None)], 1.3, "3.00 → 2.50 GHz (-16.7 %)"),
    ],
)
def test_a_change_is_explained(before: Any, after: Any, factor: float, said: str) -> None:
    change = checked(before, after, factor=factor)
    assert change.kind in ("degradation", "optimization")
    assert change.evidence.endswith(f"; {SAID}{said}")


@pytest.mark.parametrize(
    ("before", "after", "factor"),
    [
        pytest.param([SLOW], [FAST], 1.3, id="slower on a faster clock"),
        pytest.param([SLOW], [SLOW], 1.3, id="the same clock"),
        pytest.param([(3_000_000_000, None, None)], [(2_980_000_000, None, None)], 1.3, id="hardly another clock"),
        pytest.param([], [], 1.3, id="nothing is known"),
        pytest.param([FAST], [], 1.3, id="nothing is known of one side"),
        pytest.param([FAST], [SLOW], 1.0, id="no change"),
    ],
)
def test_what_the_clock_does_not_explain_is_not_said_to_be(before: Any, after: Any, factor: float) -> None:
    assert SAID not in checked(before, after, factor=factor).evidence
