"""The format `criterion`: the folder `target/criterion` that Criterion.rs keeps. The samples of a benchmark are of one
process, and so one run."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import msgspec

from perfcore.errors import FormatError, NotFoundError, PerfError
from perfcore.hookspecs import VersionedProfile
from perfcore.model import Profile
from perfcore.settings import option
from perfcore.text import printable
from perfcore_format_benchmarks.metrics import WALL, Metric, percentiles
from perfcore_format_benchmarks.reading import json_of, result_file
from perfcore_format_benchmarks.suite import Benchmark, Origin, SuiteBuilder, scalar, suite_option

_BEGINNING = re.compile(rb'\s*\{\s*"sampling_mode"\s*:')
_SAMPLE, _BENCHMARK, _CSV = "sample.json", "benchmark.json", "raw.csv"
_HOUR = 3600 * 10**9


class _Sample(msgspec.Struct):
    iters: list[float]
    times: list[float]


class _Names(msgspec.Struct):
    group_id: str
    full_id: str
    function_id: str | None = None
    value_str: str | None = None
    throughput: Any = None


@attrs.frozen(kw_only=True)
class CriterionSettings:
    suite: str = suite_option()
    hours: float = option(
        24.0, help="Leave out what was measured more hours before the newest benchmark.", minimum=0.001
    )


@attrs.frozen
class _Measured:
    names: _Names
    sample: _Sample
    unit: str
    modified: int


class CriterionFormat:
    """The folder has no date, no commit and no host, and keeps benchmarks that the code no longer has: those that are
    much older than the newest one are left out."""

    Settings = CriterionSettings
    contract = "perfcore_format_benchmarks.contract:CriterionContract"

    def __init__(self, settings: CriterionSettings | None = None) -> None:
        self._settings = settings or CriterionSettings()

    def sniff(self, head: bytes, name: str) -> bool:
        return name == _SAMPLE and _BEGINNING.match(head) is not None

    def read(self, path: Path) -> Profile:
        """The suite of one benchmark: `new/sample.json`, with `benchmark.json` beside it."""
        return self._profile([_read(path)], [], str(path))

    def read_all(self, path: Path) -> Iterator[VersionedProfile | FormatError]:
        """The suite of a folder, after an error for each benchmark whose files are damaged."""
        if not path.is_dir():
            yield VersionedProfile(self.read(path))
            return
        measured, damaged = [], []
        for sample in sorted(path.rglob(f"new/{_SAMPLE}")):
            try:
                measured.append(_read(sample))
            except PerfError as error:
                damaged.append(printable(str(sample.parent.parent.relative_to(path))))
                yield FormatError(error.message, hint=error.hint)
        if not measured:
            raise FormatError(f"{printable(str(path))} holds no benchmarks", hint="name the folder `target/criterion`")
        yield VersionedProfile(self._profile(measured, damaged, str(path)))

    def _profile(self, measured: list[_Measured], damaged: list[str], path: str) -> Profile:
        builder = SuiteBuilder()
        newest = max(entry.modified for entry in measured)
        for folder in damaged:
            builder.lost(Benchmark(folder), "failed", "its files are damaged")
        try:
            for entry in measured:
                hours = (newest - entry.modified) / _HOUR
                if hours > self._settings.hours:
                    message = f"measured {hours:.1f} hours before the newest benchmark (--hours)"
                    builder.lost(_benchmark(entry.names), "skipped", message)
                else:
                    _add(builder, entry)
            origin = Origin(
                harness="criterion",
                suite=self._settings.suite,
                created=newest,
                notes=("one process measured each benchmark: its values are one run",),
            )
            return builder.profile(origin)
        except FormatError as error:
            raise FormatError(f"{printable(path)}: {printable(error.message)}", hint=error.hint) from error


def _read(path: Path) -> _Measured:
    file = result_file(path)
    try:
        sample = json_of(file.data, _Sample, "Criterion")
        if len(sample.iters) != len(sample.times):
            raise FormatError(f"{len(sample.times)} times for {len(sample.iters)} counts of iterations")
        names = json_of(result_file(path.with_name(_BENCHMARK)).data, _Names, "Criterion")
        return _Measured(names, sample, _unit(path.with_name(_CSV)), file.modified)
    except (FormatError, NotFoundError) as error:
        raise FormatError(f"{printable(str(path))}: {printable(error.message)}", hint=error.hint) from error


def _unit(path: Path) -> str:
    """The unit of a measurement of one's own, which only the CSV file names; times are in ns."""
    try:
        data = result_file(path).data
    except NotFoundError:
        return "ns"
    rows = csv.DictReader(io.StringIO(data.decode("utf-8", "backslashreplace")))
    try:
        return next(iter(rows), {}).get("unit") or "ns"
    except csv.Error as error:
        raise FormatError(f"{_CSV}: {error}") from error


def _benchmark(names: _Names) -> Benchmark:
    name = "/".join(word for word in (names.group_id, names.function_id) if word)
    return Benchmark(name, {} if names.value_str is None else {"value": scalar(names.value_str)}, names.full_id)


def _add(builder: SuiteBuilder, entry: _Measured) -> None:
    sample = entry.sample
    # Criterion takes an increase of any measurement as worse.
    metric = WALL if entry.unit == "ns" else Metric(f"measurement ({entry.unit})", entry.unit)
    amounts = [time / count for time, count in zip(sample.times, sample.iters, strict=True) if count > 0]
    throughput = entry.names.throughput if isinstance(entry.names.throughput, dict) else {}
    attributes = {f"throughput {kind}": count for kind, count in throughput.items() if type(count) is int}
    rows = [(0, {metric: amount}) for amount in percentiles(amounts)]
    builder.measured(_benchmark(entry.names), rows, samples=len(amounts), **attributes)
