"""What holds for any amounts whatever."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import MIRRORED, assert_sound, measured, pairing, swapped

from perfcore.model import Change, Pairing
from perfcore.model.record import replace

steady = settings(derandomize=True)
CHECK = PairCheck(PairSettings(resamples=200))
ANYTHING = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
)
COUNTS = st.integers(1, 40)
TIMES = st.floats(1e-3, 1e12, allow_subnormal=False)


def _changes(compared: Pairing) -> list[Change]:
    changes = list(CHECK.compare(compared))
    for change in changes:
        assert_sound(change, compared)
    return changes


def _floats(amounts: list[int | float | None]) -> list[float | None]:
    return [None if amount is None else float(amount) for amount in amounts]


@steady
@given(st.lists(ANYTHING, max_size=30), st.lists(ANYTHING, max_size=30), st.booleans(), st.booleans())
def test_any_amounts_get_sound_answers_that_swap(
    first: list[int | float | None], second: list[int | float | None], session: bool, interleaved: bool
) -> None:
    sides = [measured(_floats(amounts), session="s" if session else "") for amounts in (first, second)]
    compared = pairing(*sides, interleaved=interleaved)
    there, back = _changes(compared), _changes(swapped(compared))
    assert [change.kind for change in back] == [MIRRORED.get(change.kind, change.kind) for change in there]


@steady
@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=30), st.booleans())
def test_small_counts_with_many_ties_mirror(counts: list[tuple[int, int]], in_turn: bool) -> None:
    sides = [measured(list(side), session="s" if in_turn else "") for side in zip(*counts, strict=True)]
    compared = pairing(*sides)
    (there,), (back,) = _changes(compared), _changes(swapped(compared))
    assert back.kind == MIRRORED.get(there.kind, there.kind)
    assert back.p_value == pytest.approx(there.p_value) if there.p_value else back.p_value is None
    if there.low is not None and there.high is not None and there.ratio is not None:
        assert _numbers(back) == pytest.approx([1 / there.ratio, 1 / there.high, 1 / there.low])


@steady
@given(
    st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=30),
    st.sampled_from([1e-9, 0.1, 3.0, 7.7, 1e6]),
    st.booleans(),
)
def test_the_unit_does_not_matter(counts: list[tuple[int, int]], scale: float, in_turn: bool) -> None:
    first, second = (list(side) for side in zip(*counts, strict=True))
    answers = []
    for factor in (1.0, scale):
        sides = [
            measured([count * factor for count in side], session="s" if in_turn else "") for side in (first, second)
        ]
        (change,) = _changes(pairing(*sides))
        answers.append(change)
    plain, scaled = answers
    assert (scaled.p_value is None) == (plain.p_value is None)
    assert scaled.p_value is None or scaled.p_value == pytest.approx(plain.p_value or 0, rel=1e-6)
    assert _numbers(scaled) == pytest.approx(_numbers(plain), rel=1e-6)
    assert scaled.kind == plain.kind or _on_the_edge(plain)


@steady
@given(st.lists(st.tuples(TIMES, TIMES), min_size=2, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(times: list[tuple[float, float]], random: object) -> None:
    """Of pairs: they are shuffled together; of blocks: each side for itself."""
    first, second = (list(side) for side in zip(*times, strict=True))
    shuffled = [times[i] for i in sorted(range(len(times)), key=lambda _: random.random())]  # type: ignore[attr-defined]
    moved = [list(side) for side in zip(*shuffled, strict=True)]
    for session in ("", "s"):
        one = _changes(pairing(*(measured(side, session=session) for side in (first, second))))
        other = _changes(pairing(*(measured(side, session=session) for side in moved)))
        assert [(c.kind, c.p_value, c.ratio, c.low, c.high) for c in one] == [
            (c.kind, c.p_value, c.ratio, c.low, c.high) for c in other
        ]


@steady
@given(st.floats(0, 1), st.lists(st.tuples(TIMES, TIMES), min_size=6, max_size=20))
def test_a_wider_threshold_never_finds_more(threshold: float, times: list[tuple[float, float]]) -> None:
    sides = [measured(list(side), session="s") for side in zip(*times, strict=True)]
    narrow = _changes(pairing(*sides, thresholds={"": threshold}))[0]
    wide = _changes(pairing(*sides, thresholds={"": threshold * 2 + 0.01}))[0]
    assert narrow.kind in MIRRORED or wide.kind not in MIRRORED
    assert narrow.kind != "same" or wide.kind == "same"


@steady
@given(st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=20), st.sampled_from(["pairs", "blocks", "sessions"]))
def test_the_amounts_of_a_row_have_the_ratio_that_it_states(times: list[tuple[float, float]], schedule: str) -> None:
    sessions = {"pairs": ("s", "s"), "blocks": ("", ""), "sessions": ("s", "t")}[schedule]
    sides = [measured(list(side), session=name) for side, name in zip(zip(*times, strict=True), sessions, strict=True)]
    (change,) = _changes(pairing(*sides))
    assert change.baseline_value
    assert change.target_value
    assert change.ratio is not None
    assert change.target_value / change.baseline_value == pytest.approx(change.ratio, rel=1e-6)
    for amount, side in zip((change.baseline_value, change.target_value), zip(*times, strict=True), strict=True):
        assert schedule == "pairs" or min(side) * (1 - 1e-9) <= amount <= max(side) * (1 + 1e-9)


@steady
@given(st.text(), st.text(max_size=5), st.text(max_size=20))
def test_any_names_and_units(name: str, unit: str, type_: str) -> None:
    profile = measured({name: [1, 2, 3]} if name != "run" else {}, unit=unit)
    other = replace(profile, header=replace(profile.header, type=type_))
    _changes(pairing(profile, profile))
    _changes(pairing(profile, other))


def _numbers(change: Change) -> list[float]:
    return [number for number in (change.ratio, change.low, change.high) if number is not None]


def _on_the_edge(change: Change) -> bool:
    """Whether a number lies so close to the threshold that rounding decides."""
    edges = (math.log(edge) * sign for edge in (1, 1.02, 1.1) for sign in (1, -1))
    numbers = [math.log(number) for number in _numbers(change)]
    return any(abs(number - edge) < 1e-9 for edge in edges for number in numbers)
