"""Suites of benchmarks as profiles: the rows, the status of each benchmark, and everything around them.

A benchmark is known by its name and parameters. What the harness could not measure is a row of the table `benchmarks`
and never an amount. Metrics whose direction the harness does not tell stand behind those whose direction it does, and
only in rows that have such an amount above zero. So they never come to be the metric that decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from perfcore import environment
from perfcore.errors import FormatError
from perfcore.model import EMPTY, Header, Profile, Tool
from perfcore.profile import benchmarks
from perfcore.profile.table import Column, Table, Value, column, table
from perfcore.settings import option
from perfcore.text import brief, clip, encodable, plural, printable
from perfcore_format_benchmarks.metrics import CPU, WALL, Metric, is_usable

Scalar: TypeAlias = str | int | float | bool
Status = Literal["measured", "failed", "skipped"]
TYPE = "benchmarks"
_TAKEN = {"run", "benchmark", "status", "message", "wall", "cpu", "stack", "frame", "function", "snapshot"}
"""Columns that mean something else to perfcore: a parameter of such a name is called `parameter run`."""
_MOST_CELLS = 1 << 22
"""Every parameter and counter of any benchmark is a column of all rows, so a table can be far larger than its file."""
_LONG, _LISTED = 300, 3


_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_ADDRESS = re.compile(r"UNSERIALIZABLE\[|<.* at 0x[0-9a-fA-F]+", re.DOTALL)
NO_LASTING_NAME = "a parameter has no lasting name, only an address in memory"


def suite_option() -> Any:
    """`suite: str`, which every format has."""
    return option("", help="A name of your own. Suites of different names have separate histories.")


@attrs.frozen(kw_only=True)
class SuiteSettings:
    """The options of formats that have no others."""

    suite: str = suite_option()


def scalar(text: str) -> Scalar:
    """The whole number that a text is, else the text."""
    return int(text) if _INTEGER.fullmatch(text) else text


def has_address(text: str) -> bool:
    """Whether a text names an object by its address, which differs from run to run."""
    return _ADDRESS.search(text) is not None


def _sorted(parameters: Mapping[str, Scalar]) -> tuple[tuple[str, Scalar], ...]:
    return tuple((encodable(key), _parameter(parameters[key])) for key in sorted(parameters))


def _parameter(word: Scalar) -> Scalar:
    """The value of a parameter. Two columns of NaN are not equal, and no column holds large integers: both are text."""
    is_number = _is_storable(word) and (not isinstance(word, float) or math.isfinite(word))
    return encodable(word) if isinstance(word, str) else word if is_number else str(word)


@attrs.frozen
class Benchmark:
    """A benchmark by its name and parameters. `full_name` is the harness's name, which is unique in its results."""

    name: str = attrs.field(converter=encodable)
    parameters: tuple[tuple[str, Scalar], ...] = attrs.field(default=EMPTY, converter=_sorted)
    full_name: str = attrs.field(default="", converter=encodable)

    @property
    def label(self) -> str:
        if self.full_name:
            return self.full_name
        return benchmarks.name((self.name, *dict(self.parameters).values()), [*dict(self.parameters)])


@attrs.define
class _Entry:
    benchmark: Benchmark
    rows: list[tuple[int, dict[Metric, float]]] = attrs.field(factory=list)
    status: Status = "measured"
    message: str = ""
    attributes: dict[str, Value] = attrs.field(factory=dict)
    results: int = 0
    unusable: int = 0


@attrs.frozen(kw_only=True)
class Origin:
    """Where and when a suite was measured: what the file says about everything but its benchmarks. `identity` holds
    what else makes two files comparable, such as the version of the interpreter."""

    harness: str
    created: int
    harness_version: str = ""
    suite: str = ""
    identity: Mapping[str, Any] = EMPTY
    machine: Mapping[str, Any] = EMPTY
    commit: str | None = None
    dirty: bool = False
    notes: tuple[str, ...] = ()


