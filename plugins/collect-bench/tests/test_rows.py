"""What is recorded of a suite, read back as perfcore reads it."""

from __future__ import annotations

from statistics import median

from perfcore_collect_bench.worker.timing import VALUES

from perfcore.profile.benchmarks import split

from .conftest import MeasureSuite

MIXED = """
    def time_sum():
        sum(range(100))

    def track_size():
        return 42

    def track_rate():
        return 7.5
    track_rate.unit = "items/s"

    def mem_list():
        return [0] * 10_000

    def peakmem_list():
        return [0] * 5_000_000

    def timeraw_import():
        return "import json"
"""
METRICS = {
    "time_sum": {"wall", "cpu", "relative"},
    "timeraw_import": {"wall"},
    "track_size": {"amount"},
    "track_rate": {"amount_items_s"},
    "mem_list": {"memory"},
    "peakmem_list": {"peak_memory"},
}
POINTER = 8  # bytes of an item of a list


def test_each_benchmark_is_a_series_of_its_own_metrics(measure: MeasureSuite) -> None:
    series = split(measure({"bench_mixed.py": MIXED}, runs=2).profile)
    metrics = {name: {c.name for c in part.tables["resources"].values()} for name, part in series.items()}
    assert metrics == {f"bench_mixed.{name}": expected for name, expected in METRICS.items()}
    assert all(list(part.tables["resources"]["run"]) == [0, 1] for part in series.values())


def test_a_run_holds_the_values_of_a_time_with_its_loops(measure: MeasureSuite) -> None:
    measuring = measure({"bench_sum.py": "def time_sum(): sum(range(100))"}, runs=2)
    assert [row["run"] for row in measuring.rows] == [0] * VALUES + [1] * VALUES
    assert len({row["loops"] for row in measuring.rows}) == 1
    assert all(row["cpu"] > 0 and 0 < row["wall"] < 1e6 for row in measuring.rows)
    (part,) = split(measuring.profile).values()
    assert part.tables["resources"]["wall"][0] == median(row["wall"] for row in measuring.rows[:VALUES])


def test_amounts_have_the_unit_that_the_suite_says(measure: MeasureSuite) -> None:
    measuring = measure({"bench_mixed.py": MIXED}, runs=1)
    units = {column.name: column.unit for column in measuring.resources.values()}
    assert units == {
        "wall": "ns", "cpu": "ns", "relative": "",
        "memory": "B", "peak_memory": "B", "amount": "", "amount_items_s": "items/s",
    }  # fmt: skip
    amounts = {row["benchmark"]: row["amount"] or row["amount_items_s"] for row in measuring.rows}
    assert amounts["bench_mixed.track_size"] == 42
    assert amounts["bench_mixed.track_rate"] == 7.5


def test_memory_is_that_of_the_result_and_the_peak_is_that_of_a_process(measure: MeasureSuite) -> None:
    measuring = measure({"bench_mixed.py": MIXED}, runs=1)
    (memory,) = [row["memory"] for row in measuring.rows if row["memory"] is not None]
    assert 10_000 * POINTER <= memory < 11_000 * POINTER
    (peak,) = [row["peak_memory"] for row in measuring.rows if row["peak_memory"] is not None]
    assert 5_000_000 * POINTER < peak < 25_000_000 * POINTER


def test_the_profile_says_what_ran_the_benchmarks(measure: MeasureSuite) -> None:
    measuring = measure({"bench_sum.py": "def track_one(): return 1"}, runs=2)
    sampling = measuring.session.sampling
    assert sampling["harness"] == "perfcore"
    assert sampling["implementation"] in ("CPython", "PyPy")
    assert sampling["program"]
    seeds = measuring.session.tables["workers"].build()["hash_seed"]
    assert len(set(seeds)) == 2
