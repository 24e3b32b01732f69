"""What was counted on each CPU, over the runs."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest
from perfcore_testing import profiles
from perfcore_view_topology.readings import FORMULAS, NO_CPU, Ratio, Readings, Stored, readings

from perfcore.errors import NotFoundError
from perfcore.model import Profile
from perfcore.profile.table import column, table


def of(rows: list[tuple[int | None, int | None, Any]], derived: list[tuple[Any, ...]] = (), **more: Any) -> Profile:  # type: ignore[assignment]
    """Of (run, CPU, cycles); `derived` has (run, CPU, metric, value)."""
    runs, cpus, amounts = (list(values) for values in zip(*rows, strict=True))
    columns = [column("run", runs, role="order"), column("cpu", cpus, dtype="i64")]
    tables = {
        "resources": table("resources", [*columns, column("PAPI_TOT_CYC", amounts, role="value"), *more.values()])
    }
    if derived:
        names = ("run", "cpu", "metric", "value")
        values = [list(found) for found in zip(*derived, strict=True)]
        dtypes = ("i64", "i64", "str", "f64")
        made = [column(name, found, dtype=dtype) for name, found, dtype in zip(names, values, dtypes, strict=True)]  # type: ignore[arg-type]
        tables["derived"] = table("derived", made)
    return profiles.profile(tables)


def value(found: Readings, metric: str, *cpus: int) -> float | None:
    known = found.metric(metric)
    assert known is not None
    reading = known.reading(cpus)
    return reading.value if reading else None


def test_a_reading_is_the_mean_of_the_runs_with_its_ends() -> None:
    found = readings(of([(1, 0, 10), (1, 1, 1), (2, 0, 30), (2, 1, 3)]))
    reading = found.metrics[0].reading([0])
    assert reading is not None
    assert attrs.astuple(reading) == (20, 10, 30, 2)
    assert value(found, "PAPI_TOT_CYC", 0, 1) == 22
    assert found.metrics[0].share([0]) == 40 / 44
    assert found.runs == 2


def test_the_readings_of_one_run_are_added() -> None:
    assert value(readings(of([(1, 0, 10), (1, 0, 5), (1, 0, None)])), "PAPI_TOT_CYC", 0) == 15


def test_what_is_absent_is_not_0() -> None:
    found = readings(of([(1, 0, 10), (1, 1, None), (1, 2, 0), (2, 0, None)]))
    assert [value(found, "PAPI_TOT_CYC", cpu) for cpu in range(4)] == [10, None, 0, None]
    reading = found.metrics[0].reading([0])
    assert reading is not None
    assert reading.runs == 1
    assert found.metrics[0].share([1]) is None


def test_what_was_counted_at_no_cpu_is_kept() -> None:
    found = readings(of([(1, 0, 10), (1, None, 30)]))
    assert value(found, "PAPI_TOT_CYC", NO_CPU) == 30
    assert found.metrics[0].share([NO_CPU]) == 0.75


def test_warmups_do_not_count() -> None:
    runs = table("runs", [column("run", [0, 1]), column("warmup", [True, False])])
    found = readings(of([(0, 0, 1000), (1, 0, 10)]).replace_tables(runs=runs))
    assert value(found, "PAPI_TOT_CYC", 0) == 10


def test_numbers_that_are_none_are_absent() -> None:
    found = readings(of([(1, 0, math.nan), (1, 1, math.inf), (1, 2, 1e308), (1, 2, 1e308), (1, 3, 0.5)]))
    assert [value(found, "PAPI_TOT_CYC", cpu) for cpu in range(4)] == [None, None, None, 0.5]
    assert found.metrics[0].share([3]) is None


INSTRUCTIONS = column("PAPI_TOT_INS", [10, 20, 90, 40], role="value")
ROWS: list[tuple[int | None, int | None, Any]] = [(1, 0, 10), (1, 1, 40), (2, 0, 30), (2, 1, 10)]
IPC = [(1, 0, "ipc", 1.0), (1, 1, "ipc", 0.5), (2, 0, "ipc", 3.0), (2, 1, "ipc", 4.0), (2, None, "ipc", 3.25)]


def test_a_ratio_is_of_sums_for_any_cpus() -> None:
    found = readings(of(ROWS, IPC, instructions=INSTRUCTIONS))
    ipc = found.metric("ipc")
    assert isinstance(ipc, Ratio)
    assert ipc.about == "instructions per cycle"
    first = ipc.reading([0])
    assert first is not None
    assert attrs.astuple(first) == (2.5, 1, 3, 2)
    assert value(found, "ipc", 0, 1) == 160 / 90
    assert ipc.share([0]) is None


def test_a_ratio_that_is_not_what_the_profile_says_is_not_computed() -> None:
    found = readings(of(ROWS, [(run, cpu, name, 7.0) for run, cpu, name, _ in IPC], instructions=INSTRUCTIONS))
    assert isinstance(found.metric("ipc"), Stored)
    assert value(found, "ipc", 0) == 7
    assert value(found, "ipc", 0, 1) is None


def test_an_unheard_of_metric_is_shown_by_cpu_as_it_is_stored() -> None:
    found = readings(of(ROWS, [(1, 0, "zip", 1.0), (2, 0, "zip", 3.0), (1, None, "zap", 9.0)]))
    assert value(found, "zip", 0) == 2
    assert found.whole == (("zap", 9.0),)


def test_a_ratio_over_nothing_has_no_value() -> None:
    rows: list[tuple[int | None, int | None, Any]] = [(1, 0, 10), (1, 1, 0)]
    counts = column("PAPI_TOT_INS", [5, 0], role="value")
    found = readings(of(rows, [(1, 0, "ipc", 0.5)], instructions=counts))
    assert value(found, "ipc", 1) is None
    assert value(found, "ipc", 0, 1) == 0.5


def test_all_formulas_are_those_of_the_collector() -> None:
    """The view does not import the collector; that both say the same is a matter of a test."""
    from perfcore_collect_papi import derived

    theirs = {(ratio.name, ratio.above, ratio.below, ratio.scale) for ratio in derived.RATIOS}
    assert {(one.name, (one.above,), (one.below,), one.scale) for one in FORMULAS} == theirs


@pytest.mark.parametrize("sample", ["bare", "timed", "empty", "traced", "sampled"])
def test_a_profile_that_was_not_counted_by_cpu_is_an_error(sample: str) -> None:
    """The column `cpu` of `timed` is the time on CPUs, which is another thing."""
    with pytest.raises(NotFoundError, match="no column `cpu`"):
        readings(profiles.SAMPLES[sample]())


def test_a_profile_without_a_value_of_any_cpu_is_an_error() -> None:
    with pytest.raises(NotFoundError, match="no value of any CPU"):
        readings(of([(1, 0, None), (1, None, 5)]))
