"""What holds for any amounts whatever."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from perfcore_check_changepoint import ChangePoint, detect
from perfcore_check_changepoint.detection import WINDOW, Settled, resume
from perfcore_check_changepoint.runs import Runs

from .histories import NOISES, history, normal

steady = settings(derandomize=True, max_examples=60)
ANYTHING = st.one_of(st.integers(-(2**80), 2**80), st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True))
EIGHTHS = st.integers(-(2**20), 2**20).map(lambda n: n / 8)


def _made(seed: int) -> list[float]:
    """A history in eighths, so that adding and multiplying by powers of two rounds nothing away."""
    noise = list(NOISES.values())[seed % len(NOISES)]
    steps = [(30 + seed % 20, float(seed % 9 - 4)), (80, float(seed % 5))]
    return [round(value * 8) / 8 for value in history(noise, seed, 120, steps)]


def _indexes(values: list[float]) -> list[tuple[int, str]]:
    return [(change.index, change.kind) for change in detect(values)]


def _assert_sound(found: list[ChangePoint], count: int) -> None:
    assert [change.index for change in found] == sorted(change.index for change in found)
    for change in found:
        assert 0 < change.earliest <= change.index <= change.latest < count
        assert all(map(math.isfinite, (change.before, change.after, change.low, change.high, change.gain)))
        assert change.low <= change.high
        assert 0 <= change.p_value <= 1
        assert change.undone is None or change.index < change.undone < count


@steady
@given(st.integers(0, 10_000), EIGHTHS)
def test_adding_a_constant_moves_nothing(seed: int, constant: float) -> None:
    values = _made(seed)
    assert _indexes([value + constant for value in values]) == _indexes(values)


@steady
@given(st.integers(0, 10_000), st.integers(-300, 300))
def test_another_unit_moves_nothing(seed: int, power: int) -> None:
    values = _made(seed)
    assert _indexes([math.ldexp(value, power) for value in values]) == _indexes(values)


@pytest.mark.parametrize("factor", [1e-9, 0.001, 0.37, 3.3, 1000.0, 1e12])
def test_any_factor_moves_nothing(factor: float) -> None:
    for seed in range(20):
        values = _made(seed)
        assert _indexes([value * factor for value in values]) == _indexes(values)


@steady
@given(st.integers(0, 10_000))
def test_the_sign_turns_every_change_around(seed: int) -> None:
    values = history(NOISES["normal"], seed, 100, [(40, float(seed % 7))])
    there, back = detect(values), detect([-value for value in values])
    assert [change.index for change in back] == [change.index for change in there]
    assert [change.size for change in back] == pytest.approx([-change.size for change in there])


@steady
@given(st.lists(ANYTHING, max_size=40))
def test_anything_gets_a_sound_answer(values: list[float]) -> None:
    _assert_sound(detect(values), len(values))


@steady
@given(st.lists(st.lists(ANYTHING, max_size=5), max_size=40))
@example([[0.0, 0.0, 2.215364051656864e270], [1.1754943508222875e-38]])
def test_any_runs_get_a_sound_answer(values: list[list[float]]) -> None:
    _assert_sound(detect(values), len(values))


@steady
@given(st.lists(st.integers(0, 3), min_size=4, max_size=80))
def test_a_handful_of_values_gets_a_sound_answer(values: list[int]) -> None:
    _assert_sound(detect(values), len(values))


@steady
@given(ANYTHING, st.integers(0, 50))
def test_a_constant_never_changes(value: float, count: int) -> None:
    assert detect([value] * count) == []


HUGE, TINY = 1.7e308, 5e-324


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1.0],
        [1.0, 2.0],
        [math.nan] * 9,
        [math.inf, -math.inf] * 9,
        [1.0, math.nan, math.inf] * 9,
        [HUGE, -HUGE] * 9,
        [HUGE, TINY] * 9,
        [TINY] * 9 + [2 * TINY],
        [-5.0, -6.0] * 9,
        [10**400, -(10**400)] * 9,
        [True, False] * 9,
        [[]] * 9,
    ],
    ids=repr,
)
def test_hopeless_values_are_no_change(values: list[float]) -> None:
    assert detect(values) == []


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e200, 1e307, -1e307])
def test_a_step_is_found_at_the_ends_of_the_floats(scale: float) -> None:
    values = [scale * v for v in (1, 1.01, 0.99, 1, 1.02, 0.98, 1, 1.01, 1, 0.99, 5, 5.1, 5, 5.05, 4.95, 5, 5.1, 5)]
    (change,) = detect(values)
    assert change.index == 10
    assert change.after / change.before == pytest.approx(5, rel=0.05)


@pytest.mark.parametrize("name", NOISES)
def test_bit_by_bit_gives_what_all_at_once_gives(name: str) -> None:
    """Through several windows, whatever the pieces are that the history grows by."""
    values = _long(name)
    whole, settled = resume(Runs.of(values), Settled(), 6.5, 0.95)
    assert len(whole) >= 7
    assert settled.start > WINDOW
    for piece in (7, 160, 900):
        state = Settled()
        for count in range(piece, len(values) + piece, piece):
            found, state = resume(Runs.of(values[:count]), state, 6.5, 0.95)
        assert found == whole
        assert state == settled


@settings(derandomize=True, max_examples=40)
@given(st.data())
def test_a_past_that_became_another_is_told_as_it_is(data: st.DataObject) -> None:
    """Versions of old are measured again, removed or put in between, and the history grows; or loses its end."""
    values: list[float | list[float]] = [*_long(data.draw(st.sampled_from(list(NOISES))))]
    state = resume(Runs.of(values[: data.draw(st.integers(0, len(values)))]), Settled(), 6.5, 0.95)[1]
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(values) - 1))
        how = data.draw(st.sampled_from(["other", "several", "gone", "missing", "more", "shorter"]))
        count = data.draw(st.integers(1, 20))
        if how == "shorter":
            del values[-count:]
        elif how == "missing":
            values[place] = math.nan
        elif how == "several":
            values[place] = [100.0] * count
        else:
            put: dict[str, list[float | list[float]]]
            put = {"other": [95.0] * count, "gone": [], "more": [95.0, *values[place : place + count]]}
            values[place : place + count] = put[how]
    assert resume(Runs.of(values), state, 6.5, 0.95) == resume(Runs.of(values), Settled(), 6.5, 0.95)


def _long(name: str) -> list[float]:
    steps = [(place, 5.0 * (-1) ** number) for number, place in enumerate(range(150, 1600, 170))]
    return history(NOISES[name], 1, 1700, steps)


def test_what_is_settled_is_believed_as_long_as_its_values_are_there() -> None:
    """So it is not looked at again: a change that is left out stays out, until a value before it is another."""
    values = history(normal, 1, 2000, [(700, 5.0), (1100, 4.0)])
    found, settled = resume(Runs.of(values), Settled(), 6.5, 0.95)
    forged = replace(settled, changes=settled.changes[1:])
    assert resume(Runs.of(values), forged, 6.5, 0.95)[0] == found[1:]
    values[1900] += 0.5
    assert resume(Runs.of(values), forged, 6.5, 0.95)[0] == found[1:]
    values[600] += 0.5
    assert [change.index for change in resume(Runs.of(values), forged, 6.5, 0.95)[0]] == [700, 1100]


def test_what_is_settled_is_found_also_at_the_seams() -> None:
    """Wherever a step is in a long history, it is found once."""
    for place in range(200, 480, 10):
        found = detect(history(normal, place, 900, [(place, 3.0)]))
        assert len([change for change in found if abs(change.index - place) <= 5]) == 1
