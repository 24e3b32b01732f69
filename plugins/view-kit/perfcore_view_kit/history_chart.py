"""A series of perfcore as a chart: its versions, intervals, fitted levels, changes, machines and releases."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore.analysis import verdict_text
from perfcore.model import EMPTY
from perfcore.model.decisions import ACCEPTED, SILENT
from perfcore.text import plural
from perfcore_view_kit import machines
from perfcore_view_kit.chart_data import ChartData, Level, Line, Mark, Rule
from perfcore_view_kit.form import percent, quantity, shown
from perfcore_view_kit.palette import MOST_LINES
from perfcore_view_kit.runs import band_text, interval_of_ordered, median_of_ordered
from perfcore_view_kit.short_ids import SHORT, positions

if TYPE_CHECKING:
    from perfcore.model import Change, MetricHistory, Point

_NOTE, _UNIT = 72, 16  # characters
_WORSE: Mapping[str, bool | None] = {
    "degradation": True,
    "drift": True,
    "optimization": False,
    "improving drift": False,
    "variance": None,
}
_LARGEST = 1e150
_PIECES, _SHORTEST_PIECE, _BENT = 8, 4, 3  # of a drift that bends: at most, versions of each, and the fewest
_MUCH_NEARER = 0.7  # share of the distance from a line at which pieces are shown instead: noise alone saves less
_STEPS = ("degradation", "optimization", "machine")


def history_chart(
    series: MetricHistory,
    *,
    accepted: Mapping[str, str] = EMPTY,
    decided: Mapping[str, str] = EMPTY,
    releases: Mapping[str, tuple[str, ...]] = EMPTY,
    link: str = "",
) -> ChartData:
    """The chart of a series, with a line for each machine where they take turns. `accepted` has reasons by the ids of
    changes, `decided` what people decided about them in words, `releases` tags by the ids of versions; `link` is the
    address of a version, with `{}` for the beginning of its id."""
    points = series.points
    ordered = [sorted(point.values) for point in points]
    medians = [median_of_ordered(values) for values in ordered]
    intervals = [interval_of_ordered(values) or (None, None) for values in ordered]
    index = positions(point.version.id for point in series.points)
    hollow = sorted({index[c.target] for c in series.changes if c.kind == "cannot tell" and c.target in index})
    names = _line_names(series)
    lines = list(dict.fromkeys(names)) or [shown(series.metric)]
    takes_turns = len(lines) > 1
    # Another machine is no break where each has a line of its own.
    breaks = [change for change in series.changes if not (takes_turns and _is_another_machine(change))]

    def line(name: str) -> Line:
        def own(column: Sequence[float | None]) -> Sequence[float | None]:
            if not takes_turns:
                return column
            return [value if its == name else None for value, its in zip(column, names, strict=True)]

        values = own(medians)
        return Line(
            name=name,
            values=values,
            low=own([low for low, _ in intervals]),
            high=own([high for _, high in intervals]),
            counts=[len(point.values) for point in points],
            hollow=[at for at in hollow if names[at] == name],
            levels=_levels(breaks, values, index),
        )

    return ChartData(
        title=title(series),
        finding=finding(series, accepted),
        unit=unit_text(series),
        lines=[line(name) for name in lines],
        takes_turns=takes_turns,
        labels=[shown(point.version.id[:SHORT]) for point in points],
        notes=[shown(point.version.subject, _NOTE) for point in points],
        dates=[point.version.date for point in points],
        link=link,
        marks=[
            _mark(change, index, accepted, decided, lines.index(names[index[change.target]]))
            for change in series.changes
            if (change.kind in _WORSE or is_undecided_step(change)) and change.target in index
        ],
        rules=[*_machines(breaks, () if takes_turns else points, index), *_releases(series, releases)],
        band=band_text(len(point.values) for point in points),
    )


def unit_text(series: MetricHistory) -> str:
    return shown(series.unit, _UNIT)


def title(series: MetricHistory) -> str:
    """`cpu of ./gzip`; for a benchmark or a function `parse: cpu of ./gzip`."""
    name = f"{series.resource}: {series.metric}" if series.resource else series.metric
    return shown(f"{name} of {series.command}")


def common_title(histories: Sequence[MetricHistory]) -> str:
    """`cpu of ./gzip` for several benchmarks of one metric and one command; empty for others."""
    kinds = {(series.metric, series.command) for series in histories}
    names = {series.resource for series in histories}
    is_suite = len(kinds) == 1 and len(names) == len(histories) > 1 and all(names)
    return shown("{} of {}".format(*kinds.pop())) if is_suite else ""


def titles(histories: Sequence[MetricHistory]) -> list[str]:
    """The titles of series that stand together, without what `common_title` says of all."""
    is_suite = bool(common_title(histories))
    return [shown(series.resource) if is_suite else title(series) for series in histories]


def standing(series: MetricHistory, accepted: Mapping[str, str] = EMPTY) -> list[Change]:
    """The changes for the worse that nobody accepted and no later version took back."""
    return [c for c in series.changes if _WORSE.get(c.kind) and not c.undone and c.id not in accepted]


def undecided(changes: Iterable[Change], accepted: Mapping[str, str] = EMPTY) -> list[Change]:
    """Those of a history that may be the machine's, and that nobody accepted and no later version took back."""
    return [c for c in changes if is_undecided_step(c) and not c.undone and c.id not in accepted]


