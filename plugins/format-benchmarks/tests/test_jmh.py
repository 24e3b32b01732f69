"""The JSON of JMH. The documents have the fields that its writer has; none was made by running it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from perfcore_check_kit.run_values import primary
from perfcore_format_benchmarks.jmh import JmhFormat

from perfcore.errors import FormatError
from perfcore.model import Profile

from .suites import amounts, metrics, statuses


def result(**fields: Any) -> dict[str, Any]:
    return {
        "jmhVersion": "1.37",
        "benchmark": "bench.Sums.sum",
        "mode": "avgt",
        "threads": 1,
        "forks": 2,
        "jvm": "/usr/lib/jvm/bin/java",
        "jdkVersion": "17.0.15",
        "vmName": "OpenJDK 64-Bit Server VM",
        "params": {"n": "100"},
        "primaryMetric": primary_metric("us/op", [[1.0, 2.0, 4.0], [5.0, 6.0, 7.0]]),
        "secondaryMetrics": {},
        **fields,
    }


def primary_metric(unit: str, data: Any, **fields: Any) -> dict[str, Any]:
    return {"score": 3.5, "scoreError": "NaN", "scoreUnit": unit, "rawData": data, **fields}


def read(tmp_path: Path, *results: Any) -> Profile:
    path = tmp_path / "out.json"
    path.write_text(json.dumps(results))
    return JmhFormat().read(path)


def test_a_fork_is_a_run_whose_amount_is_the_median_of_its_iterations(tmp_path: Path) -> None:
    profile = read(tmp_path, result())
    assert amounts(profile) == {"bench.Sums.sum[mode=avgt,n=100]": [2000.0, 6000.0]}
    assert profile.tables["resources"].rows == 6
    assert profile.collector.version == "1.37"
    assert dict(profile.machine) == {"java": "17.0.15"}


@pytest.mark.parametrize(
    ("unit", "metric", "expected", "direction"),
    [
        ("ns/op", "wall", 2.0, ("ns", "lower")),
        ("ms/op", "wall", 2e6, ("ns", "lower")),
        ("min/op", "wall", 1.2e11, ("ns", "lower")),
        ("ops/s", "throughput", 2.0, ("1/s", "higher")),
        ("ops/ms", "throughput", 2000.0, ("1/s", "higher")),
        ("ops/us", "throughput", 2e6, ("1/s", "higher")),
    ],
)
def test_units_become_ns_and_rates_by_the_second(
    tmp_path: Path, unit: str, metric: str, expected: float, direction: tuple[str, str]
) -> None:
    profile = read(tmp_path, result(mode="x", params={}, primaryMetric=primary_metric(unit, [[2.0]])))
    assert amounts(profile, metric) == {"bench.Sums.sum[x]": [pytest.approx(expected)]}
    assert metrics(profile, "bench.Sums.sum[x]") == {metric: direction}
    assert list(profile.tables["benchmarks"]["unit"]) == [unit]


def test_sampled_times_are_the_means_of_iterations(tmp_path: Path) -> None:
    histogram = [[[[1.0, 3], [5.0, 1]]], [[[4.0, 2]]]]
    primary_ = {"score": 3.0, "scoreUnit": "ms/op", "rawDataHistogram": histogram}
    profile = read(tmp_path, result(mode="sample", params={}, primaryMetric=primary_))
    assert amounts(profile) == {"bench.Sums.sum[sample]": [2e6, 4e6]}


def test_mode_and_threads_are_part_of_the_name_beside_parameters_of_these_names(tmp_path: Path) -> None:
    profile = read(tmp_path, result(threads=4, params={"mode": "fast", "n": "8"}))
    assert list(amounts(profile)) == ["bench.Sums.sum[mode=avgt,n=8,parameter mode=fast,threads=4]"]


def test_metrics_of_profilers_stand_behind_and_never_decide(tmp_path: Path) -> None:
    secondary = {
        "·gc.alloc.rate.norm": {
            "score": 16.0,
            "scoreUnit": "B/op",
            "rawData": [[16.0, 16.0, 17.0], [16.0, "NaN", 16.0]],
        }
    }
    profile = read(tmp_path, result(params={}, secondaryMetrics=secondary))
    assert list(metrics(profile, "bench.Sums.sum[avgt]")) == ["wall", "gc.alloc.rate.norm"]
    assert primary(metrics(profile, "bench.Sums.sum[avgt]")) == "wall"
    assert amounts(profile, "gc.alloc.rate.norm") == {"bench.Sums.sum[avgt]": [16.0, 16.0]}
    nothing = result(benchmark="b", primaryMetric=primary_metric("us/op", [["NaN"]]), secondaryMetrics=secondary)
    assert statuses(read(tmp_path, result(), nothing))["b[mode=avgt,n=100]"][0] == "failed"


def test_numbers_that_are_texts_are_no_values(tmp_path: Path) -> None:
    profile = read(tmp_path, result(params={}, primaryMetric=primary_metric("ns/op", [["NaN", 3.0, "+INF"]])))
    assert amounts(profile) == {"bench.Sums.sum[avgt]": [3.0]}
    assert "2 values left out: missing, NaN, infinite or negative" in profile.notes


def test_without_raw_data_the_score_is_one_run(tmp_path: Path) -> None:
    profile = read(tmp_path, result(params={}, primaryMetric=primary_metric("ns/op", [])))
    assert amounts(profile) == {"bench.Sums.sum[avgt]": [3.5]}
    assert any("no raw data" in note for note in profile.notes)


def test_another_java_is_another_configuration(tmp_path: Path) -> None:
    same, patched, newer = (read(tmp_path, result(jdkVersion=v)).config_id for v in ("17.0.1", "17.0.15", "21.0.1"))
    assert same == patched != newer


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ([], "no benchmarks"),
        ([result(), result()], "two results of the benchmark"),
        ([{"benchmark": "a", "mode": "avgt"}], "Object missing required field `primaryMetric`"),
        ([result(primaryMetric=primary_metric("bananas", [[1.0]]))], "the direction of its metrics is unknown: score"),
        ([result(primaryMetric=primary_metric("us/op", [[1.0], 2.0]))], "Expected `array`"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_the_reason(tmp_path: Path, results: Any, reason: str) -> None:
    with pytest.raises(FormatError, match=r"out\.json: ") as caught:
        read(tmp_path, *results)
    assert reason in caught.value.message
