"""Which results are values, and which are errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.processes import eventually, living

from perfcore.errors import CommandFailedError, PluginError, UsageError

from .conftest import MeasureHarness, google, statuses

COMPLAINS = "import sys; print('the reason', file=sys.stderr); sys.stdout.write({!r})"


def test_what_failed_was_skipped_or_is_nan_is_no_value(measure: MeasureHarness) -> None:
    failed = {"error_occurred": True, "error_message": "no memory", "real_time": 0.0, "cpu_time": 0.0}
    skipped = {"skipped": True, "skip_message": "no disk", "real_time": 0.0, "cpu_time": 0.0}
    nan = float("nan")
    measuring = measure(f"print({google(good=20.0, failed=failed, skipped=skipped, nan=nan)!r})")
    assert [row["benchmark"] for row in measuring.rows] == ["good"]
    assert statuses(measuring)["good"] == ("measured", "")
    assert statuses(measuring)["failed"] == ("failed", "no memory")
    assert statuses(measuring)["skipped"] == ("skipped", "no disk")
    assert statuses(measuring)["nan"][0] == "failed"


def test_a_benchmark_lost_in_one_run_keeps_that_status_and_its_other_rows(measure: MeasureHarness) -> None:
    bad = google(good=20.0, other={"error_occurred": True, "error_message": "once"})
    script = (
        f"import os; print({google(good=20.0, other=30.0)!r} if os.path.exists('ran') else {bad!r}); open('ran', 'w')"
    )
    measuring = measure(script, runs=2)
    assert [(row["run"], row["benchmark"]) for row in measuring.rows] == [(0, "good"), (1, "good"), (1, "other")]
    assert statuses(measuring)["other"] == ("failed", "once")


def test_columns_that_a_later_run_brings_are_missing_in_earlier_rows(measure: MeasureHarness) -> None:
    first, second = google(a=20.0), google(**{"a": 20.0, "b/n:4": {"real_time": 1.0, "cpu_time": 2.0, "hits": 7.0}})
    script = f"import os; print({second!r} if os.path.exists('ran') else {first!r}); open('ran', 'w')"
    measuring = measure(script, runs=2)
    assert [(row["benchmark"], row["n"], row["hits"]) for row in measuring.rows] == [
        ("a", None, None),
        ("a", None, None),
        ("b", "4", 7.0),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "wrote no results to standard output"),
        ("hello\n", "no format recognises them"),
        (google(a=20.0)[:-20], "no whole JSON"),
        (google(a=float("nan")), "none of 1 benchmark has a value"),
        (google(), "no benchmarks"),
    ],
    ids=["nothing", "garbage", "truncated", "nan", "empty"],
)
def test_output_without_results_is_an_error_with_the_complaints(
    measure: MeasureHarness, text: str, reason: str
) -> None:
    with pytest.raises(CommandFailedError, match=reason) as caught:
        measure(COMPLAINS.format(text))
    assert "the reason" in str(caught.value)
    assert "/output.json" not in str(caught.value)


def test_a_harness_that_fails_has_no_values_even_if_it_printed_some(measure: MeasureHarness) -> None:
    with pytest.raises(CommandFailedError, match=r"exited with code 3 in run 1[^§]*the reason"):
        measure(COMPLAINS.format(google(a=20.0)) + "; sys.exit(3)")


def test_a_harness_that_says_its_failure_on_standard_output_is_quoted(measure: MeasureHarness) -> None:
    script = "print('--- FAIL: BenchmarkSum: the reason'); raise SystemExit(1)"
    with pytest.raises(CommandFailedError, match=r"exited with code 1 in run 1[^§]*FAIL: BenchmarkSum: the reason"):
        measure(script)


def test_what_is_told_of_a_suite_is_true_of_several_runs(measure: MeasureHarness) -> None:
    measuring = measure(f"print({google(parse=20.0)!r})", runs=2)
    assert measuring.session.notes == ["one process measured the whole suite: its values are one run"]


def test_results_of_a_failed_harness_count_on_request(measure: MeasureHarness) -> None:
    measuring = measure(f"print({google(a=20.0)!r}); raise SystemExit(1)", on_failure="ignore", runs=2)
    assert [row["cpu"] for row in measuring.rows] == [20, 20]
    assert measuring.runs[0].exitcode == 1
    assert "2 of 2 runs failed and count all the same" in measuring.session.notes


def test_a_column_that_changes_its_meaning_is_an_error(measure: MeasureHarness) -> None:
    first = google(**{"a/hits:4": 20.0})
    second = google(a={"real_time": 20.0, "cpu_time": 20.0, "hits": 7.0})
    script = f"import os; print({second!r} if os.path.exists('ran') else {first!r}); open('ran', 'w')"
    with pytest.raises(UsageError, match="run 2 has another hits"):
        measure(script, runs=2)


def test_a_harness_that_hangs_is_ended_with_its_children(measure: MeasureHarness, marker: str) -> None:
    script = (
        "import subprocess, sys, time; "
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)', sys.argv[1]]); time.sleep(100)"
    )
    with pytest.raises(CommandFailedError, match=r"took longer than 0\.5 s"):
        measure(script, marker, timeout=0.5)
    assert eventually(lambda: not living(marker))


def test_an_unknown_format_is_an_error_before_anything_runs(measure: MeasureHarness, tmp_path: Path) -> None:
    with pytest.raises((PluginError, UsageError), match="nosuchformat"):
        measure("open('ran', 'w')", format="nosuchformat")
    assert not (tmp_path / "ran").exists()