def is_undecided_step(change: Change) -> bool:
    """Whether it is a step of a history, as comparisons of two versions have no range."""
    return change.kind == "cannot tell" and bool(change.earliest)


def decision_on(change: Change, accepted: Mapping[str, str], decided: Mapping[str, str]) -> str:
    """What people decided about a change, in words; empty where nobody did."""
    reason = accepted.get(change.id, "")
    return shown(decided.get(change.id, "") or (f"accepted: {reason}" if reason else ""))


def silencing_state(change: Change, accepted: Mapping[str, str], decided: Mapping[str, str]) -> str:
    """A state of SILENT: by which decision a change fails no check; empty where it does."""
    if change.id not in accepted:
        return ""
    words = decided.get(change.id, "")
    return next((state for state in SILENT if words.startswith(state)), ACCEPTED)


def finding(series: MetricHistory, accepted: Mapping[str, str] = EMPTY) -> str:
    """One sentence on what became of the series, and its newest value."""
    last = next((point for point in reversed(series.points) if point.values), None)
    if last is None or last.median is None:
        return f"Nothing was measured in {machines.versions_of_series(series)}."
    turns = machines.of_series(series)
    on = f" on {_machine(last.environment)}, one of {len(turns)} machines" if turns else ""
    newest = f"Now {quantity(last.median, unit_text(series))}{on}, {machines.versions_of_series(series)}."
    regressions = standing(series, accepted)
    if not regressions:
        better = any(_WORSE.get(change.kind) is False and not change.undone for change in series.changes)
        became = "No regression stands, and it became better" if better else "No regression stands"
        if untold := undecided(series.changes, accepted):
            return f"{became}; what came with {shown(untold[-1].target)} cannot be told. {newest}"
        return f"{became if series.changes else 'No change was reported'}. {newest}"
    newest_regression = regressions[-1]
    size = f" ({size_of(newest_regression)})" if size_of(newest_regression) else ""
    words = verdict_text.word(newest_regression)
    count = (
        f"{plural(len(regressions), 'regression')} stands"
        if len(regressions) == 1
        else f"{len(regressions)} regressions stand"
    )
    return f"{count}, the last at {shown(newest_regression.target)}: {words}{size}. {newest}"


def change_text(change: Change) -> str:
    """The size of a change with its interval, what became of it, and why it cannot be told."""
    parts = [size_of(change)] if size_of(change) else []
    if change.low is not None and change.high is not None and change.kind != "variance":
        level = f" at {100 * change.confidence:.3g} %" if change.confidence else ""
        parts.append(f"({percent(change.low)} to {percent(change.high)}{level})")
    if change.pace is not None:
        parts.append(f"{percent(change.pace)} a version until {shown(change.until[:SHORT])}")
    if change.undone:
        parts.append(f"undone in {shown(change.undone[:SHORT])}")
    elif is_undecided_step(change) and change.reason:
        parts.append(shown(change.reason.partition(":")[0]))  # without what to measure
    return " ".join(parts)


def size_of(change: Change) -> str:
    """`+4.2 %`, or the levels where these have no ratio; empty where a change has no size that readers expect."""
    if change.kind == "variance":
        return ""
    return levels_of(change) if change.ratio is None else percent(change.ratio)


def levels_of(change: Change) -> str:
    """`5 ms → 10 ms`."""
    levels = change.baseline_value, change.target_value
    return "" if None in levels else " → ".join(quantity(level, shown(change.unit, _UNIT)) for level in levels)


def _line_names(series: MetricHistory) -> list[str]:
    """The line of each point: the metric, or its machine where they take turns, of which those that measured least
    share one."""
    turns = machines.of_series(series)
    if not turns:
        return [shown(series.metric)] * len(series.points)
    counts = Counter(point.environment for point in series.points)
    kept = turns if len(turns) <= MOST_LINES else [machine for machine, _ in counts.most_common(MOST_LINES - 1)]
    others = plural(len(counts) - len(kept), "other machine")
    return [_machine(point.environment) if point.environment in kept else others for point in series.points]


def _machine(environment: str) -> str:
    return shown(verdict_text.environment(environment))


