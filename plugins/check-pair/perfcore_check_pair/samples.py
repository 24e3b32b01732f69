"""From profiles to one amount per run and metric.

A run's amount is the sum over its rows. A profile that does not know runs is one run; where only some rows
name their run, the others do not count. A value that is missing, NaN or infinite is no amount.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from perfcore.profile import bitmap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from perfcore.model import Profile, Sample
    from perfcore.profile.table import Column, Table, Value

Array: TypeAlias = "NDArray[np.float64]"
Flags: TypeAlias = "NDArray[np.bool_]"
Key: TypeAlias = tuple[str, int]
Indexes: TypeAlias = list[int]


class Run(msgspec.Struct, frozen=True):
    """One run: `key` is its session and block, where the profile has them."""

    key: Key | None = None
    position: int = 0
    started: int | None = None
    disturbed: bool = False
    exit: int | None = None


class Metric(msgspec.Struct, frozen=True, eq=False):
    """The amounts of one metric, one per run, NaN where a run has none. `exact` is a deterministic quantity by the
    declaration of every profile."""

    amounts: Array
    units: frozenset[str]
    better: frozenset[str]
    exact: bool = False


class Runs(msgspec.Struct, frozen=True, eq=False):
    """All runs of a sample, in order, with their metrics in the order of their columns."""

    runs: tuple[Run, ...]
    metrics: Mapping[str, Metric]


def read(sample: Sample) -> Runs:
    """The runs of all the sample's profiles, one after the other."""
    parts = [_read_profile(profile) for profile in sample.profiles]
    names = dict.fromkeys(name for profile_runs in parts for name in profile_runs.metrics)
    joined = tuple(run for profile_runs in parts for run in profile_runs.runs)
    return Runs(joined, {name: _join(name, parts) for name in names})


def pairs(baseline: Runs, target: Runs, interleaved: bool) -> tuple[Indexes, Indexes] | None:
    """Which runs are partners: those of one session and block. None where the runs were not taken in turn.

    Recorded blocks take precedence over `interleaved`. Where a side has no blocks, `interleaved` makes partners of the
    runs with the same number.
    """
    first, second = _by_key(baseline), _by_key(target)
    if first and second:
        in_turn = {session for session in _sessions(first) if _alternate(session, baseline, target)}
        shared = [key for key in first if key in second and key[0] in in_turn]
        # Not strict: a block that was cut off has more runs of one side.
        couples = [couple for key in shared for couple in zip(first[key], second[key], strict=False)]
    else:
        couples = [(i, i) for i in range(min(len(baseline.runs), len(target.runs)))] if interleaved else []
    if not couples:
        return None
    return [baseline_index for baseline_index, _ in couples], [target_index for _, target_index in couples]


def _sessions(keys: Mapping[Key, Indexes]) -> set[str]:
    return {session for session, _ in keys}


def _alternate(session: str, baseline: Runs, target: Runs) -> bool:
    """False where all runs of one side came before all runs of the other, even if their blocks claim otherwise."""
    first, second = _starts(session, baseline), _starts(session, target)
    # One run of a side has an order only, which cannot alternate.
    if len(first) < 2 or len(second) < 2:
        return True
    return min(first) <= max(second) and min(second) <= max(first)


def _starts(session: str, runs: Runs) -> list[int]:
    return [run.started for run in runs.runs if run.key and run.key[0] == session and run.started is not None]


def _join(name: str, parts: Sequence[Runs]) -> Metric:
    metrics = [runs.metrics[name] for runs in parts if name in runs.metrics]
    amounts = [
        runs.metrics[name].amounts if name in runs.metrics else np.full(len(runs.runs), np.nan) for runs in parts
    ]
    return Metric(
        np.concatenate(amounts),
        frozenset().union(*(metric.units for metric in metrics)),
        frozenset().union(*(metric.better for metric in metrics)),
        all(metric.exact for metric in metrics),
    )


