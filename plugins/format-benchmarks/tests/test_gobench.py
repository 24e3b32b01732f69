"""What `go test -bench` prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from perfcore_format_benchmarks.gobench import GobenchFormat

from perfcore.errors import FormatError
from perfcore.model import Profile

from .suites import SAMPLES, amounts, metrics, statuses

FOLDER = SAMPLES / "gobench"
HEADER = "goos: linux\ngoarch: amd64\npkg: example.org/tiny\ncpu: AMD EPYC\n"
SUM = "example.org/tiny.BenchmarkSum[mode=with_space,n={},procs=2]"


def read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "out.txt"
    path.write_text(text)
    return GobenchFormat().read(path)


def test_lines_of_one_benchmark_are_values_of_one_run() -> None:
    profile = GobenchFormat().read(FOLDER / "out.txt")
    assert amounts(profile) == {  # the medians of the three lines of each
        SUM.format(100): [61.14],
        SUM.format(10000): [4073.0],
        "example.org/tiny.BenchmarkSort[2]": [77.09],
        "example.org/tiny.BenchmarkPar[2]": [23.97],
    }
    assert profile.tables["resources"].rows == 12
    assert amounts(profile, "bytes_per_second")[SUM.format(100)] == [13083.89e6]
    assert amounts(profile, "B/op")["example.org/tiny.BenchmarkSort[2]"] == [48]
    assert dict(profile.machine) == {"system": "linux", "arch": "amd64", "cpu": "AMD EPYC"}


def test_units_tell_the_direction_and_those_of_report_metric_stand_behind() -> None:
    profile = GobenchFormat().read(FOLDER / "out.txt")
    assert metrics(profile, SUM.format(100)) == {
        "wall": ("ns", "lower"),
        "B/op": ("B", "lower"),
        "allocs/op": ("", "lower"),
        "bytes_per_second": ("B/s", "higher"),
        "items/op": ("", "lower"),
    }


def test_a_benchmark_that_failed_has_a_status_and_the_reason() -> None:
    profile = GobenchFormat().read(FOLDER / "out.txt")
    assert statuses(profile)["example.org/tiny.BenchmarkFail"] == ("failed", "tiny_test.go:33: no")


def test_the_number_of_processors_is_part_of_the_name_unless_it_is_one() -> None:
    assert amounts(GobenchFormat().read(FOLDER / "cpu.txt")) == {
        "example.org/tiny.BenchmarkSum[mode=with_space,n=100]": [41.51],
        "example.org/tiny.BenchmarkSum[mode=with_space,n=100,procs=2]": [40.03],
        "example.org/tiny.BenchmarkSum[mode=with_space,n=10000]": [4037],
        "example.org/tiny.BenchmarkSum[mode=with_space,n=10000,procs=2]": [4216],
        "example.org/tiny.BenchmarkPar": [46.24],
        "example.org/tiny.BenchmarkPar[2]": [45.35],
    }


def test_events_of_json_are_joined_to_lines() -> None:
    profile = GobenchFormat().read(FOLDER / "test-json.ndjson")
    assert amounts(profile) == {
        SUM.format(100): [43.29],
        SUM.format(10000): [4101],
        "example.org/tiny.BenchmarkSort[2]": [134.1],
    }
    assert profile.created == 1795332616_149100000  # the time of the first event, in microseconds


def test_events_of_packages_that_take_turns_are_joined_by_package(tmp_path: Path) -> None:
    lines = [("a", "pkg: a\n"), ("b", "pkg: b\n"), ("a", "BenchmarkX \t"), ("b", "BenchmarkX \t 10\t 5 ns/op\n")]
    lines += [("a", " 10\t 7 ns/op\n"), ("b", "PASS\n"), ("a", "PASS\n")]
    events = [{"Time": "2026-11-22T07:30:16Z", "Action": "output", "Package": p, "Output": text} for p, text in lines]
    profile = read(tmp_path, "# tiny\n".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    assert amounts(profile) == {"a.BenchmarkX": [7], "b.BenchmarkX": [5]}


def test_a_second_header_of_a_package_is_another_process_and_so_another_run(tmp_path: Path) -> None:
    one = f"{HEADER}BenchmarkX-2 10 {{}} ns/op\nBenchmarkX-2 10 {{}} ns/op\nPASS\nok \texample.org/tiny\t0.1s\n"
    other = "pkg: example.org/other\nBenchmarkX-2 10 100 ns/op\nPASS\n"
    profile = read(tmp_path, one.format(1, 2) + other + one.format(3, 6))
    assert amounts(profile) == {
        "example.org/tiny.BenchmarkX[2]": [1.5, 4.5],
        "example.org/other.BenchmarkX[2]": [100],
    }
    assert not any("its values are one run" in note for note in profile.notes)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("BenchmarkX", "BenchmarkX"),
        ("BenchmarkX/n-8", "BenchmarkX/n[8]"),
        ("BenchmarkX/a/n=3/b-2", "BenchmarkX/a/b[n=3,procs=2]"),
        ("BenchmarkX/n=1/n=2", "BenchmarkX/n=2[1]"),
        ("BenchmarkX/=3", "BenchmarkX/=3"),
        ("BenchmarkX/run=1/wall=007", "BenchmarkX[parameter run=1,parameter wall=007]"),
    ],
)
def test_names_carry_parameters(tmp_path: Path, name: str, expected: str) -> None:
    assert list(amounts(read(tmp_path, f"{name} 10 5 ns/op\nPASS\n"))) == [expected]


def test_what_a_benchmark_prints_does_not_hide_its_result(tmp_path: Path) -> None:
    text = f"{HEADER}BenchmarkX-2 \thello\n  10\t 5 ns/op\t 3 items/op\nBenchmark is a word\n10 11 12\nPASS\n"
    assert amounts(read(tmp_path, text)) == {"example.org/tiny.BenchmarkX[2]": [5]}


def test_a_metric_without_a_direction_is_no_value_on_its_own_and_a_rate_is(tmp_path: Path) -> None:
    text = "BenchmarkA 10 3 items/op\nBenchmarkB 10 7 req/s 4 hits\nBenchmarkC 10 0 B/op 4 hits\nPASS\n"
    profile = read(tmp_path, text)
    assert statuses(profile)["BenchmarkA"] == ("failed", "the direction of its metrics is unknown: items/op")
    assert metrics(profile, "BenchmarkB") == {"req/s": ("1/s", "higher"), "hits": ("", "lower")}
    assert statuses(profile)["BenchmarkC"][0] == "failed"
    assert list(amounts(profile, "hits")) == ["BenchmarkB"]


def test_skipped_benchmarks_and_panics_are_told(tmp_path: Path) -> None:
    text = (
        f"{HEADER}BenchmarkA 10 5 ns/op\n--- SKIP: BenchmarkB\n    a_test.go:3: no network\n"
        "--- FAIL: TestX\n    a_test.go:4: x\nBenchmarkC-2 \tpanic: boom\npanic: boom\n\ngoroutine 1\nFAIL\n"
    )
    assert {name.split(".")[-1]: status for name, status in statuses(read(tmp_path, text)).items()} == {
        "BenchmarkA": ("measured", None),
        "BenchmarkB": ("skipped", "a_test.go:3: no network"),
        "BenchmarkC[2]": ("failed", "panic: boom"),
    }


def test_output_that_may_be_cut_is_noted(tmp_path: Path) -> None:
    cut = "the output does not end with PASS, FAIL or ok: it may be cut"
    assert cut in read(tmp_path, "BenchmarkA 10 5 ns/op\n").notes
    assert cut not in read(tmp_path, "BenchmarkA 10 5 ns/op\nPASS\n").notes


def test_a_line_of_the_commit_is_the_version(tmp_path: Path) -> None:
    commit = "c380209ff119831ab95220150b3397995cc6f8f1"
    assert read(tmp_path, f"commit: {commit}\nBenchmarkA 10 5 ns/op\n").origin == commit
    assert read(tmp_path, "commit: HEAD\nBenchmarkA 10 5 ns/op\n").origin is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("BenchmarkA 10 5 ns/op\nBenchmarkB 10 5 ns/", "the last line has no end"),
        ("BenchmarkA 10 5 ns/op 7\n", "line 1: a number has no unit"),
        ("\nBenchmarkA 10 five ns/op\n", "line 2: 'five' is no number"),
        ("BenchmarkA 10 1_0 ns/op\n", "line 1: '1_0' is no number"),
        ("BenchmarkA 10 NaN ns/op\n", "BenchmarkA: wall is nan"),
        ("BenchmarkA 10 1e999 ns/op\n", "BenchmarkA: wall is nan"),
        ("PASS\nok  \texample.org/tiny\t0.1s\n", "no benchmarks"),
        ('{"Time":"x","Action":"output"\n', "line 1: no whole JSON"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=r"out\.txt: ") as caught:
        read(tmp_path, text)
    assert reason in caught.value.message
