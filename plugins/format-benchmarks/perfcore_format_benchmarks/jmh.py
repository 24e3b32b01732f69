"""The format `jmh`: the JSON of the Java Microbenchmark Harness (`-rf json`). A fork is a process, and so a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from perfcore.model import Profile
from perfcore_format_benchmarks.file_format import FileFormat
from perfcore_format_benchmarks.metrics import NANOSECONDS, THROUGHPUT, WALL, Metric, counter, scaled
from perfcore_format_benchmarks.reading import ResultFile, json_of
from perfcore_format_benchmarks.suite import Benchmark, Origin, Scalar, SuiteBuilder, machine, scalar

_BEGINNING = re.compile(rb'\s*\[\s*\{\s*"(?:jmhVersion|benchmark)"\s*:')
_UNITS = {**NANOSECONDS, "hr": 3.6e12, "day": 8.64e13}
_OWN_PARAMETERS = ("mode", "threads")
_Number = float | str | None  # NaN and infinities are texts


class _Metric(msgspec.Struct):
    scoreUnit: str  # noqa: N815  the field's name in the file
    score: _Number = None
    rawData: list[list[_Number]] | None = None  # noqa: N815
    rawDataHistogram: list[list[list[tuple[_Number, int]]]] | None = None  # noqa: N815


class _Result(msgspec.Struct):
    benchmark: str
    mode: str
    primaryMetric: _Metric  # noqa: N815
    threads: int = 1
    params: dict[str, str] = {}
    secondaryMetrics: dict[str, _Metric] = {}  # noqa: N815
    jmhVersion: str = ""  # noqa: N815
    jdkVersion: str = ""  # noqa: N815
    vmName: str = ""  # noqa: N815


class JmhFormat(FileFormat):
    """Metrics of profilers have an unknown direction. Benchmarks that failed are absent from the file."""

    contract = "perfcore_format_benchmarks.contract:JmhContract"

    def sniff(self, head: bytes, name: str) -> bool:
        return _BEGINNING.match(head) is not None and b'"mode"' in head

    def _decode(self, file: ResultFile) -> Profile:
        results = json_of(file.data, list[_Result], "JMH")
        builder = SuiteBuilder()
        for result in results:
            _add(builder, result)
        first = results[0] if results else None
        jdk = first.jdkVersion if first else ""
        return builder.profile(
            Origin(
                harness="jmh",
                harness_version=first.jmhVersion if first else "",
                suite=self._settings.suite,
                created=file.modified,
                identity={"java": jdk.removeprefix("1.").split(".")[0], "vm": first.vmName if first else ""},
                machine=machine(java=jdk),
            )
        )


def _add(builder: SuiteBuilder, result: _Result) -> None:
    parameters: dict[str, Scalar] = {
        f"parameter {key}" if key in _OWN_PARAMETERS else key: scalar(word) for key, word in result.params.items()
    }
    parameters["mode"] = result.mode
    if result.threads != 1:
        parameters["threads"] = result.threads
    benchmark = Benchmark(result.benchmark, parameters)
    metric, factor = _metric(result.primaryMetric.scoreUnit)
    forks = _forks(result.primaryMetric)
    if not any(forks):
        builder.remark("the file has no raw data, so the score is one run", benchmark)
        forks = [[result.primaryMetric.score]]
    rows = [
        (
            run,
            {metric: scaled(score, factor)} | dict(_secondary(result.secondaryMetrics, run, iteration)),
        )
        for run, scores in enumerate(forks)
        for iteration, score in enumerate(scores)
    ]
    builder.measured(benchmark, rows, unit=result.primaryMetric.scoreUnit)


def _metric(unit: str) -> tuple[Metric, float]:
    """`us/op` is a time, `ops/ms` a rate."""
    numerator, _, denominator = unit.partition("/")
    if denominator == "op" and numerator in _UNITS:
        return WALL, _UNITS[numerator]
    if numerator == "ops" and denominator in _UNITS:
        return THROUGHPUT, 1e9 / _UNITS[denominator]
    return counter(f"score ({unit})", unit), 1.0


def _forks(metric: _Metric) -> Sequence[Sequence[_Number]]:
    """A list of each fork's iterations; of sampled times the mean of each iteration, as JMH scores them."""
    if metric.rawDataHistogram is not None:
        return [[_mean(iteration) for iteration in fork] for fork in metric.rawDataHistogram]
    return metric.rawData or []


def _mean(histogram: Sequence[tuple[_Number, int]]) -> float | None:
    pairs = [(scaled(score, 1), scaled(count, 1)) for score, count in histogram]
    total = sum(count for _, count in pairs if count is not None)
    amounts = [score * count for score, count in pairs if score is not None and count is not None]
    return sum(amounts) / total if total > 0 and len(amounts) == len(pairs) else None


def _secondary(metrics: Mapping[str, _Metric], run: int, iteration: int) -> Iterator[tuple[Metric, float | None]]:
    for name, metric in metrics.items():
        forks = metric.rawData or []
        if run < len(forks) and iteration < len(forks[run]):
            # Older versions write a middle dot in front of the names of profilers' metrics.
            yield counter(name.lstrip("·"), metric.scoreUnit), scaled(forks[run][iteration], 1)
