"""The benchmarks of a suite as they were listed: which are chosen, in which order, and the columns of their rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import CommandFailedError, UsageError, nearest
from perfcore.profile import benchmarks
from perfcore.profile.table import ColumnSpec
from perfcore.text import brief, clip, plural, printable

if TYPE_CHECKING:
    from perfcore.profile.table import Value

TIMES = (
    ColumnSpec("wall", "f64", "ns", "value"),
    ColumnSpec("cpu", "f64", "ns", "value"),
    ColumnSpec("relative", "f64", "", "value"),
)
MEMORY = {
    "memory": ColumnSpec("memory", "f64", "B", "value"),
    "peak_memory": ColumnSpec("peak_memory", "f64", "B", "value"),
}
LOOPS = ColumnSpec("loops", "i64", role="order")
NAME = ColumnSpec("benchmark", "str", role="benchmark")
_NO_UNIT = ("", "unit")  # asv writes `unit` for a number that has none
_RESERVED = ("run", "benchmark", *(spec.name for spec in TIMES), "memory", "peak_memory", "loops", "status", "message")
_SHOWN = 5  # failures or benchmarks in a message


@attrs.frozen(kw_only=True)
class Benchmark:
    """One benchmark with one combination of its parameters, whose texts `parameters` has by name."""

    key: str
    name: str
    kind: str
    module: str
    parameters: Mapping[str, str]
    unit: str
    timeout: float | None
    own_process: bool
    cache: str | None

    @property
    def label(self) -> str:
        """Its name in reports: with the parameters in the order of their columns."""
        texts = {_column(name): text for name, text in sorted(self.parameters.items())}
        return benchmarks.name([self.name, *texts.values()], list(texts))

    @property
    def metric(self) -> str:
        """The column of what a `track_` benchmark gives: a column has one unit."""
        if self.kind != "amount":
            return self.kind
        unit = "" if self.unit in _NO_UNIT else re.sub(r"\W+", "_", self.unit).strip("_")
        return f"amount_{unit}" if unit else "amount"


@attrs.frozen(kw_only=True)
class Suite:
    """What a worker listed. `broken` are the messages of modules and functions that are no benchmarks."""

    benchmarks: Mapping[str, Benchmark]
    broken: Mapping[str, str]
    worker: Mapping[str, str]

    @property
    def parameters(self) -> dict[str, str]:
        """The names of columns by the names of parameters. In this order, the alphabetical one, a benchmark keeps its
        name when others get parameters."""
        names = sorted({name for benchmark in self.benchmarks.values() for name in benchmark.parameters})
        return {name: _column(name) for name in names}

    def words(self, benchmark: Benchmark) -> dict[str, Value]:
        """The columns that name a benchmark."""
        columns = {column: benchmark.parameters.get(name) for name, column in self.parameters.items()}
        return {NAME.name: benchmark.name, **columns}

    def name_columns(self) -> list[ColumnSpec]:
        return [NAME, *(ColumnSpec(column, "str", role="benchmark") for column in self.parameters.values())]

    def columns(self) -> list[ColumnSpec]:
        """Of the rows: a metric is a column where some benchmark gives it."""
        kinds = {benchmark.kind for benchmark in self.benchmarks.values()}
        amounts = {b.metric: b.unit for b in self.benchmarks.values() if b.kind == "amount"}
        return [
            *self.name_columns(),
            *(TIMES if "time" in kinds else ()),
            *(spec for kind, spec in MEMORY.items() if kind in kinds),
            *(
                ColumnSpec(metric, "f64", "" if unit in _NO_UNIT else unit, "value")
                for metric, unit in sorted(amounts.items())
            ),
            LOOPS,
        ]

    def in_order(self, seed: int) -> list[Benchmark]:
        """Shuffled by a seed. Two benchmarks have the same order in every version, whatever others these have."""
        return sorted(self.benchmarks.values(), key=lambda b: hashlib.sha256(f"{seed} {b.key}".encode()).digest())


def listed(events: Iterable[Mapping[str, Any]], patterns: Sequence[str], words: str) -> Suite:
    """The suite that a worker listed for a command, less the benchmarks that contain no pattern. An error if none is
    left."""
    benchmarks: dict[str, Benchmark] = {}
    broken: dict[str, str] = {}
    worker: dict[str, str] = {}
    for event in events:
        fields = {name: field for name, field in event.items() if name != "event"}
        if event["event"] == "worker":
            worker = fields
        elif event["event"] == "broken":
            broken[event["name"]] = event["message"]
        elif event["event"] == "benchmark":
            _put(benchmarks, Benchmark(**fields))
    if not benchmarks:
        raise _empty(broken, words)
    chosen = {key: b for key, b in benchmarks.items() if not patterns or any(p in b.label for p in patterns)}
    if not chosen:
        labels = [benchmark.label for benchmark in benchmarks.values()]
        raise UsageError(
            f"none of {plural(len(labels), 'benchmark')} in {words} contains {brief(' or '.join(patterns))}",
            hint=nearest(patterns[0], labels) or f"there are {clip(printable(', '.join(labels)), 300)}",
        )
    return Suite(benchmarks=chosen, broken=broken, worker=worker)


def _column(parameter: str) -> str:
    return f"parameter_{parameter}" if parameter in _RESERVED or parameter.startswith("amount") else parameter


def failures_text(failures: Mapping[str, str]) -> str:
    """The first failures in one line."""
    return first_of([f"{name}: {message}" for name, message in sorted(failures.items())], "; ")


def first_of(texts: Sequence[str], separator: str) -> str:
    """The first texts in one line, and how many more there are."""
    more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return printable(separator.join([*texts[:_SHOWN], *more]))


def _put(benchmarks: dict[str, Benchmark], benchmark: Benchmark) -> None:
    if benchmark.key in benchmarks:
        raise UsageError(
            f"two benchmarks are called {printable(benchmark.label)}",
            hint="the files of several folders may have one name: measure each folder by itself",
        )
    benchmarks[benchmark.key] = benchmark


def _empty(broken: Mapping[str, str], words: str) -> CommandFailedError:
    if broken:
        return CommandFailedError(f"{words} has no benchmark that works: {failures_text(broken)}")
    return CommandFailedError(
        f"there is no benchmark in {words}",
        hint="benchmarks are functions called time_*, bench_*, mem_*, peakmem_*, timeraw_* or track_* or marked with "
        "@benchmark, in files called bench_*.py or in a folder `benchmarks`",
    )
