"""From a profile to one value per run and metric, and these values in the read model.

A run's amount is the sum over its rows, warm-up left out. A profile that does not know runs is one run; where only some
rows name their run, the others do not count. A value that is missing, NaN or infinite is no amount.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
from array import array
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec

from perfcore.model.changes import RELATIVE

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.profile.table import Column, Table
    from perfcore.store.read_model import ReadModel

# The metrics that decide, the first that there is; else the first column. Of a command of 15 ms at load 9 on two CPUs,
# the interquartile range of CPU time was 1.6 % of its median, that of wall time 25 to 77 %.
MACHINE = ("cpu", "wall")  # times that the speed of the machine changes
PRIMARY = (RELATIVE, *MACHINE)
_FORMAT = 4  # of the rows of the read model; profiles with values of another format are read again

Sessions: TypeAlias = tuple[tuple[str, int], ...]
_Taken: TypeAlias = Mapping[object, str]  # the session of each run
_Rows: TypeAlias = slice | list[int]


class MetricValues(msgspec.Struct, frozen=True, array_like=True):
    """One metric of a profile: its amounts, one for each measured run that has one, in order (float64). `sessions` says
    of which sessions they are: in their order each one, empty where it is not known, and how many amounts are of it."""

    unit: str
    better: Literal["lower", "higher"]
    data: bytes
    sessions: Sessions

    @classmethod
    def of(
        cls, column: Column, units: Mapping[str, str], values: Mapping[object, float], taken: _Taken
    ) -> MetricValues:
        """Of the amounts of the runs that have one."""
        return cls(
            column.unit or units.get(column.name, ""),
            column.spec.better,
            array("d", values.values()).tobytes(),
            _sessions_of(values, taken),
        )

    def __post_init__(self) -> None:
        # One session is the usual case, and a history has a hundred thousand of these.
        count = self.sessions[0][1] if len(self.sessions) == 1 else sum(count for _, count in self.sessions)
        if len(self.data) != 8 * count:
            raise ValueError("numbers and sessions do not go together")

    def joined(self, other: MetricValues) -> MetricValues:
        """These values followed by those of another profile of the same version."""
        return MetricValues(self.unit, self.better, self.data + other.data, self.sessions + other.sessions)

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(array("d", self.data))


def _sessions_of(runs: Collection[object], taken: _Taken) -> Sessions:
    if not taken:
        return (("", len(runs)),) * bool(runs)
    return tuple((name, len(list(following))) for name, following in groupby(taken.get(run, "") for run in runs))


Metrics = Mapping[str, MetricValues]
_OF = "\0"  # between the name of a metric and that of its benchmark, neither of which has it


def of_benchmarks(profile: Profile) -> dict[str, MetricValues]:
    """All metrics of a profile by the `key` of each: of a suite those of every benchmark."""
    from perfcore.profile import benchmarks

    if not benchmarks.is_suite(profile):
        return of_profile(profile)
    resources = profile.table("resources")
    assert resources is not None, "a suite has rows"
    warm, sessions_by_run, units = _warmups(profile), _taken(profile), profile.header.units
    if not warm and all(map(_is_plain, resources.values())):
        identity = (resources.get("run"), *benchmarks.columns(resources))
        rows = _single_rows(tuple(None if c is None else c.__reduce__()[1] for c in identity), resources.rows)
        if rows is not None:
            metrics = [(m.name, m.unit or units.get(m.name, ""), m.spec.better, m.data) for m in resources.values()]
            return {
                key(name, benchmark): MetricValues(unit, better, _at(data, at), sessions)
                for benchmark, runs, at in rows
                for sessions in (_sessions_of(runs, sessions_by_run),)
                for name, unit, better, data in metrics
            }
    return {
        key(metric.name, benchmark): MetricValues.of(metric, units, _measured(by_run, warm), sessions_by_run)
        for benchmark, metrics in benchmarks.medians_of_runs(resources)
        for metric, by_run in metrics
    }


def _is_plain(column: Column) -> bool:
    """Whether every row has a finite float."""
    return column.dtype == "f64" and column.valid is None and all(map(math.isfinite, column.data))


@functools.lru_cache(maxsize=1)  # profiles of one history mostly have the same rows
def _single_rows(contents: tuple[Any, ...], count: int) -> Sequence[tuple[str, Sequence[object], _Rows]] | None:
    """(benchmark, its runs, the row of each) of a suite, from the contents of the column of runs, if there is one, and
    of those that name the benchmarks; None where some row has no benchmark or run, or shares both with another."""
    from perfcore.profile import benchmarks
    from perfcore.profile.table import column, from_buffer, table

    columns = [from_buffer(*content) for content in contents if content is not None]
    numbers = column("\0", [float(row) for row in range(count)], role="value")
    rows = [
        (benchmark, tuple(by_run), _as_slice([int(row) for row in by_run.values() if row is not None]))
        for benchmark, metrics in benchmarks.medians_of_runs(table("resources", [*columns, numbers]))
        for _, by_run in metrics
    ]
    return rows if sum(len(runs) for _, runs, _ in rows) == count else None


def _as_slice(rows: list[int]) -> _Rows:
    return slice(rows[0], rows[-1] + 1) if rows == list(range(rows[0], rows[-1] + 1)) else rows


def _at(data: memoryview, rows: _Rows) -> bytes:
    return data[rows].tobytes() if isinstance(rows, slice) else array("d", map(data.__getitem__, rows)).tobytes()


def _measured(by_run: Mapping[Any, float | None], warm: frozenset[object]) -> Mapping[object, float]:
    if not warm and None not in by_run.values():  # as for nearly every benchmark
        return cast("Mapping[object, float]", by_run)
    return {run: value for run, value in by_run.items() if value is not None and run not in warm}


def key(metric: str, benchmark: str) -> str:
    return f"{metric}{_OF}{benchmark}" if benchmark else metric


def of_key(key: str) -> tuple[str, str]:
    """(metric, benchmark) of a key; no benchmark where the profile is no suite."""
    metric, _, benchmark = key.partition(_OF)
    return metric, benchmark


def of_profile(profile: Profile) -> dict[str, MetricValues]:
    """All metrics of a profile, by name, in the order of their columns."""
    resources = profile.table("resources")
    if resources is None:
        return {}
    runs, warm, sessions_by_run = _runs(resources), _warmups(profile), _taken(profile)
    return {
        column.name: MetricValues.of(column, profile.header.units, _sums(column, runs, warm), sessions_by_run)
        for column in resources.values()
    }


def of_functions(profile: Profile, metric: str) -> dict[str, MetricValues]:
    """What each function took with all it called, by the function's name: the mean of the measured runs, for all runs
    of all functions would be as much to keep as the profile. Functions of one name are taken together. Empty where the
    profile has no stacks or no such metric."""
    from perfcore_table_kit.functions import by_function

    from perfcore.profile.stacks import has_stacks

    resources = profile.table("resources")
    if resources is None or metric not in resources.names or not has_stacks(profile.tables):
        return {}
    column, runs = resources[metric], profile.table("runs")
    sessions = set(_taken(profile).values())
    sessions_by_run: _Taken = {None: sessions.pop()} if len(sessions) == 1 else {}  # a mean of two is of none
    warm = _warmups(profile)
    count = 1 if runs is None else max(1, runs.rows - len(warm))
    totals: dict[str, float] = {}
    for function in by_function(profile.tables, metric):
        totals[function.name] = totals.get(function.name, 0.0) + function.total
    return {
        name: MetricValues.of(column, profile.header.units, {None: total / count}, sessions_by_run)
        for name, total in totals.items()
    }


def primary(names: Iterable[str]) -> str | None:
    """The metric that decides: relative time, else CPU time, else wall time, else the first."""
    ordered = list(names)
    return next((name for name in PRIMARY if name in ordered), ordered[0] if ordered else None)


def is_judged(metric: str, measured: Container[str], named: Container[str | None]) -> bool:
    """Whether checks judge a metric of a command or benchmark that has these `measured` ones. Where there is relative
    time, CPU and wall time say how fast the machine was, and are judged if the user `named` them."""
    return metric not in MACHINE or RELATIVE not in measured or metric in named


def _runs(resources: Table) -> list[object]:
    """The run of each row; None for rows that do not count where others name theirs."""
    column = resources.get("run")
    if column is None:
        return [0] * resources.rows
    named: list[object] = [value if not isinstance(value, float) or math.isfinite(value) else None for value in column]
    return named if any(value is not None for value in named) else [0] * resources.rows


def _warmups(profile: Profile) -> frozenset[object]:
    runs = profile.table("runs")
    if runs is None or not {"run", "warmup"} <= set(runs.names):
        return frozenset()
    return frozenset(run for run, warmup in zip(runs["run"], runs["warmup"], strict=True) if warmup)


def _taken(profile: Profile) -> _Taken:
    """The session of each run that says it."""
    runs = profile.table("runs")
    if runs is None or not {"run", "session"} <= set(runs.names):
        return {}
    return {run: session for run, session in zip(runs["run"], runs["session"], strict=True) if isinstance(session, str)}


def _sums(column: Column, runs: list[object], warm: frozenset[object]) -> dict[object, float]:
    sums: dict[object, float] = {}
    for run, value in zip(runs, column, strict=True):
        if run is None or run in warm or not isinstance(value, int | float):
            continue
        sums[run] = sums.get(run, 0.0) + value
    return {run: amount for run, amount in sums.items() if math.isfinite(amount)}  # sums of floats can overflow


def group(what: str, config_id: str) -> str:
    """The group of the rows of one configuration."""
    return hashlib.sha1(f"{what}\0{config_id}".encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


class ValueCache:
    """The values of the profiles of one configuration, by profile id, as far as the read model has them. Metrics and
    functions are kept apart, because values of functions are large and most commands need none of them."""

    def __init__(self, model: ReadModel, config_id: str, what: str, profiles: Collection[str]) -> None:
        self._model = model
        self.group = group(what, config_id)
        self._rows = model.many(_SPACE, profiles, self.group)
        self._added: dict[str, dict[str, MetricValues]] = {}

    def get(self, profile: str) -> dict[str, MetricValues] | None:
        """None where they are not known."""
        if profile in self._added:
            return self._added[profile]
        with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            format, metrics = _DECODER.decode(self._rows.get(profile, b""))
            return metrics if format == _FORMAT else None
        return None

    def put(self, profile: str, metrics: dict[str, MetricValues]) -> None:
        self._added[profile] = metrics

    def write(self) -> None:
        """Keep what was added."""
        self._model.put(
            _SPACE, {id: _ENCODER.encode((_FORMAT, values)) for id, values in self._added.items()}, self.group
        )


_SPACE = "values"
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(tuple[int, dict[str, MetricValues]])
