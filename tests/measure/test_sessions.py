"""Which versions share a session."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfcore.measure.sessions import planned, shared


@given(count=st.integers(0, 400), most=st.integers(5, 70))
def test_every_version_is_measured_in_turn_with_the_one_before_it(count: int, most: int) -> None:
    sessions = planned(count, most)
    assert all(len(session) <= most and list(session) == sorted(set(session)) for session in sessions)
    counted = Counter(place for session in sessions for place in session)
    assert sorted(counted) == list(range(count))
    assert max(counted.values(), default=1) <= 2
    together = {pair for session in sessions for pair in pairwise(session)}
    assert set(pairwise(range(count))) <= together
    assert not count or count - 1 in sessions[0]


@pytest.mark.parametrize(("count", "most"), [(65, 64), (200, 64), (512, 64), (200, 16)])
def test_a_session_is_of_the_whole_history(count: int, most: int) -> None:
    """So that no two of them meet at one place only, and few versions are measured twice."""
    sessions = planned(count, most)
    for session in sessions:
        halves = Counter(place * 2 >= count for place in session)
        assert min(halves.values()) >= len(session) / 4
    assert sum(map(len, sessions)) <= count * (1.13 if most == 64 else 1.25)


def test_a_very_long_history_is_measured_bit_by_bit_from_its_newest_version() -> None:
    sessions = planned(10_000, 64)
    assert max(max(session) - min(session) for session in sessions) < 2000
    middles = [session[len(session) // 2] for session in sessions]
    assert all(later < earlier + 1000 for earlier, later in pairwise(middles))


@pytest.mark.parametrize(
    ("missing", "repeated"),
    [(range(20, 30), {17, 18, 19}), (range(20, 27), set()), (range(30), set()), (range(2, 30), {0, 1}), ((), set())],
    ids=["many", "few", "all", "from the third on", "none"],
)
def test_many_missing_versions_are_measured_with_three_before_them(missing: range, repeated: set[int]) -> None:
    found = shared([str(number) for number in range(30)], {str(number) for number in missing})
    assert found == {str(number) for number in repeated}


def test_versions_that_cannot_be_measured_make_no_later_command_measure_others_again() -> None:
    """Those from before a benchmark was written stay missing for good."""
    versions = [str(number) for number in range(40)]
    assert not shared(versions, set(versions[:20]))
    assert not shared(versions, {*versions[:20], versions[-1]})