class SuiteBuilder:
    """Collects the results of a suite. Without `repetitions`, two results of one benchmark are an error."""

    def __init__(self, *, repetitions: bool = False) -> None:
        self._repetitions = repetitions
        self._entries: dict[str, _Entry] = {}
        self._notes: list[str] = []
        self._remarks: dict[str, dict[str, None]] = {}

    def note(self, text: str) -> None:
        self._notes.append(text)

    def remark(self, text: str, benchmark: Benchmark) -> None:
        """A note on a benchmark. One that many have is written once, with their number."""
        self._remarks.setdefault(text, {})[benchmark.label] = None

    def measured(
        self, benchmark: Benchmark, rows: Iterable[tuple[int, Mapping[Metric, Any]]], **attributes: Value
    ) -> None:
        """Add amounts, each row with the number of its run. What is missing, NaN, infinite or below zero is none."""
        entry = self._entry(benchmark, attributes)
        entry.results += 1
        if entry.results > 1 and not self._repetitions:
            raise FormatError(f"two results of the benchmark {brief(benchmark.label)}")
        reasons: list[str] = []
        for run, amounts in rows:
            usable = {metric: float(amount) for metric, amount in amounts.items() if is_usable(metric, amount)}
            if any(metric.decides and amount > 0 for metric, amount in usable.items()):
                entry.rows.append((run, usable))
            elif any(metric.decides for metric in usable):  # below what the clock can tell: an amount beside others
                entry.rows.append((run, {metric: amount for metric, amount in usable.items() if metric.decides}))
            else:
                reasons.append(_reason(amounts))
        entry.unusable += len(reasons)
        if not entry.rows and entry.status == "measured":
            entry.status, entry.message = "failed", reasons[0] if reasons else "no amounts"
        elif entry.rows and entry.status == "measured" and not _is_above_zero(entry):
            entry.status, entry.message = "failed", "its amounts are 0: too small to be measured"

    def lost(
        self, benchmark: Benchmark, status: Literal["failed", "skipped"], message: str, **attributes: Value
    ) -> None:
        """A benchmark without a valid amount. A failure discards the amounts of its other repetitions, too."""
        entry = self._entry(benchmark, attributes)
        if status == "failed" or not entry.rows:
            entry.status, entry.message = status, clip(encodable(message), _LONG)

    def profile(self, origin: Origin) -> Profile:
        """The suite. FormatError if no benchmark has an amount."""
        entries = [*self._entries.values()]
        valid = [entry for entry in entries if entry.status == "measured"]
        if not valid:
            raise FormatError(_nothing_usable(entries))
        named = _identities(entries)
        keys = sorted({key for _, parameters in named for key in parameters}, key=_natural)
        _refuse_many(len(entries), len(keys))
        words = [(name, *(parameters.get(key) for key in keys)) for name, parameters in named]
        _refuse_equal_names(words, keys)
        return Profile(
            header=Header(type=TYPE, cmd=origin.harness, args=encodable(origin.suite)),
            created=origin.created,
            collector=Tool(name=origin.harness, version=encodable(origin.harness_version), params=_params(origin)),
            machine=origin.machine,
            config_id=environment.config_id({"harness": origin.harness, **_params(origin)}),
            environment_id=environment.environment_id(origin.machine) if origin.machine else "",
            origin=origin.commit,
            dirty=origin.dirty,
            notes=tuple(
                encodable(note) for note in (*origin.notes, *self._notes, *_remarks(self._remarks), *_notes(entries))
            ),
            tables={"resources": _resources(entries, words, keys), "benchmarks": _statuses(entries, words, keys)},
        )

    def _entry(self, benchmark: Benchmark, attributes: Mapping[str, Value]) -> _Entry:
        entry = self._entries.setdefault(benchmark.label, _Entry(benchmark))
        entry.attributes |= {encodable(key): _clean(word) for key, word in attributes.items() if _is_storable(word)}
        return entry


def machine(**facts: Any) -> dict[str, Any]:
    """The facts that a file states, as texts and whole numbers."""
    return {
        key: _clean(fact)
        for key, fact in facts.items()
        if fact not in ("", None) and isinstance(fact, str | int) and _is_storable(fact)
    }


def _is_above_zero(entry: _Entry) -> bool:
    return any(metric.decides and amount > 0 for _, row in entry.rows for metric, amount in row.items())


def _reason(amounts: Mapping[Metric, Any]) -> str:
    known_directions = {metric: amount for metric, amount in amounts.items() if metric.decides}
    if not known_directions:
        names = ", ".join(metric.name for metric in amounts) or "none"
        return clip(f"the direction of its metrics is unknown: {names}", _LONG)
    descriptions = (
        f"{metric.name} is {'missing' if amount is None else amount}" for metric, amount in known_directions.items()
    )
    return clip(", ".join(descriptions), _LONG)


def _identities(entries: Sequence[_Entry]) -> list[tuple[str, dict[str, Scalar]]]:
    """The name and parameters of each benchmark; the harness's name alone if another one has the same."""
    shared: dict[tuple[str, str], int] = {}
    keys = [
        (entry.benchmark.name, repr([(name, str(word)) for name, word in entry.benchmark.parameters]))
        for entry in entries
    ]
    for key in keys:
        shared[key] = shared.get(key, 0) + 1
    return [
        (entry.benchmark.label, {})
        if shared[key] > 1
        else (entry.benchmark.name, {_column(name): word for name, word in entry.benchmark.parameters})
        for entry, key in zip(entries, keys, strict=True)
    ]


def _refuse_equal_names(words: Sequence[tuple[Value, ...]], keys: Sequence[str]) -> None:
    names: set[str] = set()
    for benchmark_words in words:
        name = benchmarks.name(benchmark_words, keys)
        if name in names:
            raise FormatError(f"two benchmarks are called {brief(name)}")
        names.add(name)


def _column(name: str) -> str:
    return f"parameter {name}" if name in _TAKEN else name


