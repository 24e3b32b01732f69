"""The format `pytest-benchmark`: the JSON of `--benchmark-json`, and the storage of `--benchmark-save`.

A file is of one process, and so one run. A test that failed in the timed call is absent from it; one that failed
afterwards is in it like any other.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from perfcore.errors import FormatError, PerfError
from perfcore.hookspecs import VersionedProfile
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.text import printable
from perfcore_format_benchmarks.file_format import FileFormat
from perfcore_format_benchmarks.metrics import CPU, WALL, percentiles, scaled
from perfcore_format_benchmarks.reading import ResultFile, commit_of, json_of, moment
from perfcore_format_benchmarks.suite import (
    NO_LASTING_NAME,
    Benchmark,
    Origin,
    Scalar,
    SuiteBuilder,
    has_address,
    machine,
)

_BEGINNING = re.compile(rb'\s*\{\s*"machine_info"\s*:')
_SECOND = 1e9
_CPU_TIMERS = {"process_time", "thread_time"}  # functions of Python's module `time`
_LONG = 100
"""Characters of a parameter; one that is longer is called by the id that pytest gave it."""


class _Stats(msgspec.Struct):
    median: float | None = None
    data: list[float | None] | None = None
    iterations: int | None = None
    rounds: int | None = None


class _Benchmark(msgspec.Struct):
    fullname: str
    stats: _Stats
    params: dict[str, Any] | None = None
    param: str | None = None
    group: str | None = None
    options: dict[str, Any] = {}


class _Document(msgspec.Struct):
    benchmarks: list[_Benchmark]
    machine_info: dict[str, Any]
    commit_info: dict[str, Any] = {}
    datetime: str = ""
    version: str = ""


class PytestBenchmarkFormat(FileFormat):
    """A file, or the folder of a storage with all its files."""

    contract = "perfcore_format_benchmarks.contract:PytestBenchmarkContract"

    def sniff(self, head: bytes, name: str) -> bool:
        return _BEGINNING.match(head) is not None and b'"node"' in head

    def read_all(self, path: Path) -> Iterator[VersionedProfile | FormatError]:
        """Of a storage each file with its commit, except those of uncommitted changes, which belong to none."""
        if not path.is_dir():
            yield VersionedProfile(self.read(path))
            return
        paths = sorted(path.rglob("*.json"))
        if not paths:
            raise FormatError(f"{printable(str(path))} holds no files of pytest-benchmark", hint="name `.benchmarks`")
        for file in paths:
            try:
                profile = self.read(file)
            except PerfError as error:
                yield FormatError(error.message, hint=error.hint)
                continue
            if profile.dirty:
                reason = "was measured with uncommitted changes, so it belongs to no version"
                yield FormatError(f"{printable(str(file))} {reason}", hint="import the file alone, without --add")
            else:
                yield VersionedProfile(replace(profile, origin=None), profile.origin, file.name)

    def _decode(self, file: ResultFile) -> Profile:
        document = json_of(file.data, _Document, "pytest-benchmark")
        builder = SuiteBuilder()
        for benchmark in document.benchmarks:
            _add(builder, benchmark)
        info, commit = document.machine_info, document.commit_info
        return builder.profile(
            Origin(
                harness="pytest-benchmark",
                harness_version=document.version,
                suite=self._settings.suite,
                created=moment(document.datetime, file.modified),
                identity=_interpreter(info),
                machine=_machine(info),
                commit=commit_of(commit.get("id")),
                dirty=commit.get("dirty") is True,
                notes=("one process measured the whole suite: its values are one run",),
            )
        )


def _add(builder: SuiteBuilder, entry: _Benchmark) -> None:
    attributes: dict[str, Any] = {"group": entry.group, "iterations": entry.stats.iterations}
    attributes["rounds"] = entry.stats.rounds
    parameters = _parameters(entry)
    if parameters is None:
        message = f"{NO_LASTING_NAME}: pass ids= to pytest.mark.parametrize"
        builder.lost(Benchmark(entry.fullname), "skipped", message, **attributes)
        return
    bracket = f"[{entry.param}]"
    name = entry.fullname
    if entry.param is not None and name.endswith(bracket):
        name = name.removesuffix(bracket)
    else:
        parameters = {}
    if entry.options.get("disable_gc") is True:
        parameters["gc"] = "off"
    metric = CPU if entry.options.get("timer") in _CPU_TIMERS else WALL
    data = entry.stats.data
    benchmark = Benchmark(name, parameters, entry.fullname)
    finite = [seconds for seconds in data or () if seconds is not None and math.isfinite(seconds)]
    if not data:
        builder.remark("the file has no times of rounds, so the median is taken", benchmark)
    elif len(finite) < len(data):
        builder.remark("some rounds have no time", benchmark)
    rounds = percentiles(finite) if data else [entry.stats.median]
    rows = [(0, {metric: scaled(seconds, _SECOND)}) for seconds in rounds]
    builder.measured(benchmark, rows, **attributes)


def _parameters(entry: _Benchmark) -> dict[str, Scalar] | None:
    """The parameters by their names; if one of them is no short scalar, the id of all. None if that holds an address,
    which differs from run to run."""
    if entry.param is None:
        return {}
    words = {name: _word(parameter) for name, parameter in (entry.params or {}).items()}
    if words and None not in words.values():
        return {name: word for name, word in words.items() if word is not None}
    return None if has_address(entry.param) else {"id": entry.param}


def _word(parameter: Any) -> Scalar | None:
    if parameter is None:
        return "None"
    if isinstance(parameter, list | dict):
        parameter = json.dumps(parameter, sort_keys=True)
    is_lasting = not isinstance(parameter, str) or (len(parameter) <= _LONG and not has_address(parameter))
    return parameter if is_lasting and isinstance(parameter, str | int | float) else None


def _interpreter(info: Mapping[str, Any]) -> dict[str, str]:
    """As the storage separates them in its folders, such as `Linux-CPython-3.11-64bit`."""
    version = str(info.get("python_implementation_version") or info.get("python_version") or "")
    return {
        "implementation": str(info.get("python_implementation") or ""),
        "python": ".".join(version.split(".")[:2]),
    }


def _machine(info: Mapping[str, Any]) -> dict[str, Any]:
    cpu = info.get("cpu")
    facts = cpu if isinstance(cpu, dict) else {}
    return machine(
        host=info.get("node"),
        system=info.get("system"),
        release=info.get("release"),
        arch=info.get("machine"),
        cpu=facts.get("brand_raw") or facts.get("brand") or info.get("processor"),
        cpus=facts.get("count"),
        python=info.get("python_version"),
    )
