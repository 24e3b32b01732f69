"""Results of other benchmark harnesses. Where a format reads two files, a NUL is between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfcore_format_benchmarks.asv import AsvFormat
from perfcore_format_benchmarks.catch2 import Catch2Format
from perfcore_format_benchmarks.criterion import CriterionFormat
from perfcore_format_benchmarks.gobench import GobenchFormat
from perfcore_format_benchmarks.googlebenchmark import GoogleBenchmarkFormat
from perfcore_format_benchmarks.hyperfine import HyperfineFormat
from perfcore_format_benchmarks.jmh import JmhFormat
from perfcore_format_benchmarks.pyperf import PyperfFormat
from perfcore_format_benchmarks.pytest_benchmark import PytestBenchmarkFormat

from perfcore.profile import benchmarks

from .law import assert_kept, decoded, folder, target


def _assert_read(driver: Any, name: str, data: bytes, beside: str = "", further: bytes = b"") -> None:
    driver.sniff(data[:4096], name)
    path = folder() / "results" / "box" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    if beside:
        (path.parent / beside).write_bytes(further)
    profile = decoded(lambda: driver.read(path))
    if profile is not None:
        assert_kept(profile)
        assert benchmarks.split(profile)


def _of_two(make: Callable[[], Any], name: str, beside: str, data: bytes) -> None:
    first, _, second = data.partition(b"\0")
    _assert_read(make(), name, first, beside, second)


@target
def results_of_asv(data: bytes) -> None:
    _of_two(AsvFormat, "results.json", "../benchmarks.json", data)


@target
def results_of_catch2(data: bytes) -> None:
    _assert_read(Catch2Format(), "out.xml", data)


@target
def results_of_criterion(data: bytes) -> None:
    _of_two(CriterionFormat, "sample.json", "benchmark.json", data)


@target
def results_of_go(data: bytes) -> None:
    _assert_read(GobenchFormat(), "out.txt", data)


@target
def results_of_google_benchmark(data: bytes) -> None:
    _assert_read(GoogleBenchmarkFormat(), "out.json", data)


@target
def results_of_hyperfine(data: bytes) -> None:
    _assert_read(HyperfineFormat(), "out.json", data)


@target
def results_of_jmh(data: bytes) -> None:
    _assert_read(JmhFormat(), "out.json", data)


@target
def results_of_pyperf(data: bytes) -> None:
    _assert_read(PyperfFormat(), "out.json", data)


@target
def results_of_pytest_benchmark(data: bytes) -> None:
    _assert_read(PytestBenchmarkFormat(), "out.json", data)
