"""`hyperfine --export-json`: each time is a process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from perfcore_format_benchmarks.hyperfine import HyperfineFormat

from perfcore.errors import FormatError
from perfcore.model import Profile

from .suites import SAMPLES, amounts, metrics, statuses


def read(tmp_path: Path, *results: dict[str, Any]) -> Profile:
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"results": results}))
    return HyperfineFormat().read(path)


def test_each_time_is_a_run_of_a_command_with_its_parameters() -> None:
    profile = HyperfineFormat().read(SAMPLES / "hyperfine" / "param.json")
    values = amounts(profile)
    assert list(values) == ["sleep 0.001[1]", "sleep 0.002[2]", "sleep 0.003[3]"]
    expected = [2310305.0, 2370425.0, 2267761.0, 2244297.0, 2174443.0]  # `times` of the first result, in ns
    assert values["sleep 0.001[1]"] == pytest.approx(expected, rel=1e-12)
    assert metrics(profile, "sleep 0.001[1]") == {"wall": ("ns", "lower")}


def test_cpu_times_are_means_and_so_attributes() -> None:
    table = HyperfineFormat().read(SAMPLES / "hyperfine" / "list.json").tables["benchmarks"]
    assert list(table["mean_user_ns"]) == pytest.approx([745920.0, 866320.0])
    assert list(table["mean_system_ns"]) == pytest.approx([304472.0, 602608.0])


def test_a_command_that_failed_has_no_amounts() -> None:
    profile = HyperfineFormat().read(SAMPLES / "hyperfine" / "fail.json")
    assert list(amounts(profile)) == ["true"]
    assert statuses(profile) == {
        "false": ("failed", "exited with 1 in each of 5 runs"),
        "true": ("measured", None),
    }
    assert any("false (exited with 1" in note for note in profile.notes)


def test_runs_that_failed_are_left_out_of_the_others(tmp_path: Path) -> None:
    profile = read(tmp_path, {"command": "./flaky", "times": [1.0, 2.0, 3.0], "exit_codes": [0, 1, None]})
    assert amounts(profile) == {"./flaky": [1e9]}
    assert "2 of 3 runs failed and are left out: ./flaky" in profile.notes


def test_sizes_of_newer_versions_are_read(tmp_path: Path) -> None:
    result = {"command": "x", "times": [1.0, 2.0], "exit_codes": [0, 0], "memory_usage_byte": [1000, 3000]}
    assert amounts(read(tmp_path, result), "max_rss") == {"x": [1000, 3000]}


def test_a_file_without_times_gives_its_median_and_says_so(tmp_path: Path) -> None:
    profile = read(tmp_path, {"command": "x", "mean": 2.0, "median": 1.5})
    assert amounts(profile) == {"x": [1.5e9]}
    assert any("the median is one run: x" in note for note in profile.notes)


def test_two_results_of_a_command_are_an_error(tmp_path: Path) -> None:
    result = {"command": "x", "times": [1.0], "exit_codes": [0]}
    with pytest.raises(FormatError, match="two results of the benchmark 'x'"):
        read(tmp_path, result, result)
    with pytest.raises(FormatError, match="2 times, 1 exit codes"):
        read(tmp_path, {"command": "x", "times": [1.0, 2.0], "exit_codes": [0]})


def test_a_file_of_failures_is_an_error_with_its_path_and_the_reason(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"out\.json: none of 1 benchmark has a value, such as x: exited with 7"):
        read(tmp_path, {"command": "x", "times": [1.0], "exit_codes": [7]})
