"""A branch derived from the store: every series scanned by the configured check, as `perf check all` does it."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from perfcore_check_kit import history as histories
from perfcore_check_kit import missing_history
from perfcore_check_kit.fail_rules import gated_metrics
from perfcore_check_kit.history import SHORT, ScannedSeries
from perfcore_check_kit.series import ConfigHistory, branch_versions, config_histories
from perfcore_command_show import context, metric_history
from perfcore_view_kit import machines

from perfcore.config.layers import KEYS
from perfcore.errors import PerfError
from perfcore_site_kit import decisions
from perfcore_site_kit.branch import RANGE, Branch, MeasuredEnvironment, SeriesRow
from perfcore_site_kit.levels import Level, levels_of, reduced
from perfcore_site_kit.rows import BranchRows, StoredPoints, levels_key, points_key

if TYPE_CHECKING:
    from perfcore.model.listener import Listener
    from perfcore.repository.repository import Repository

SPARK = 120  # values of a sparkline: one for each of its pixels
RECENT = 64  # versions: enough to tell the noise of a series to within a tenth
# Of a normal distribution the median of |x| is 0.6745 standard deviations (its quartile).
_TO_DEVIATION = 1 / 0.6745
_FEW_POINTS = 50_000  # of 5 runs each: 10 megabytes
_LEVELS = 4  # versions of the fewest that a scan sees a step in: two levels of two
_FEW_PAIRS = 200  # of short histories: comparing one takes a few milliseconds for each metric
CONFIGURED = tuple(key for key in KEYS if key.startswith(("check.", "benchmarks.")))


# With a `__dict__`, which `functools.cached_property` needs.
class Derived(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """A branch with what it was derived from, where that is in memory."""

    branch: Branch
    scanned: Sequence[ScannedSeries] = ()
    shapes: Sequence[Sequence[float | None]] = ()
    lines: Sequence[ConfigHistory] = ()

    @functools.cached_property
    def _columns(self) -> dict[tuple[int, int], StoredPoints]:
        return {}

    @functools.cached_property
    def _levels(self) -> dict[int, Mapping[int, Level]]:
        return {}

    def points(self, at: int, index: int) -> StoredPoints:
        """A range of a series."""
        if (at, index) not in self._columns:
            line, series = self.scanned[at].line, self.scanned[at].series
            chosen = slice(index * RANGE, (index + 1) * RANGE)
            versions = line.versions[chosen]
            self._columns[at, index] = StoredPoints(
                tuple([measured.position for measured in versions]),
                tuple([measured.environment for measured in versions]),
                tuple([measured.profiles for measured in versions]),
                series.values[chosen],
            )
        return self._columns[at, index]

    def levels(self, at: int) -> Mapping[int, Level]:
        if at not in self._levels:
            positions = [measured.position for measured in self.scanned[at].line.versions]
            self._levels[at] = levels_of(positions, self.shapes[at], len(self.branch.versions))
        return self._levels[at]

    def keep(self, rows: BranchRows) -> None:
        """Write all of it to the read model."""
        points, levels = {}, {}
        for at, row in enumerate(self.branch.series):
            for index in range(ranges(row)):
                points[points_key(at, index)] = self.points(at, index)
            if row.points > RANGE:
                levels[levels_key(at)] = self.levels(at)
        rows.write(self.branch, points, levels)

    @property
    def is_small(self) -> bool:
        """Whether it may stay in memory, where reading a range takes a tenth of the time."""
        return sum(len(series.line.versions) for series in self.scanned) <= _FEW_POINTS

    def is_in(self, rows: BranchRows) -> bool:
        """Whether all of it can be read from the read model, of which the last row was written with the others."""
        last = points_key(len(self.branch.series) - 1, 0)
        return not self.branch.series or rows.points(self.branch.state, last) is not None


def ranges(row: SeriesRow) -> int:
    """How many ranges a series has."""
    return max(1, -(-row.points // RANGE))


def state_of(repository: Repository, head: str, releases: Mapping[str, tuple[str, ...]]) -> str:
    """A digest of what a branch is derived from; empty where it may change without being seen, as just after a change
    of the store."""
    stamps = getattr(repository.store.storage, "stamps", None)
    folders = stamps("objects/") if stamps is not None else {"": ""}
    if not all(folders.values()):
        return ""
    configured = [repository.config.get(key) for key in CONFIGURED]
    facts = [head, sorted(folders.items()), sorted(releases.items()), configured, decisions.stamp(repository)]
    return hashlib.sha1(json.dumps(facts, default=str).encode(), usedforsecurity=False).hexdigest()


def derive(
    repository: Repository,
    *,
    head: str,
    name: str,
    state: str,
    releases: Mapping[str, tuple[str, ...]],
    listener: Listener,
) -> Derived:
    """The branch that ends at a version. It has no series where none of its versions has a profile."""
    missing = missing_history.note(repository)
    notes = [f"{missing}."] if missing else []
    lines = config_histories(repository, head)
    selected = histories.select_series(repository, lines)
    gated: Collection[str] = ()
    try:
        gated = gated_metrics(repository.config.get("check.fail_on"), {series.series.metric for series in selected})
        every = _is_fast(selected)
        scannable = [every or _decides(series, gated) or len(series.line.versions) >= SHORT for series in selected]
        to_scan = list(itertools.compress(selected, scannable))
        results = iter(metric_history.scan(repository, to_scan, selected, listener, with_unchanged=True))
        scanned = [
            next(results) if is_scanned else series for series, is_scanned in zip(selected, scannable, strict=True)
        ]
    except PerfError as error:
        # Pages of a repository whose check is not installed, or not trusted, show what was measured all the same.
        notes.append(f"No change is marked: {error.message}.")
        scanned = list(selected)
    versions = branch_versions(lines)[::-1]
    medians = [_medians(scanned_series) for scanned_series in scanned]
    shapes = [_shape(*each) for each in zip(scanned, medians, strict=True)]
    series = tuple(_row(*each, gated) for each in zip(scanned, medians, shapes, strict=True))
    changes = [change for row in series for change in row.changes]
    decided = context.decided(repository, changes, head, {version.id for version in versions})
    branch = Branch(
        state=state,
        head=head,
        name=name,
        versions=tuple(versions),
        series=series,
        accepted=decided.accepted,
        decided=decided.words,
        releases=releases,
        notes=tuple(notes),
    )
    return Derived(branch=branch, scanned=scanned, shapes=shapes, lines=lines)


def _is_fast(selected: Sequence[ScannedSeries]) -> bool:
    """Whether all metrics of short histories are compared, and not only what decides: each metric of each pair of
    versions takes as long as the others, and pages open at once."""
    short = (series.line for series in selected if series.primary and len(series.line.versions) < SHORT)
    return sum(len(line.versions) - 1 for line in short) <= _FEW_PAIRS


def _decides(scanned: ScannedSeries, gated: Collection[str]) -> bool:
    return scanned.primary or scanned.series.metric in gated


def _row(
    scanned: ScannedSeries,
    medians: Sequence[float | None],
    shape: Sequence[float | None],
    gated: Collection[str],
) -> SeriesRow:
    line, series = scanned.line, scanned.series
    newest = next((at for at in reversed(range(len(medians))) if medians[at] is not None), 0)
    measured = len(medians) - medians.count(None)
    recent = [median for median in shape[-RECENT:] if median is not None]
    return SeriesRow(
        config_id=series.config_id,
        command=line.label,
        collector=line.entry.collector,
        metric=series.metric,
        unit=series.unit,
        resource=series.resource,
        better=series.better,
        primary=scanned.primary,
        decides=_decides(scanned, gated),
        points=len(line.versions),
        measured=measured,
        first=line.versions[0].position,
        newest=line.versions[newest].position,
        median=medians[newest],
        runs=len(series.values[newest]),
        spark=reduced(shape, SPARK),
        noise=noise(recent),
        spread=_spread(series.values[-RECENT:]),
        sessions=len({name for counted in series.sessions[-RECENT:] for name, _ in counted if name}),
        environments=_environments(scanned),
        changes=tuple(scanned.changes),
        is_short=len(line.versions) < SHORT or measured < _LEVELS,
        takes_turns=shape is not medians,
    )


def _environments(scanned: ScannedSeries) -> tuple[MeasuredEnvironment, ...]:
    """In the order in which they began."""
    ids, versions = scanned.series.environments, scanned.line.versions
    if len(set(ids)) == 1:  # as in nearly all series: no need to look at the versions between
        return (MeasuredEnvironment(ids[0], versions[0].position, versions[-1].position),)
    positions = [measured.position for measured in versions]
    newest = dict(zip(ids, positions, strict=True))
    first = dict(zip(reversed(ids), reversed(positions), strict=True))
    return tuple(MeasuredEnvironment(id, first[id], newest[id]) for id in dict.fromkeys(ids))


def _shape(scanned: ScannedSeries, medians: Sequence[float | None]) -> Sequence[float | None]:
    """The medians, as those of one machine where machines take turns."""
    environments = scanned.series.environments
    if len(set(environments)) < 2:  # as in nearly all series: no need to look at the versions
        return medians
    ids = [measured.version.id for measured in scanned.line.versions]
    factors = machines.factors(medians, environments, ids, scanned.changes)
    return machines.on_one(medians, environments, factors) if factors else medians


def _medians(scanned: ScannedSeries) -> list[float | None]:
    series = scanned.series.values
    counts = set(map(len, series))
    if len(counts) == 1 and (count := counts.pop()) % 2:  # as nearly always; a call for each value takes twice as long
        return [ordered[count // 2] for ordered in map(sorted, series)]
    return [_median(values) if values else None for values in series]


def _median(values: Sequence[float]) -> float:
    """As `statistics.median`, which takes several times as long for a few values."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def noise(medians: Sequence[float]) -> float | None:
    """The standard deviation of a series from version to version, relative to its level, which steps and spikes hardly
    move: the median of |x(i+1) - x(i)|, over 0.6745 and the square root of 2 (von Neumann's differences, made robust).
    None with fewer than 4 versions or a level that is not positive."""
    if len(medians) < 4:
        return None
    level = _median(medians)
    steps = [abs(after - before) for before, after in itertools.pairwise(medians)]
    return _median(steps) * _TO_DEVIATION / 2**0.5 / level if level > 0 else None


def _spread(values: Iterable[Sequence[float]]) -> float | None:
    """The relative standard deviation of the runs of a version, by the median absolute deviation: the median over the
    versions with at least three runs."""
    spreads = []
    for runs in values:
        if len(runs) >= 3 and (level := _median(runs)) > 0:
            spreads.append(_median([abs(run - level) for run in runs]) * _TO_DEVIATION / level)
    return _median(spreads) if spreads else None
