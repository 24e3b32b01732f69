"""Laws of scaling, for amounts of any kind."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from perfcore_postprocess_normalizer import Normalizer, NormalizerSettings
from perfcore_table_kit import units
from perfcore_testing import profiles

from perfcore.model import Profile
from perfcore.profile.table import column, table

ODD = [math.nan, math.inf, -math.inf, 5e-324, 1e308, -0.0]
WHOLE = st.integers(0, 1000) | st.sampled_from([2**53 + 1, 2**62])
FLOATS = st.floats(0, 1e12)
TIMES = ["ps", "ns", "us", "µs", "ms", "s", "min", "h"]
SIZES = ["B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "TiB"]


@st.composite
def amounts(draw: st.DrawFn) -> tuple[str, list[Any]]:
    """The dtype and the values of a column, whatever they are."""
    dtype, values = draw(
        st.sampled_from(
            [("i64", st.integers(-(2**63), 2**63 - 1)), ("u64", st.integers(0, 2**64 - 1)), ("f64", FLOATS)]
        )
    )
    odd = st.sampled_from(ODD) if dtype == "f64" else st.nothing()
    return dtype, draw(st.lists(st.none() | values | odd, max_size=12))


def profile_of(values: list[Any], unit: str = "ns", dtype: Any = None, runs: list[Any] | None = None) -> Profile:
    columns = [column("amount", values, dtype=dtype, unit=unit, role="value")]
    if runs is not None:
        columns.append(column("run", runs, dtype="i64", role="order"))
    return profiles.profile({"resources": table("resources", columns)})


def normalized(profile: Profile, **options: Any) -> list[Any]:
    return list(Normalizer(NormalizerSettings(**options)).postprocess(profile).tables["resources"]["amount"])


def plain(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None and math.isfinite(value)]


@given(st.lists(st.none() | WHOLE) | st.lists(st.none() | FLOATS))
def test_proportions_of_the_total_make_one_together(values: list[Any]) -> None:
    assume(sum(plain(values)) > 0)
    assert math.fsum(plain(normalized(profile_of(values), to="total"))) == pytest.approx(1)
    assert math.fsum(plain(normalized(profile_of(values), to="total", unit="%"))) == pytest.approx(100)


@given(st.lists(WHOLE, min_size=1, max_size=20), st.data())
def test_proportions_of_each_run_make_one_together(values: list[int], data: st.DataObject) -> None:
    runs = data.draw(st.lists(st.none() | st.integers(0, 2), min_size=len(values), max_size=len(values)))
    scaled = normalized(profile_of(values, runs=runs), to="total", per="run")
    for run in set(runs):
        rows = [row for row, each in enumerate(runs) if each == run]
        if any(values[row] for row in rows):
            assert math.fsum(scaled[row] for row in rows) == pytest.approx(1)
        else:
            assert [scaled[row] for row in rows] == [None] * len(rows)


@given(amounts())
def test_nothing_is_larger_than_the_maximum_and_something_is_it(drawn: tuple[str, list[Any]]) -> None:
    dtype, values = drawn
    scaled = [value for value in normalized(profile_of(values, dtype=dtype)) if value is not None]
    numbers = [value for value in values if value is not None and value == value]
    if numbers and 0 < max(numbers) < math.inf:
        assert max(value for value in scaled if value == value) == 1
    else:
        assert [value for value in scaled if value == value] == []


@given(amounts(), st.sampled_from(["max", "total"]))
def test_order_stays(drawn: tuple[str, list[Any]], to: str) -> None:
    dtype, values = drawn
    scaled = normalized(profile_of(values, dtype=dtype), to=to)
    pairs = [(old, new) for old, new in zip(values, scaled, strict=True) if new is not None and new == new]
    ordered = [new for _, new in sorted(pairs)]
    assert ordered == sorted(ordered)


@given(amounts(), st.sampled_from([{}, {"to": "total"}, {"to": "total", "unit": "%"}, {"unit": "ms"}]))
def test_what_is_missing_stays_missing_and_what_is_nan_never_becomes_a_number(
    drawn: tuple[str, list[Any]], options: dict[str, Any]
) -> None:
    dtype, values = drawn
    scaled = normalized(profile_of(values, dtype=dtype), **options)
    assert len(scaled) == len(values)
    for old, new in zip(values, scaled, strict=True):
        assert old is not None or new is None
        assert old is None or old == old or new is None or new != new


@given(st.lists(st.none() | WHOLE) | st.lists(st.none() | FLOATS))
def test_proportions_of_proportions_are_the_same(values: list[Any]) -> None:
    once = Normalizer(NormalizerSettings()).postprocess(profile_of(values))
    twice = Normalizer(NormalizerSettings()).postprocess(once)
    assert twice.tables == once.tables


@given(amounts(), st.sampled_from([TIMES, SIZES]), st.data())
def test_there_and_back_again_is_the_same_amount(
    drawn: tuple[str, list[Any]], family: list[str], data: st.DataObject
) -> None:
    dtype, values = drawn
    here, there = data.draw(st.sampled_from(family)), data.draw(st.sampled_from(family))
    assume(all(abs(value) < 1e280 for value in plain(values)))
    assume(all(value == 0 or abs(value) > 1e-280 for value in plain(values)))
    changed = Normalizer(NormalizerSettings(unit=there)).postprocess(profile_of(values, here, dtype))
    assert changed.tables["resources"]["amount"].unit == there
    back = normalized(changed, unit=here)
    for old, new in zip(values, back, strict=True):
        assert (new is None) == (old is None)
        assert old is None or new == pytest.approx(old, rel=1e-14, abs=0, nan_ok=True)


@given(st.lists(st.integers(-(2**53), 2**53), max_size=12), st.sampled_from(TIMES), st.sampled_from(TIMES))
def test_whole_amounts_are_converted_as_exactly_as_they_can_be_written(
    values: list[int], here: str, there: str
) -> None:
    factor = units.ratio(here, there)
    assert factor is not None
    exact = [value * factor for value in values]
    found = normalized(profile_of(values, here, dtype="i64"), unit=there)
    fits = factor.denominator == 1 and all(-(2**63) <= value < 2**63 for value in exact)
    assert found == ([int(value) for value in exact] if fits else [float(Fraction(value)) for value in exact])
