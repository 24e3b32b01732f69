"""The folder `target/criterion`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from perfcore_format_benchmarks.criterion import CriterionFormat

from perfcore.errors import FormatError
from perfcore.model import Profile

from .suites import SAMPLES, amounts, metrics, statuses

MOMENT = 1_795_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The sample, all of it measured at one moment."""
    copied = Path(shutil.copytree(SAMPLES / "criterion", tmp_path / "criterion"))
    for path in copied.rglob("*.json"):
        os.utime(path, (MOMENT, MOMENT))
    return copied


def read(folder: Path, **settings: Any) -> tuple[Profile, list[FormatError]]:
    *errors, last = CriterionFormat(CriterionFormat.Settings(**settings)).read_all(folder)
    assert not isinstance(last, FormatError)
    return last.profile, [error for error in errors if isinstance(error, FormatError)]


def test_the_amount_is_the_median_of_the_samples_by_their_iterations(folder: Path) -> None:
    profile, errors = read(folder)
    sort = json.loads((folder / "sort/new/sample.json").read_text())
    xor = json.loads((folder / "sums of_ints/xor fold/100/new/sample.json").read_text())
    expected = {
        "sort": [pytest.approx(median(t / n for t, n in zip(sort["times"], sort["iters"], strict=True)))],
        "sums of/ints/xor fold[100]": [
            pytest.approx(median(t / n for t, n in zip(xor["times"], xor["iters"], strict=True)))
        ],
    }
    assert amounts(profile) == expected
    assert errors == []
    assert metrics(profile, "sort") == {"wall": ("ns", "lower")}
    assert profile.created == MOMENT * 10**9
    estimate = json.loads((folder / "sort/new/estimates.json").read_text())["median"]["point_estimate"]
    assert amounts(profile)["sort"] == [pytest.approx(estimate)]


def test_benchmarks_that_are_much_older_than_the_newest_are_left_out(folder: Path) -> None:
    os.utime(folder / "sort/new/sample.json", (MOMENT - 25 * 3600,) * 2)
    profile, _ = read(folder)
    assert list(amounts(profile)) == ["sums of/ints/xor fold[100]"]
    assert statuses(profile)["sort"] == ("skipped", "measured 25.0 hours before the newest benchmark (--hours)")
    assert list(amounts(read(folder, hours=26.0)[0])) == ["sort", "sums of/ints/xor fold[100]"]


@pytest.mark.parametrize("name", ["sample.json", "benchmark.json"])
def test_a_damaged_benchmark_is_an_error_and_failed_in_the_suite_of_the_others(folder: Path, name: str) -> None:
    path = folder / "sort/new" / name
    path.write_bytes(path.read_bytes()[:40])
    profile, (error,) = read(folder)
    assert "sort/new/sample.json: no whole JSON" in error.message
    assert statuses(profile)["sort"] == ("failed", "its files are damaged")
    path.unlink()
    if name == "benchmark.json":
        assert "is not there" in read(folder)[1][0].message


def test_a_measurement_of_ones_own_is_another_metric(folder: Path) -> None:
    csv = folder / "sort/new/raw.csv"
    csv.write_text(csv.read_text().replace(",ns,", ",cycles,"))
    profile, _ = read(folder)
    assert metrics(profile, "sort") == {"measurement (cycles)": ("cycles", "lower")}
    csv.unlink()  # newer versions write none
    assert "sort" in amounts(read(folder)[0])


def test_two_benchmarks_of_one_name_are_an_error(folder: Path) -> None:
    shutil.copytree(folder / "sort", folder / "again")
    with pytest.raises(FormatError, match="two results of the benchmark 'sort'"):
        read(folder)


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ({"iters": [1.0], "times": []}, "0 times for 1 counts"),
        ({"iters": [0.0], "times": [5.0]}, "sort: no amounts"),
        ({"iters": [1.0], "times": [float("nan")]}, "sort: wall is nan"),
        ({"iters": "1", "times": []}, "Expected `array`"),
    ],
)
def test_samples_that_make_no_sense_are_an_error(folder: Path, sample: Any, reason: str) -> None:
    shutil.rmtree(folder / "sums of_ints")
    (folder / "sort/new/sample.json").write_text(json.dumps(sample))
    with pytest.raises(FormatError) as caught:
        CriterionFormat().read(folder / "sort/new/sample.json")
    assert reason in caught.value.message


def test_a_folder_without_benchmarks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="holds no benchmarks"):
        [*CriterionFormat().read_all(tmp_path)]
