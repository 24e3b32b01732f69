"""The format `pyperf`: its JSON, in which every worker process is a run of one benchmark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.text import brief
from perfcore_format_benchmarks.file_format import FileFormat
from perfcore_format_benchmarks.metrics import MAX_RSS, MEMORY, WALL, Metric, counter, scaled
from perfcore_format_benchmarks.reading import ResultFile, json_of, moment
from perfcore_format_benchmarks.suite import Benchmark, Origin, SuiteBuilder, machine

_BEGINNING = re.compile(rb'\s*\{\s*"benchmarks"\s*:\s*\[\s*\{\s*"(?:metadata|runs)"\s*:\s*[\[{]')
# `integer` is the only metric of its benchmark, and `pyperf compare_to` takes an increase as slower.
_UNITS: Mapping[str, tuple[Metric, float]] = {
    "second": (WALL, 1e9),
    "byte": (MEMORY, 1.0),
    "integer": (Metric("amount"), 1.0),
}
_PEAKS = ("command_max_rss", "mem_max_rss")  # of the measured command, else of the worker
_STATEMENTS = ("timeit_stmt", "command")
_ARCHITECTURES = {"x86_64", "amd64", "aarch64", "arm64", "armv7l", "i686", "ppc64le", "riscv64", "s390x"}


class _Run(msgspec.Struct):
    metadata: dict[str, Any] = {}
    values: list[float | None] = []


class _Benchmark(msgspec.Struct):
    runs: list[_Run]
    metadata: dict[str, Any] = {}


class _Document(msgspec.Struct):
    benchmarks: list[_Benchmark]
    metadata: dict[str, Any] = {}


class PyperfFormat(FileFormat):
    """The calibration and the warm-up values are left out. The time is that of the file's machine, without a zone."""

    contract = "perfcore_format_benchmarks.contract:PyperfContract"

    def sniff(self, head: bytes, name: str) -> bool:
        return _BEGINNING.match(head) is not None

    def _decode(self, file: ResultFile) -> Profile:
        document = json_of(file.data, _Document, "pyperf")
        builder = SuiteBuilder()
        for benchmark in document.benchmarks:
            _add(builder, benchmark, {**document.metadata, **benchmark.metadata})
        # Metadata that all benchmarks share is in that of the file. A benchmark of a command names no interpreter.
        facts = {key: fact for b in reversed(document.benchmarks) for key, fact in b.metadata.items()}
        facts |= document.metadata
        return builder.profile(
            Origin(
                harness="pyperf",
                harness_version=str(facts.get("perf_version") or ""),
                suite=self._settings.suite,
                created=_created(document, file.modified),
                identity=_interpreter(facts),
                machine=_machine(facts),
            )
        )


def _add(builder: SuiteBuilder, benchmark: _Benchmark, metadata: Mapping[str, Any]) -> None:
    name = metadata.get("name")
    if not isinstance(name, str):
        raise FormatError("a benchmark has no name in its metadata")
    unit = metadata.get("unit", "second")
    metric, factor = _UNITS.get(str(unit), (counter(str(unit)), 1.0))
    measured = [run for run in benchmark.runs if run.values]
    attributes = {"loops": metadata.get("loops"), "inner_loops": metadata.get("inner_loops")}
    attributes["description"] = metadata.get("description")
    texts = {key: text for key, text in attributes.items() if isinstance(text, str | int)}
    statements = {str(statement) for run in measured for statement in _statements({**metadata, **run.metadata})}
    if len(statements) > 1:
        listed = ", ".join(brief(statement, 40) for statement in sorted(statements)[:3])
        builder.lost(Benchmark(name), "failed", f"runs of several statements were joined: {listed}", **texts)
        return
    rows = [
        (number, {metric: scaled(amount, factor)} | _peak({**metadata, **run.metadata}))
        for number, run in enumerate(measured)
        for amount in run.values
    ]
    builder.measured(Benchmark(name), rows, **texts)


def _statements(metadata: Mapping[str, Any]) -> list[Any]:
    return [metadata[key] for key in _STATEMENTS if key in metadata]


def _peak(metadata: Mapping[str, Any]) -> dict[Metric, float | None]:
    peaks = [metadata[key] for key in _PEAKS if key in metadata]
    return {MAX_RSS: scaled(peaks[0], 1)} if peaks else {}


def _created(document: _Document, modified: int) -> int:
    dates = [run.metadata.get("date") for benchmark in document.benchmarks for run in benchmark.runs]
    return min((moment(date, modified) for date in dates if date is not None), default=modified)


def _interpreter(facts: Mapping[str, Any]) -> dict[str, str]:
    version = str(facts.get("python_version") or "").split(" ")[0]
    implementation = str(facts.get("python_implementation") or "")
    return {"implementation": implementation, "python": ".".join(version.split(".")[:2])}


def _machine(facts: Mapping[str, Any]) -> dict[str, Any]:
    platform = str(facts.get("platform") or "").split("-")
    return machine(
        host=facts.get("hostname"),
        system=platform[0],
        release=platform[1] if len(platform) > 1 else "",
        arch=next((word for word in platform if word.lower() in _ARCHITECTURES), ""),
        cpu=facts.get("cpu_model_name"),
        cpus=facts.get("cpu_count"),
        python=str(facts.get("python_version") or "").split(" ")[0],
    )