def _mark(
    change: Change, index: Mapping[str, int], accepted: Mapping[str, str], decided: Mapping[str, str], line: int
) -> Mark:
    at = index[change.target]
    ends = [index.get(version[:SHORT], at) for version in (change.earliest, change.latest)]
    base = change.baseline_value
    # The amounts of a change of the noise are noise, and no levels.
    is_sized = base is not None and change.low is not None and change.high is not None and change.pace is None
    is_sized = is_sized and change.kind != "variance"
    return Mark(
        at=at,
        line=line,
        word=verdict_text.word(change),
        text=change_text(change),
        worse=_WORSE.get(change.kind),
        first=min(*ends, at),
        last=max(*ends, at),
        low=base * change.low if is_sized and base is not None and change.low is not None else None,
        high=base * change.high if is_sized and base is not None and change.high is not None else None,
        accepted=shown(accepted.get(change.id, "")),
        decided=decision_on(change, accepted, decided),
    )


def _is_another_machine(change: Change) -> bool:
    return change.kind == "machine" and change.moved is None


def _machines(changes: Iterable[Change], points: Sequence[Point], index: Mapping[str, int]) -> Iterator[Rule]:
    """Where the machine became another: as a check says, or as the environments of the points do."""
    said = set()
    for change in changes:
        if change.kind == "machine" and change.target in index:
            said.add(index[change.target])
            yield Rule(
                at=index[change.target], kind="machine", text=shown(verdict_text.machine(change) or "another machine")
            )
    measured = [at for at, point in enumerate(points) if point.values]
    for before, at in itertools.pairwise(measured):
        environment = points[at].environment
        if at not in said and environment != points[before].environment:
            yield Rule(at=at, kind="machine", text=shown(f"environment {environment[:SHORT] or 'unknown'}"))


def _releases(series: MetricHistory, releases: Mapping[str, tuple[str, ...]]) -> Iterator[Rule]:
    for at, point in enumerate(series.points):
        for tag in releases.get(point.version.id, ()):
            yield Rule(at=at, kind="release", text=shown(tag, 40))


def _levels(changes: Sequence[Change], medians: Sequence[float | None], index: Mapping[str, int]) -> list[Level]:
    """The median of the versions between two steps; of a drift the least-squares line through its versions, in pieces
    where it is a curve."""
    starts = {index[c.target] for c in changes if (c.kind in _STEPS or is_undecided_step(c)) and c.target in index}
    drifts = {}
    for change in changes:
        if change.pace is not None and change.target in index and change.until[:SHORT] in index:
            drifts[index[change.target]] = index[change.until[:SHORT]]
    starts |= {0, *drifts, *(end + 1 for end in drifts.values())}
    ordered = sorted(start for start in starts if start < len(medians))
    levels = []
    for start, end in zip(ordered, [*ordered[1:], len(medians)], strict=True):
        # Sums of larger values would not be numbers.
        part = [(float(at), v) for at in range(start, end) if (v := medians[at]) is not None and abs(v) < _LARGEST]
        if start in drifts and len(part) > 2:
            levels += _drift_levels(part, start, end)
        elif part:
            level = statistics.median(value for _, value in part)
            # From the first version that was measured: a machine that came late has no level before.
            levels.append(Level(int(part[0][0]), int(part[-1][0]), level, level))
    return levels


def _drift_levels(points: Sequence[tuple[float, float]], start: int, end: int) -> list[Level]:
    """The line through these points, or through the middles of pieces of them where these are much nearer."""
    line = statistics.linear_regression(*zip(*points, strict=True))
    straight = [Level(start, end - 1, line.intercept + line.slope * start, line.intercept + line.slope * (end - 1))]
    size = max(_SHORTEST_PIECE, -(-len(points) // _PIECES))
    pieces = [points[at : at + size] for at in range(0, len(points) - size + 1, size)]
    if len(pieces) < _BENT:
        return straight
    knots = [
        (statistics.fmean(at for at, _ in piece), statistics.median(value for _, value in piece)) for piece in pieces
    ]
    first, last = _through(knots[0], knots[1], start), _through(knots[-2], knots[-1], end - 1)
    knots = [(float(start), first), *knots[1:-1], (end - 1.0, last)]
    bent = [Level(*ends) for ends in _ends(knots)]
    return bent if _distance(bent, points) < _MUCH_NEARER * _distance(straight, points) else straight


def _ends(knots: Sequence[tuple[float, float]]) -> Iterator[tuple[int, int, float, float]]:
    """The levels from knot to knot, each of which begins after the one before."""
    for number, ((one, first), (other, last)) in enumerate(itertools.pairwise(knots)):
        yield round(one) + (number > 0), round(other), first, last


def _through(one: tuple[float, float], other: tuple[float, float], at: float) -> float:
    return one[1] + (other[1] - one[1]) * (at - one[0]) / (other[0] - one[0])


def _distance(levels: Sequence[Level], points: Sequence[tuple[float, float]]) -> float:
    """The sum of the distances of the points from their levels."""
    return sum(
        abs(value - _through((level.start, level.first), (level.end, level.last), at))
        for level in levels
        for at, value in points
        if level.start <= at <= level.end
    )
