"""The format `googlebenchmark`: the JSON of Google Benchmark. A file is of one process, and so one run; repetitions are
values of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore_format_benchmarks.file_format import FileFormat
from perfcore_format_benchmarks.metrics import BYTES_PER_SECOND, CPU, NANOSECONDS, WALL, Metric, counter, scaled
from perfcore_format_benchmarks.reading import ResultFile, json_of, moment
from perfcore_format_benchmarks.suite import Benchmark, Origin, Scalar, SuiteBuilder, machine, scalar

_BEGINNING = re.compile(rb'\s*\{\s*"context"\s*:\s*\{')
_TELLING = re.compile(rb'"(?:num_cpus|library_build_type|mhz_per_cpu)"\s*:')
_AGGREGATE = re.compile(r"_(?:mean|median|stddev|cv|BigO|RMS)")  # of files before `run_type` (1.5)
_ARGUMENT = re.compile(r"(?:([^:/]+):)?(-?[0-9]+)")
_CLOCKS = {"real_time": "real", "manual_time": "manual", "process_time": "process"}
_LOOPS = {"iterations", "min_time", "min_warmup_time", "repeats"}
_FIELDS = frozenset(
    {
        "name",
        "family_index",
        "per_family_instance_index",
        "run_name",
        "run_type",
        "repetitions",
        "repetition_index",
        "threads",
        "iterations",
        "real_time",
        "cpu_time",
        "time_unit",
        "label",
        "aggregate_name",
        "aggregate_unit",
        "error_occurred",
        "error_message",
        "skipped",
        "skip_message",
        "big_o",
        "cpu_coefficient",
        "real_coefficient",
        "rms",
    }
)
# Counters of the library itself, whose direction its documentation tells.
_COUNTERS: Mapping[str, Metric] = {
    "bytes_per_second": BYTES_PER_SECOND,
    "items_per_second": Metric("items_per_second", "1/s", "higher"),
    "max_bytes_used": Metric("max_bytes_used", "B"),
    "allocs_per_iter": Metric("allocs_per_iter"),
}
_BESIDE = Metric("cpu_time", "ns", decides=False)
"""The CPU time of a benchmark that asks for real time, which the metric `cpu` would outweigh."""


class _Document(msgspec.Struct):
    context: dict[str, Any]
    benchmarks: list[dict[str, Any]]


class GoogleBenchmarkFormat(FileFormat):
    """CPU time decides, or real time where the name of the benchmark asks for it. All counters but a few have an
    unknown direction."""

    contract = "perfcore_format_benchmarks.contract:GoogleBenchmarkContract"

    def sniff(self, head: bytes, name: str) -> bool:
        return _BEGINNING.match(head) is not None and _TELLING.search(head) is not None

    def _decode(self, file: ResultFile) -> Profile:
        document = json_of(file.data, _Document, "Google Benchmark")
        builder = SuiteBuilder(repetitions=True)
        _add_all(builder, document.benchmarks)
        context = document.context
        if context.get("library_build_type") == "debug":
            builder.note("the benchmark library was built as debug")
        executable = re.split(r"[/\\]", str(context.get("executable") or ""))[-1]
        return builder.profile(
            Origin(
                harness="googlebenchmark",
                harness_version=str(context.get("library_version") or ""),
                suite=self._settings.suite or executable,
                created=moment(context.get("date"), file.modified),
                machine=machine(
                    host=context.get("host_name"),
                    cpus=context.get("num_cpus"),
                ),
                notes=("one process measured the whole suite: its values are one run",),
            )
        )


def _add_all(builder: SuiteBuilder, rows: Sequence[Mapping[str, Any]]) -> None:
    measured: set[str] = set()
    aggregates: dict[str, dict[str, Mapping[str, Any]]] = {}
    for number, row in enumerate(rows):
        name = row.get("run_name", row.get("name"))
        if not isinstance(name, str):
            raise FormatError(f"benchmark {number} has no name")
        aggregate = _aggregate(row)
        if aggregate:
            aggregates.setdefault(name, {})[aggregate] = row
            continue
        measured.add(name)
        _add(builder, name, row)
    for name, by_kind in aggregates.items():
        row = by_kind.get("median", by_kind.get("mean", {}))
        if name not in measured and row:
            builder.remark("the file has no repetitions, so their median or mean is taken", _benchmark(name)[0])
            _add(builder, name, row)


def _aggregate(row: Mapping[str, Any]) -> str:
    """The name of an aggregate, such as `mean`; nothing for a repetition."""
    if row.get("run_type") == "iteration":
        return ""
    if row.get("run_type") == "aggregate":
        return str(row.get("aggregate_name") or "aggregate")
    _, underscore, last = str(row.get("name")).rpartition("_")
    return last if _AGGREGATE.fullmatch(underscore + last) else ""


def _add(builder: SuiteBuilder, name: str, row: Mapping[str, Any]) -> None:
    benchmark, wants_real_time = _benchmark(name)
    attributes = {key: row[key] for key in ("label", "iterations", "threads") if isinstance(row.get(key), str | int)}
    if row.get("error_occurred"):
        builder.lost(benchmark, "failed", str(row.get("error_message") or "an error occurred"), **attributes)
        return
    if row.get("skipped"):
        builder.lost(benchmark, "skipped", str(row.get("skip_message") or "skipped"), **attributes)
        return
    unit = row.get("time_unit", "ns")
    factor = NANOSECONDS.get(unit) if isinstance(unit, str) else None
    if factor is None:
        raise FormatError(f"{name} has the time unit {unit!r}, which is none of {', '.join(NANOSECONDS)}")
    amounts = {
        WALL: scaled(row.get("real_time"), factor),
        _BESIDE if wants_real_time else CPU: scaled(row.get("cpu_time"), factor),
    }
    for key, amount in row.items():
        if key not in _FIELDS and not isinstance(amount, bool) and isinstance(amount, int | float):
            amounts[_COUNTERS.get(key) or counter(key)] = scaled(amount, 1)
    builder.measured(benchmark, [(0, amounts)], time_unit=str(unit), **attributes)


def _benchmark(full_name: str) -> tuple[Benchmark, bool]:
    """The benchmark, with its arguments and settings taken off the end of its name, and whether real time decides. How
    many loops it makes is no part of its identity; its clock and its threads are."""
    words = full_name.split("/")
    end, clocks, arguments = len(words), [], []
    parameters: dict[str, Scalar] = {}
    while end > 1:
        key, _, word = words[end - 1].partition(":")
        match = _ARGUMENT.fullmatch(words[end - 1])
        if words[end - 1] in _CLOCKS:
            clocks.append(_CLOCKS[key])
        elif key == "threads" and match:
            parameters[key] = scalar(word)
        elif match and key not in _LOOPS:
            arguments.append((match[1], scalar(match[2])))
        elif not (key in _LOOPS and word):
            break
        end -= 1
    for position, (argument, number) in enumerate(reversed(arguments)):
        parameters[str(position) if argument is None or argument in parameters else argument] = number
    if clocks:
        parameters["clock"] = ",".join(reversed(clocks))
    name = "/".join(words[:end])
    return Benchmark(name, parameters, full_name), "real" in clocks or "manual" in clocks
