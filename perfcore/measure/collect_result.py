"""The result of a collection: the saved profiles with a summary of their runs (median, spread and outliers of every
metric), and the failures."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec

from perfcore.errors import PerfError
from perfcore.model import Entry, Job, Profile
from perfcore.model.record import Record, replace
from perfcore.profile.table import Column, Table
from perfcore.store.pending import Pending
from perfcore.text import plural, quantity

SCHEMA = 1
_FENCE = 3.0  # outer fence of J. W. Tukey's box plot (1977): 3 interquartile ranges beyond the quartiles


class Summary(Record, frozen=True):
    """One metric over the measured runs; `spread` is the interquartile range over the median."""

    metric: str
    unit: str
    runs: int
    median: float
    low: float
    high: float
    spread: float | None
    outliers: int


class SavedProfile(Record, frozen=True, kw_only=True):
    """A measured profile. It was saved as `pending`; `entry` is set if it is registered."""

    job: Job
    profile: Profile
    pending: Pending
    entry: Entry | None = None

    @property
    def name(self) -> str:
        """The file name in `.perf/jobs`."""
        return self.pending.name

    @property
    def id(self) -> str | None:
        """The id of the registered profile."""
        return None if self.entry is None else self.entry.profile

    def _repr_html_(self) -> str:
        """The metrics of the profile as a table for notebooks."""
        return CollectResult(profiles=(self,))._repr_html_()

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "profile": self.id,
            "version": self.job.version,
            "dirty": self.profile.dirty,
            "command": self.profile.label,
            "argv": list(self.profile.header.argv),
            "params": dict(self.job.params),
            "collector": self.profile.collector.name,
            "config_id": self.profile.config_id,
            "metrics": [msgspec.structs.asdict(summary) for summary in summarize(self.profile)],
            "notes": list(self.profile.notes),
        }


class Failure(Record, frozen=True):
    """A job, version or profile that could not be measured or registered, and the error."""

    subject: str
    error: PerfError

    def as_json(self) -> dict[str, Any]:
        return {"what": self.subject, "error": str(self.error), "hint": self.error.hint}


class CollectResult(Record, frozen=True, kw_only=True):
    """The profiles in the order of the request, everything that failed, and the ids of versions that were left out when
    the budget was spent. A sequence of its profiles."""

    profiles: tuple[SavedProfile, ...] = ()
    failures: tuple[Failure, ...] = ()
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.profiles)

    def __iter__(self) -> Iterator[SavedProfile]:
        return iter(self.profiles)

    @overload
    def __getitem__(self, index: int) -> SavedProfile: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SavedProfile, ...]: ...
    def __getitem__(self, index: int | slice) -> SavedProfile | tuple[SavedProfile, ...]:
        return self.profiles[index]

    def _repr_html_(self) -> str:
        """A row for each metric of each profile, then the failures, as a table for notebooks."""
        from perfcore.html_table import html_table

        rows = [
            (saved.profile.label, (saved.job.version or "")[:10], s.metric, s.runs, quantity(s.median, s.unit))
            for saved in self.profiles
            for s in summarize(saved.profile)
        ]
        failures = [(failure.subject, "", "failed", "", str(failure.error)) for failure in self.failures]
        return html_table(("command", "version", "metric", "runs", "median"), (*rows, *failures))

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/collect.json`."""
        return {
            "schema": SCHEMA,
            "profiles": [profile.as_json() for profile in self.profiles],
            "failed": [failure.as_json() for failure in self.failures],
            "left_out": list(self.left_out),
        }

    def repeated_versions(self) -> int:
        """How many versions were measured in more than one session."""
        sessions: dict[str | None, set[object]] = {}
        for saved in self.profiles:
            runs = saved.profile.table("runs")
            column = runs.get("session") if runs is not None else None
            sessions.setdefault(saved.job.version, set()).update(column or ())
        return sum(len(ids) > 1 for ids in sessions.values())

    def error(self, *, told: bool = False) -> PerfError | None:
        """One error that names every failure, of the class, hint and exit code of the first; None without one. Where
        the user was `told` of each as it happened, it says how many there were."""
        if not self.failures:
            return None
        first = self.failures[0].error
        lines = [] if told else [f"{failure.subject}: {failure.error}" for failure in self.failures]
        if len(self.failures) > 1 or self.profiles:
            lines.append(f"{plural(len(self.failures), 'failure')}; what was measured otherwise is kept")
        error = type(first)("\n".join(lines), hint=first.hint)
        error.exit_code = first.exit_code
        error.__cause__ = first
        return error


def summarize(profile: Profile) -> list[Summary]:
    """A summary of the sums of each run, for every value column; of a suite of every benchmark's first metric."""
    table = profile.table("resources")
    if table is None or not table.rows:
        return []
    if any(column.role == "benchmark" for column in table.columns):
        from perfcore.profile.benchmarks import split

        parts = sorted(split(profile).items())
        return [replace(s, metric=f"{s.metric} of {name}") for name, part in parts for s in summarize(part)[:1]]
    return [summary for column in table.values() for summary in _of_column(table, column)]


def per_run(table: Table, column: Column) -> list[float]:
    """The column's amounts summed for each run, in the order of the runs; runs without a value are left out."""
    runs = table.get("run")
    if runs is None:
        return [float(value) for value in column if value is not None]
    if len(set(runs)) == len(runs) and column.spec.dtype not in ("str", "bool"):
        return [value for value in column if value is not None]  # type: ignore[misc]  # numbers by their dtype
    sums: dict[object, float] = {}
    for run, value in zip(runs, column, strict=True):
        if value is not None and not isinstance(value, str):
            sums[run] = sums.get(run, 0) + value
    return list(sums.values())


def disturbed(profile: Profile) -> tuple[int, int]:
    """(disturbed runs, runs that were counted)."""
    table = profile.table("runs")
    if table is None or table.get("disturbed") is None or table.get("warmup") is None:
        return 0, 0
    counted = [bool(d) for d, w in zip(table["disturbed"], table["warmup"], strict=True) if not w]
    return sum(counted), len(counted)


def _of_column(table: Table, column: Column) -> Iterator[Summary]:
    values = sorted(value for value in per_run(table, column) if value == value)  # not a number is no value
    if not values:
        return
    lower, median, upper = _quartiles(values)
    reach = _FENCE * (upper - lower)
    inner = bisect_right(values, upper + reach) - bisect_left(values, lower - reach)
    yield Summary(
        metric=column.name,
        unit=column.unit,
        runs=len(values),
        median=median,
        low=values[0],
        high=values[-1],
        spread=(upper - lower) / abs(median) if median else None,
        # Of four values none can lie beyond the outer fences of their own quartiles.
        outliers=len(values) - inner if len(values) >= 5 else 0,
    )


def _quartiles(ordered: Sequence[float]) -> tuple[float, float, float]:
    """Type 7 of Hyndman and Fan (1996), as `statistics.quantiles(method="inclusive")`, whose import takes longer than
    most summaries."""
    lower, median, upper = (_between(ordered, *divmod((len(ordered) - 1) * fourths, 4)) for fourths in (1, 2, 3))
    return lower, median, upper


def _between(ordered: Sequence[float], place: int, fourths: int) -> float:
    """The value at `place`, or the one that is so many fourths of the way to the next."""
    after = ordered[min(place + 1, len(ordered) - 1)]
    return (ordered[place] * (4 - fourths) + after * fourths) / 4