def _natural(key: str) -> tuple[bool, int, str]:
    """Positions in order of their numbers, then names: the order is the same whichever benchmark comes first."""
    is_position = re.fullmatch(r"[0-9]{1,6}", key) is not None
    return not is_position, int(key) if is_position else 0, key


def _params(origin: Origin) -> dict[str, Any]:
    return {"suite": encodable(origin.suite)} | {key: _clean(fact) for key, fact in origin.identity.items()}


def _resources(entries: Sequence[_Entry], words: Sequence[tuple[Value, ...]], keys: Sequence[str]) -> Table:
    rows = [
        (run, amounts, words[index])
        for index, entry in enumerate(entries)
        if entry.status == "measured"
        for run, amounts in entry.rows
    ]
    rows.sort(key=lambda row: row[0])
    metrics = sorted(dict.fromkeys(metric for _, amounts, _ in rows for metric in amounts), key=_rank)
    _refuse_many(len(rows), len(keys) + len(metrics))
    columns = [column("run", [run for run, _, _ in rows], dtype="i64", role="order")]
    columns += _named([row_words for _, _, row_words in rows], keys)
    names = {*_TAKEN, *keys} - {"wall", "cpu"}
    for metric in metrics:
        name = _free(metric.name, f"{metric.name} ({metric.unit or 'metric'})", names)
        amounts_of_metric = [amounts.get(metric) for _, amounts, _ in rows]
        columns.append(
            column(name, amounts_of_metric, dtype="f64", unit=metric.unit, role="value", better=metric.better)
        )
    return table("resources", columns)


def _refuse_many(rows: int, columns: int) -> None:
    if rows * columns > _MOST_CELLS:
        raise FormatError(f"the suite would have {rows:,} rows with {columns:,} parameters and metrics")


def _rank(metric: Metric) -> tuple[bool, bool, bool, bool]:
    """Times first, and metrics of unknown direction last. The sort is stable: others keep the order of the file."""
    return metric != CPU, metric != WALL, not metric.decides, metric.better == "higher"


def _statuses(entries: Sequence[_Entry], words: Sequence[tuple[Value, ...]], keys: Sequence[str]) -> Table:
    columns = _named(words, keys)
    columns.append(column("status", [entry.status for entry in entries], dtype="str"))
    columns.append(column("message", [entry.message or None for entry in entries], dtype="str"))
    names = {*_TAKEN, *keys}
    for key in dict.fromkeys(key for entry in entries for key in entry.attributes):
        attribute = [entry.attributes.get(key) for entry in entries]
        columns.append(_uniform(_free(key, f"{key} (attribute)", names), attribute))
    return table("benchmarks", columns)


def _named(words: Sequence[tuple[Value, ...]], keys: Sequence[str]) -> list[Column]:
    named = [column("benchmark", [row[0] for row in words], dtype="str", role="benchmark")]
    for position, key in enumerate(keys, 1):
        named.append(_uniform(key, [row[position] for row in words], role="benchmark"))
    return named


def _uniform(name: str, words: Sequence[Value], role: Literal["dimension", "benchmark"] = "dimension") -> Column:
    """A column of one type: text if the words have several, so that each of them is written as before."""
    types = {type(word) for word in words if word is not None}
    if len(types) == 1:
        return column(name, words, role=role)
    return column(name, [None if word is None else str(word) for word in words], dtype="str", role=role)


def _free(name: str, other: str, names: set[str]) -> str:
    while name in names:
        name, other = other, f"{other}+"
    names.add(name)
    return name


def _clean(value: Any) -> Any:
    return encodable(value) if isinstance(value, str) else value


def _is_storable(value: Any) -> bool:
    return not isinstance(value, int) or abs(value) < 2**63


def _remarks(labels_by_text: Mapping[str, Mapping[str, None]]) -> list[str]:
    return [
        f"{text}: {printable(next(iter(labels)))}{f' and {len(labels) - 1} more' if len(labels) > 1 else ''}"
        for text, labels in labels_by_text.items()
    ]


def _notes(entries: Sequence[_Entry]) -> list[str]:
    lost = [entry for entry in entries if entry.status != "measured"]
    notes = []
    if lost:
        listed = ", ".join(f"{entry.benchmark.label} ({entry.message or entry.status})" for entry in lost[:_LISTED])
        more = f" and {len(lost) - _LISTED} more" if len(lost) > _LISTED else ""
        notes.append(f"{plural(len(lost), 'benchmark')} without a value: {printable(listed)}{more}")
    partial = sum(entry.unusable for entry in entries if entry.status == "measured")
    if partial:
        notes.append(f"{plural(partial, 'value')} left out: missing, NaN, infinite or negative")
    return notes


def _nothing_usable(entries: Sequence[_Entry]) -> str:
    if not entries:
        return "no benchmarks"
    first = entries[0]
    reason = f"{clip(first.benchmark.label, 80)}: {first.message or first.status}"
    return f"none of {plural(len(entries), 'benchmark')} has a value, such as {printable(reason)}"
