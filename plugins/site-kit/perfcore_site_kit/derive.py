"""A branch derived from the store: every series scanned by the configured check, as `perf check all` does it."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from perfcore_check_kit import history as histories
from perfcore_check_kit.history import SHORT, ScannedSeries
from perfcore_check_kit.series import ConfigHistory, branch_versions, config_histories
from perfcore_command_show import context, metric_history
from perfcore_view_kit import machines

from perfcore.config.layers import KEYS
from perfcore.errors import PerfError
from perfcore.model import Change
from perfcore.model.record import replace
from perfcore_site_kit import decisions
from perfcore_site_kit.branch import RANGE, Branch, SeriesRow
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
_FEW_PAIRS = 200  # comparisons of short histories: each loads two profiles, and pages open at once
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
    notes: list[str] = []
    lines = config_histories(repository, head)
    selected = histories.select_series(repository, lines)
    try:
        # Of short histories only what decides: each metric of each pair of versions takes as long as the others.
        scannable = [series.primary or len(series.line.versions) >= SHORT for series in selected]
        results = iter(
            metric_history.scan(repository, list(itertools.compress(selected, scannable)), selected, listener)
        )
        scanned = [next(results) if decides else series for series, decides in zip(selected, scannable, strict=True)]
    except PerfError as error:
        # Pages of a repository whose check is not installed, or not trusted, show what was measured all the same.
        notes.append(f"No change is marked: {error.message}.")
        scanned = list(selected)
    versions = branch_versions(lines)[::-1]
    short = _short_changes(repository, lines)
    medians = [_medians(scanned_series) for scanned_series in scanned]
    shapes = [_shape(*each) for each in zip(scanned, medians, strict=True)]
    series = tuple(_row(*each, short) for each in zip(scanned, medians, shapes, strict=True))
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


def _row(
    scanned: ScannedSeries,
    medians: Sequence[float | None],
    shape: Sequence[float | None],
    short: Mapping[tuple[str, str, str], Sequence[Change]],
) -> SeriesRow:
    line, series = scanned.line, scanned.series
    newest = next((at for at in reversed(range(len(medians))) if medians[at] is not None), 0)
    recent = [median for median in shape[-RECENT:] if median is not None]
    is_short = len(line.versions) < SHORT
    pairwise = short.get((series.config_id, series.metric, series.resource), ())
    return SeriesRow(
        config_id=series.config_id,
        command=line.label,
        collector=line.entry.collector,
        metric=series.metric,
        unit=series.unit,
        resource=series.resource,
        better=series.better,
        primary=scanned.primary,
        points=len(line.versions),
        first=line.versions[0].position,
        newest=line.versions[newest].position,
        median=medians[newest],
        runs=len(series.values[newest]),
        spark=reduced(shape, SPARK),
        noise=noise(recent),
        spread=_spread(series.values[-RECENT:]),
        sessions=len({name for counted in series.sessions[-RECENT:] for name, _ in counted if name}),
        environments=tuple(dict.fromkeys(series.environments)),
        changes=tuple(scanned.changes) or tuple(pairwise),
        is_short=is_short,
        takes_turns=shape is not medians,
    )


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


def _short_changes(repository: Repository, lines: Sequence[ConfigHistory]) -> dict[tuple[str, str, str], list[Change]]:
    """The changes in histories that are too short to be scanned, as `perf check all` finds them: each version compared
    with the one before, by configuration, metric and benchmark."""
    from perfcore_check_kit import pairing as pairings
    from perfcore_check_kit.benchmark_pairs import expanded
    from perfcore_check_kit.pair_checks import run_checks
    from perfcore_check_kit.short_histories import settled

    from perfcore.model import Pairing

    ids = {line.config_id for line in lines if len(line.versions) < SHORT}
    by_series: dict[tuple[str, str, str], list[Change]] = {}
    if not ids:
        return by_series
    versions = {m.position: m.version.id for line in lines if line.config_id in ids for m in line.versions}
    measured = [(versions[at], repository.entries(versions[at])) for at in sorted(versions)]
    pairs = pairings.of_history(repository, measured, set(versions.values()))
    renamed = repository.config.get("benchmarks.renamed")
    candidates = expanded((pair for pair in pairs if pair.config_id in ids), renamed)
    compared = [pair for pair in itertools.islice(candidates, _FEW_PAIRS) if isinstance(pair, Pairing)]
    try:
        verdicts = settled(run_checks(repository, compared), lines)
    except PerfError:
        return by_series
    for verdict in verdicts:
        target = verdict.pairing.target.version or ""
        for change in verdict.changes:
            key = (verdict.pairing.config_id, change.metric, change.resource)
            located = change if change.earliest else replace(change, earliest=target, latest=target)
            by_series.setdefault(key, []).append(located)
    return by_series