def _by_key(runs: Runs) -> dict[Key, Indexes]:
    indexes_by_key: dict[Key, Indexes] = {}
    for index, run in enumerate(runs.runs):
        if run.key is not None:
            indexes_by_key.setdefault(run.key, []).append(index)
    return {key: sorted(indexes, key=lambda i: runs.runs[i].position) for key, indexes in indexes_by_key.items()}


def _read_profile(profile: Profile) -> Runs:
    table = profile.table("resources")
    if table is None or not table.rows:
        return Runs((), {})
    rows, groups, numbers = _rows_of_runs(table)
    run_rows = _known_runs(profile.table("runs"))
    measured = [i for i, run_number in enumerate(numbers) if not run_rows.get(run_number, {}).get("warmup")]
    metrics = {}
    for column in table.values():
        if column.dtype != "str":
            amounts = _sums(column, rows, groups, len(numbers))[measured]
            unit = column.unit or profile.header.units.get(column.name, "")
            spec = column.spec
            metrics[spec.name] = Metric(amounts, frozenset([unit]), frozenset([spec.better]), spec.exact)
    return Runs(tuple(_run(run_rows.get(numbers[i], {})) for i in measured), metrics)


def _rows_of_runs(table: Table) -> tuple[NDArray[np.intp], NDArray[np.intp], list[Value]]:
    """The rows that count, the run of each as an index, and the runs' numbers. A profile without runs is one,
    with the number None."""
    column = table.get("run")
    has_run = _there(column) if column is not None else np.zeros(table.rows, dtype=bool)
    rows = np.flatnonzero(has_run)
    if column is None or not len(rows):
        return np.arange(table.rows), np.zeros(table.rows, dtype=np.intp), [None]
    numbers = np.asarray(column.data)[rows]
    if (numbers[1:] > numbers[:-1]).all():  # as nearly always: a row for each run, in order
        first = groups = np.arange(len(rows))
    else:
        first, groups = np.unique(numbers, return_index=True, return_inverse=True)[1:]
    return rows, groups, [column[int(rows[i])] for i in first]


def _sums(column: Column, rows: NDArray[np.intp], groups: NDArray[np.intp], count: int) -> Array:
    """The sum of each run's values, NaN where it has none or one of them is no number."""
    values = np.asarray(column.data)[rows].astype(np.float64)
    is_present = _present(column)[rows]
    sums: Array = np.zeros(count)
    with np.errstate(over="ignore", invalid="ignore"):
        # `add.at` and not `sums[groups] +=`, which adds only once for an index that occurs several times.
        np.add.at(sums, groups[is_present], values[is_present])
    sums[np.bincount(groups[is_present], minlength=count) == 0] = np.nan
    sums[~np.isfinite(sums)] = np.nan
    return sums


def _there(column: Column) -> Flags:
    is_present = _present(column)
    return is_present & np.isfinite(np.asarray(column.data)) if column.dtype == "f64" else is_present


def _present(column: Column) -> Flags:
    if column.valid is None:
        return np.ones(len(column), dtype=bool)
    return np.frombuffer(bitmap.flags(column.valid, len(column)), dtype=np.bool_)


def _known_runs(table: Table | None) -> Mapping[Value, Mapping[str, Value]]:
    if table is None or table.get("run") is None:
        return {}
    return {row["run"]: row for row in _rows(table)}


def _rows(table: Table) -> Iterator[Mapping[str, Value]]:
    """The rows by the names of their columns, for the columns a run is known by."""
    names = ("run", "session", "block", "position", "started", "warmup", "disturbed", "exit")
    columns = [column for column in table.columns if column.name in names]
    for values in zip(*columns, strict=True):
        yield dict(zip((column.name for column in columns), values, strict=True))


def _run(known: Mapping[str, Value]) -> Run:
    session, block = known.get("session"), known.get("block")
    return Run(
        key=(str(session), _whole(block) or 0) if session and block is not None else None,
        position=_whole(known.get("position")) or 0,
        started=_whole(known.get("started")),
        disturbed=bool(known.get("disturbed")),
        exit=_whole(known.get("exit")),
    )


def _whole(value: Value) -> int | None:
    return int(value) if isinstance(value, int) else None
