"""The format `hyperfine`: the JSON of `hyperfine --export-json`. Each time is a process, and so a run."""

from __future__ import annotations

import re

import msgspec

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore_format_benchmarks.file_format import FileFormat
from perfcore_format_benchmarks.metrics import MAX_RSS, WALL, Metric, scaled
from perfcore_format_benchmarks.reading import ResultFile, json_of
from perfcore_format_benchmarks.suite import Benchmark, Origin, Scalar, SuiteBuilder

_BEGINNING = re.compile(rb'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:')
_SECOND = 1e9


class _Result(msgspec.Struct):
    command: str
    times: list[float | None] | None = None
    median: float | None = None
    user: float | None = None
    system: float | None = None
    exit_codes: list[int | None] | None = None
    memory_usage_byte: list[int | None] | None = None  # of newer versions
    parameters: dict[str, Scalar] | None = None


class _Document(msgspec.Struct):
    results: list[_Result]


class HyperfineFormat(FileFormat):
    """Runs that exited with another code than 0 have no amount. The CPU times are means in the file, so they are
    attributes of the benchmark and no metrics."""

    contract = "perfcore_format_benchmarks.contract:HyperfineContract"

    def sniff(self, head: bytes, name: str) -> bool:
        return _BEGINNING.match(head) is not None

    def _decode(self, file: ResultFile) -> Profile:
        builder = SuiteBuilder()
        for result in json_of(file.data, _Document, "hyperfine").results:
            _add(builder, result)
        return builder.profile(Origin(harness="hyperfine", created=file.modified, suite=self._settings.suite))


def _add(builder: SuiteBuilder, result: _Result) -> None:
    benchmark = Benchmark(result.command, result.parameters or {})
    attributes = {
        "mean_user_ns": scaled(result.user, _SECOND),
        "mean_system_ns": scaled(result.system, _SECOND),
    }
    if not result.times:
        builder.remark("the file has no times of runs, so the median is one run", benchmark)
        builder.measured(benchmark, [(0, {WALL: scaled(result.median, _SECOND)})], **attributes)
        return
    count = len(result.times)
    codes = result.exit_codes if result.exit_codes is not None else [0] * count
    sizes = result.memory_usage_byte if result.memory_usage_byte is not None else [None] * count
    if not len(codes) == len(sizes) == count:
        raise FormatError(f"{benchmark.label} has {count} times, {len(codes)} exit codes and {len(sizes)} sizes")
    failures = [code for code in codes if code != 0]
    if len(failures) == count:
        builder.lost(benchmark, "failed", f"{_ending(failures[0])} in each of {count} runs", **attributes)
        return
    if failures:
        builder.remark(f"{len(failures)} of {count} runs failed and are left out", benchmark)
    rows: list[tuple[int, dict[Metric, float | None]]] = []
    for run, (seconds, code, size) in enumerate(zip(result.times, codes, sizes, strict=True)):
        if code == 0:
            amounts = {WALL: scaled(seconds, _SECOND)}
            rows.append((run, amounts if size is None else {**amounts, MAX_RSS: scaled(size, 1)}))
    builder.measured(benchmark, rows, **attributes)


def _ending(code: int | None) -> str:
    return "killed by a signal" if code is None else f"exited with {code}"
