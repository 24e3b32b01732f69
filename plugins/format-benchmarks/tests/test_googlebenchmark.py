"""The JSON of Google Benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from perfcore_check_kit.run_values import primary
from perfcore_format_benchmarks.googlebenchmark import GoogleBenchmarkFormat

from perfcore.errors import FormatError
from perfcore.model import Profile

from .suites import SAMPLES, amounts, metrics, statuses

FOLDER = SAMPLES / "googlebenchmark"


def read(tmp_path: Path, *rows: dict[str, Any], **context: Any) -> Profile:
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"context": context, "benchmarks": rows}))
    return GoogleBenchmarkFormat().read(path)


def row(name: str, **fields: Any) -> dict[str, Any]:
    times = {"real_time": 30.0, "cpu_time": 20.0, "time_unit": "ns"}
    return {"name": name, "run_name": name, "run_type": "iteration", **times, **fields}


def test_arguments_and_threads_are_parameters_and_times_are_ns() -> None:
    profile = GoogleBenchmarkFormat().read(FOLDER / "single.json")
    rows = {entry["name"]: entry for entry in json.loads((FOLDER / "single.json").read_text())["benchmarks"]}
    assert {name: value for name, (value,) in amounts(profile, "cpu").items()} == pytest.approx(
        {
            "BM_sum[64]": 23.585502102155221,
            "BM_sum[512]": 194.69780943552712,
            "BM_sum[4096]": 1459.2106440536895,
            "BM_sum[32768]": 11526.137206427689,
            "BM_two[x=1,y=2]": 0.70296621573626605,
            "BM_two[x=3,y=4]": 0.70562343656101967,
            "BM_tpl<std::pair<int,long>>": rows["BM_tpl<std::pair<int,long>>"]["cpu_time"],
        }
    )
    wall = amounts(profile)
    assert wall["BM_map[clock=real,threads=2]"] == [pytest.approx(2.3754834659618107)]  # 0.00237… us in the file
    assert wall["BM_manual[manual]"] == [pytest.approx(100_000)]
    assert profile.created == 1795332612 * 10**9
    assert dict(profile.machine) == {"host": "host1", "cpus": 2}
    assert profile.header.label == "googlebenchmark b"
    assert "the benchmark library was built as debug" in profile.notes


def test_an_error_is_a_status_and_not_the_time_of_zero_that_stands_beside_it() -> None:
    profile = GoogleBenchmarkFormat().read(FOLDER / "single.json")
    assert statuses(profile)["BM_err"] == ("failed", "no file")
    assert "BM_err" not in amounts(profile)


def test_the_time_that_the_name_asks_for_decides() -> None:
    profile = GoogleBenchmarkFormat().read(FOLDER / "single.json")
    assert primary(metrics(profile, "BM_sum[64]")) == "cpu"
    for name in ("BM_map[clock=real,threads=2]", "BM_manual[manual]"):
        assert primary(metrics(profile, name)) == "wall"
        assert list(metrics(profile, name)) == ["wall", "cpu_time"]


def test_counters_stand_behind_and_rates_are_better_when_higher() -> None:
    profile = GoogleBenchmarkFormat().read(FOLDER / "single.json")
    assert metrics(profile, "BM_sum[64]") == {
        "cpu": ("ns", "lower"),
        "wall": ("ns", "lower"),
        "bytes_per_second": ("B/s", "higher"),
        "items_per_second": ("1/s", "higher"),
        "avg": ("", "lower"),
        "hits": ("", "lower"),
    }


def test_a_counter_never_decides_even_beside_a_time_of_zero(tmp_path: Path) -> None:
    rows = [row("a", real_time=0.0, cpu_time=0.0, hits=7.0), row("b", real_time="x", cpu_time=None, hits=7.0)]
    profile = read(tmp_path, *rows, row("c", hits=7.0))
    assert {name: status for name, (status, _) in statuses(profile).items()} == {
        "a": "failed",
        "b": "failed",
        "c": "measured",
    }
    assert amounts(profile, "hits") == {"c": [7.0]}


def test_repetitions_are_values_of_one_run_whatever_their_order() -> None:
    document = json.loads((FOLDER / "inter.json").read_text())
    repeated = [r["cpu_time"] for r in document["benchmarks"] if r["name"] == "BM_sum/64"]
    assert len(repeated) == 3
    profile = GoogleBenchmarkFormat().read(FOLDER / "inter.json")
    assert amounts(profile, "cpu")["BM_sum[64]"] == [pytest.approx(median(repeated))]
    assert profile.tables["resources"].rows == 9


def test_a_file_of_aggregates_gives_their_median() -> None:
    profile = GoogleBenchmarkFormat().read(FOLDER / "agg.json")
    assert amounts(profile, "cpu")["BM_two[x=3,y=4]"] == [pytest.approx(0.71050176302658956)]
    assert any("the file has no repetitions" in note for note in profile.notes)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("BM/64/y:2", "BM[0=64,y=2]"),
        ("BM/-5", "BM[-5]"),
        ("BM/iterations:10/repeats:3", "BM"),
        ("BM/8/min_time:0.050/threads:4", "BM[0=8,threads=4]"),
        ("BM/process_time/real_time", 'BM["process,real"]'),
        ("BM/2D/64", "BM/2D[64]"),
        ("ns::fixture/test", "ns::fixture/test"),
        ("BM/007", "BM[007]"),
        ("/", "/"),
    ],
)
def test_names_carry_arguments_and_settings(tmp_path: Path, name: str, expected: str) -> None:
    assert list(amounts(read(tmp_path, row(name)))) == [expected]


def test_benchmarks_that_differ_in_their_loops_alone_keep_their_full_names(tmp_path: Path) -> None:
    profile = read(tmp_path, row("BM/iterations:1"), row("BM/iterations:2"))
    assert list(amounts(profile)) == ["BM/iterations:1", "BM/iterations:2"]


def test_a_repetition_that_failed_fails_the_benchmark(tmp_path: Path) -> None:
    error = {"error_occurred": True, "error_message": "lost", "real_time": 0.0, "cpu_time": 0.0}
    for rows in ([row("a"), row("a", **error)], [row("a", **error), row("a")]):
        assert statuses(read(tmp_path, *rows, row("b")))["a"] == ("failed", "lost")
    skipped = row("a", skipped=True, skip_message="not here")
    assert statuses(read(tmp_path, skipped, row("b")))["a"] == ("skipped", "not here")


def test_files_from_before_run_types_name_their_aggregates_at_the_end(tmp_path: Path) -> None:
    rows = [{**row(name), "run_type": None, "run_name": "a"} for name in ("a", "a_mean", "a_stddev")]
    for old in rows:
        del old["run_type"]
    rows[1]["cpu_time"] = 99.0
    assert amounts(read(tmp_path, *rows), "cpu") == {"a": [20.0]}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "no benchmarks"),
        ([{"run_type": "iteration"}], "benchmark 0 has no name"),
        ([row("a", time_unit="fortnight")], "a has the time unit 'fortnight'"),
        ([row("a", time_unit=["ns"])], "a has the time unit"),
        ([row("a", real_time=-1.0, cpu_time=float("nan"))], "a: wall is -1.0, cpu is nan"),
        ([row("a", real_time=10**400, cpu_time=None)], "a: wall is missing, cpu is missing"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_the_reason(tmp_path: Path, rows: Any, reason: str) -> None:
    with pytest.raises(FormatError, match=r"out\.json: ") as caught:
        read(tmp_path, *rows)
    assert reason in caught.value.message
