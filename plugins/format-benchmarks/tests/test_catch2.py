"""The report of Catch2's XML reporter."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_format_benchmarks.catch2 import Catch2Format

from perfcore.errors import FormatError
from perfcore.model import Profile

from .suites import SAMPLES, amounts, metrics, statuses


def read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "out.xml"
    path.write_text(text)
    return Catch2Format().read(path)


def case(content: str, success: str = "true") -> str:
    return f'<Catch name="b"><TestCase name="t">{content}<OverallResult success="{success}"/></TestCase></Catch>'


def benchmark(name: str, mean: str) -> str:
    return f'<BenchmarkResults name="{name}" samples="20"><mean value="{mean}"/></BenchmarkResults>'


def test_means_are_ns_by_test_case_section_and_name() -> None:
    profile = Catch2Format().read(SAMPLES / "catch2" / "out.xml")
    assert amounts(profile) == {
        "sums, of vectors/sum 1000": [379.9],
        "sums, of vectors/sum with setup": [0.696738],
        "sums, of vectors/a section/sum 1000": [0.601757],
    }
    assert metrics(profile, "sums, of vectors/sum 1000") == {"wall": ("ns", "lower")}
    assert list(profile.tables["benchmarks"]["samples"])[:3] == [20, 20, 20]
    assert any("they are one run" in note for note in profile.notes)


def test_a_benchmark_that_threw_is_failed_although_its_case_succeeded() -> None:
    assert statuses(Catch2Format().read(SAMPLES / "catch2" / "out.xml"))["throws/bad"] == ("failed", "x")


def test_benchmarks_of_a_test_case_that_failed_have_no_amounts(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="t/a: its test case failed"):
        read(tmp_path, case(benchmark("a", "5"), success="false"))


def test_a_case_that_runs_once_for_each_section_repeats_its_benchmarks(tmp_path: Path) -> None:
    profile = read(tmp_path, case(benchmark("a", "5") + benchmark("a", "7")))
    assert amounts(profile) == {"t/a": [6.0]}


def test_reports_of_version_3_are_read(tmp_path: Path) -> None:
    text = case(benchmark("a", "5")).replace("<Catch ", '<Catch2TestRun catch2-version="3.4.0" ')
    profile = read(tmp_path, text.replace("</Catch>", "</Catch2TestRun>"))
    assert amounts(profile) == {"t/a": [5.0]}
    assert profile.collector.version == "3.4.0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (case(""), "no benchmarks"),
        (case(benchmark("a", "nan")), "t/a: wall is nan"),
        (case(benchmark("a", "fast")), "t/a: wall is missing"),
        (case(benchmark("a", "1e999")), "t/a: wall is inf"),
        ("<html/>", "no report of Catch2"),
        (case(benchmark("a", "5"))[:-9], "no whole XML"),
        ("<Catch>" + "<Section>" * 300, "nested more than 200 times"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><Catch name="&a;"/>', "a document type"),
        ('<?xml version="1.0" encoding="cp037"?><Catch/>', "no whole XML"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=r"out\.xml: ") as caught:
        read(tmp_path, text)
    assert reason in caught.value.message
