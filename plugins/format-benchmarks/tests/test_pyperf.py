"""The JSON of pyperf: each worker process is a run."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from perfcore_format_benchmarks.pyperf import PyperfFormat

from perfcore.errors import FormatError
from perfcore.model import Profile

from .suites import SAMPLES, amounts, metrics, nanoseconds, statuses

FOLDER = SAMPLES / "pyperf"


def read(tmp_path: Path, document: Any) -> Profile:
    path = tmp_path / "out.json"
    path.write_text(json.dumps(document))
    return PyperfFormat().read(path)


def test_each_process_with_values_is_a_run_whose_amount_is_their_median() -> None:
    profile = PyperfFormat().read(FOLDER / "one.json")
    document = json.loads((FOLDER / "one.json").read_text())
    expected = {
        benchmark["metadata"]["name"]: [
            pytest.approx(nanoseconds(run["values"])) for run in benchmark["runs"] if "values" in run
        ]
        for benchmark in document["benchmarks"]
    }
    del expected["dup"]
    assert amounts(profile) == expected
    assert [len(runs) for runs in expected.values()] == [3, 3, 3, 3]  # the calibration is none
    assert metrics(profile, "sum n=100") == {"wall": ("ns", "lower"), "max_rss": ("B", "lower")}


def test_runs_of_several_statements_under_one_name_are_no_benchmark() -> None:
    status, message = statuses(PyperfFormat().read(FOLDER / "one.json"))["dup"]
    assert status == "failed"
    assert "1+1" in message
    assert "1+2" in message


def test_memory_is_another_metric_of_the_same_name() -> None:
    profile = PyperfFormat().read(FOLDER / "mem.json")
    assert amounts(profile, "memory")["sum n=100"] == [209139, 209190]
    assert "sum n=100" not in amounts(profile, "wall")
    assert amounts(profile, "wall")["command"] == pytest.approx([898037.3593772128, 818300.0078147984])
    assert list(metrics(profile, "sum n=100")) == ["memory", "max_rss"]


def test_metadata_of_a_single_benchmark_is_that_of_the_file() -> None:
    profile = PyperfFormat().read(FOLDER / "fail.json")
    assert amounts(profile)["ok"] == pytest.approx([53.02831268191865, 49.24682787905394])
    assert dict(profile.machine) == {
        "host": "host1",
        "system": "Linux",
        "release": "6.18.44",
        "arch": "x86_64",
        "cpu": "AMD EPYC",
        "cpus": 2,
        "python": "3.11.7",
    }
    # Dates have no zone: they are local. The first of them is that of the calibration.
    assert profile.created == int(datetime(2026, 11, 22, 7, 33, 52).timestamp()) * 10**9 + 179042000


def test_the_first_benchmark_need_not_name_the_interpreter(tmp_path: Path) -> None:
    document = json.loads((FOLDER / "one.json").read_text())
    config = PyperfFormat().read(FOLDER / "one.json").config_id
    assert read(tmp_path, {**document, "benchmarks": document["benchmarks"][::-1]}).config_id == config


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"benchmarks": []}, "no benchmarks"),
        ({"benchmarks": [{"runs": [{"values": [1.0]}]}]}, "a benchmark has no name"),
        ({"benchmarks": [{"runs": []}], "metadata": {"name": "a"}}, "a: no amounts"),
        ({"benchmarks": [{"runs": [{"values": ["1"]}]}], "metadata": {"name": "a"}}, "Expected `float | null`"),
        (
            {"benchmarks": [{"runs": [{"values": [5.0]}]}], "metadata": {"name": "a", "unit": "furlong"}},
            "a: the direction of its metrics is unknown: furlong",
        ),
        ({"benchmarks": [{"runs": [{"values": [0.0]}]}], "metadata": {"name": "a"}}, "a: its amounts are 0"),
        ({"benchmarks": [{"runs": [{"values": [-1.0]}]}], "metadata": {"name": "a"}}, "a: wall is -1000000000.0"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_the_reason(tmp_path: Path, document: Any, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, document)
    assert caught.value.message.startswith(f"{tmp_path / 'out.json'}: ")
    assert reason in caught.value.message
