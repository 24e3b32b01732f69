"""Suites of benchmarks."""

from __future__ import annotations

import pytest
from perfcore_testing import profiles

from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile import benchmarks
from perfcore.profile.table import column, table


def suite() -> Profile:
    """Two runs of `parse[4]` with three values and two, one of `sort`, and a row of neither."""
    rows = table(
        "resources",
        [
            column("run", [0, 0, 0, 1, 1, 1, 0], role="order"),
            column("benchmark", ["parse", "parse", "parse", "parse", "parse", "sort", None], role="benchmark"),
            column("n", [4, 4, 4, 4, 4, None, None], role="benchmark"),
            column("wall", [5.0, 1.0, 2.0, 3.0, 5.0, 7.0, 100.0], unit="ns", role="value"),
            column("peak", [None, None, None, None, None, 9, None], unit="B", role="value", exact=True),
        ],
    )
    return replace(profiles.timed(), tables={"resources": rows})


def test_a_benchmark_is_a_profile_with_the_median_of_each_run() -> None:
    parts = benchmarks.split(suite())
    assert list(parts) == ["parse[4]", "sort"]
    resources = parts["parse[4]"].tables["resources"]
    assert [*resources.iter_rows()] == [{"run": 0, "wall": 2.0}, {"run": 1, "wall": 4.0}]
    assert resources["wall"].unit == "ns"
    assert [*parts["sort"].tables["resources"].iter_rows()] == [{"run": 1, "wall": 7.0, "peak": 9.0}]
    assert parts["sort"].tables["resources"]["peak"].spec.exact


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("parse", None, None), "parse"),
        (("parse", 4, None), "parse[4]"),
        (("parse", 4, "fast"), "parse[n=4,mode=fast]"),
        (("parse", None, "a,b"), 'parse["a,b"]'),
        (("parse", 1, 'x"]'), 'parse[n=1,mode="x\\"]"]'),
        (("parse", 0.5, None), "parse[0.5]"),
    ],
)
def test_a_benchmark_is_called_by_its_name_and_parameters(
    words: tuple[str | int | float | None, ...], expected: str
) -> None:
    assert benchmarks.name(words, ("n", "mode")) == expected


def test_a_profile_that_names_no_benchmark_is_no_suite() -> None:
    assert benchmarks.is_suite(suite())
    assert not benchmarks.is_suite(profiles.timed())
    assert not benchmarks.is_suite(replace(profiles.timed(), tables={}))
