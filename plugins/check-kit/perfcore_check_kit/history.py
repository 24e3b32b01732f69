"""Changes along a branch: every series of it, scanned by a check.

Where enough configurations were measured, those of one metric are scanned together, so that a change of the machine,
which all of them show, is not reported as their own.
"""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from perfcore.hookspecs import CHECK
from perfcore.model import Change, Series
from perfcore.plugins.drivers import Phases
from perfcore.repository.repository import Repository
from perfcore.text import plural
from perfcore_check_kit import series as series_of
from perfcore_check_kit import slow_sessions
from perfcore_check_kit.machine_speed import Speed
from perfcore_check_kit.series import ConfigHistory, MeasuredVersion

SHORT = 8  # versions: with fewer, a scan detects less than each version compared with the one before
_STATES, _RESULTS, _MEMORIES = "scan states", "scan results", "scan memories"
_MEMORY = msgspec.msgpack.Decoder(dict[str, bytes])
_DECODER = msgspec.msgpack.Decoder(tuple[str, tuple[tuple[Change, ...], ...]])
_COLUMNS = ("versions", "environments", "sessions", "next_versions")  # of series, beside their values
_COLLECTOR = "perf collect COLLECTOR "  # in the reason of a change
FEWEST = 2  # series of one metric that separate the machine from the code; `changepoint` needs as many


class ScannedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """A series and its changes, oldest first. `primary` says that its metric is the one that decides."""

    line: ConfigHistory
    series: Series
    primary: bool
    changes: tuple[Change, ...] = ()


class HistoryCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check that scans: its phases, and the key of what is kept of its scans (name, version, options, code); ""
    keeps nothing."""

    phases: Phases
    key: str
    many: bool

    @classmethod
    def configured(cls, repository: Repository, name: str) -> HistoryCheck | None:
        """The check of this name, with its configured options; None where it does not scan."""
        options = repository.plugin_options("check", name)
        plugin, driver = repository.plugins.make(CHECK, name, options)
        return cls.of(repository.plugins.phases(plugin, driver), driver, options) if hasattr(driver, "scan") else None

    @classmethod
    def of(cls, phases: Phases, driver: object, options: Mapping[str, object]) -> HistoryCheck:
        facts = [phases.info.name, phases.info.version, options, code_stamp(driver)]
        key = json.dumps(facts, sort_keys=True, default=str)
        return cls(phases=phases, key=key, many=hasattr(driver, "scan_many"))


def select_series(
    repository: Repository,
    histories: Iterable[ConfigHistory],
    *,
    metric: str | None = None,
    function: str | None = None,
) -> list[ScannedSeries]:
    """The series of these histories that are asked for, not scanned yet: all metrics, one, or those of a benchmark or
    function."""
    selected: list[ScannedSeries] = []
    for line in histories:
        series = [
            ScannedSeries(line=line, series=series, primary=primary or series.metric == metric)
            for primary, series in _ranked_series(series_of.metrics(repository, line))
            if function in (None, series.resource) and metric in (None, series.metric)
            if primary or metric or function is None
        ]
        if function is not None and not series:  # it names no benchmark
            of_function = series_of.functions(repository, line, metric, function)
            series = [ScannedSeries(line=line, series=of_function, primary=True)] if of_function is not None else []
        selected += series
    return selected


def _ranked_series(some: Iterable[Series]) -> Iterator[tuple[bool, Series]]:
    """Each series, and whether it is the first of its benchmark, or of the command: that which decides."""
    seen = set[str]()
    for series in some:
        yield series.resource not in seen, series
        seen.add(series.resource)


def scan_series(
    repository: Repository,
    selected: Sequence[ScannedSeries],
    check: HistoryCheck,
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
    among: Sequence[ScannedSeries] = (),
) -> list[ScannedSeries]:
    """The same with their changes. `among` are all series of the branch where only some are asked for: how sure a
    change has to be depends on how many there are, and what those of a metric share is seen in all of them only."""
    family = [scanned for scanned in among or selected if _is_long(scanned)] or selected
    # Primary metrics are a family of their own: the others, often many, must not make them harder to find.
    primaries = sum(scanned.primary for scanned in family)
    ready = [
        replace(scanned, series=_prepared(scanned.series, thresholds, primaries if scanned.primary else len(family)))
        for scanned in _together(selected, among)
    ]
    results: dict[int, Sequence[Change]] = {}
    for group in _joint_groups(ready) if check.many else []:
        progress(len(results), len(ready), ready[group[0]].series.metric)
        results |= dict(zip(group, _scan_together(repository, [ready[i] for i in group], check), strict=True))
    positions = {_subject(scanned): index for index, scanned in enumerate(ready)}
    scanned_series, speeds = [], dict[str, list[Speed]]()
    for index in (positions[_subject(scanned)] for scanned in selected):
        if index not in results:
            progress(len(results), len(ready), ready[index].line.label)
            results[index] = _scan_one(repository, ready[index].series, check)
        scanned = ready[index]
        changes = slow_sessions.doubted(repository, scanned.line, scanned.series, results[index], speeds)
        named = (_with_collector(repository, scanned, change) for change in changes)
        shown = (c if scanned.primary else replace(c, primary=False) for c in named)
        scanned_series.append(replace(scanned, changes=tuple(shown)))
    return scanned_series


def _with_collector(repository: Repository, scanned: ScannedSeries, change: Change) -> Change:
    """The change with the collector of its series in the command that it proposes: a check knows amounts only. One that
    is not installed is left to the reader."""
    collector = scanned.line.entry.collector
    if _COLLECTOR not in change.reason or collector not in repository.plugins.names("collector"):
        return change
    return replace(change, reason=change.reason.replace(_COLLECTOR, f"perf collect {collector} "))


def changes(scanned: Sequence[ScannedSeries]) -> list[Change]:
    """All changes in the order of the branch, primary metrics first; a change of the machine is listed once."""
    positions = {m.version.id: m.position for series in scanned for m in series.line.versions}
    ranked = sorted(scanned, key=lambda series: not series.primary)
    merged = [change for series in ranked for change in series.changes]
    if any(change.kind == "machine" for change in merged):
        from perfcore_check_kit import machine_changes

        merged = machine_changes.merge(merged, positions)
    return sorted(merged, key=lambda change: (positions[change.latest], not change.primary, change.label))


def discontinued(scanned: Sequence[ScannedSeries]) -> list[tuple[str, str]]:
    """(command, clause) of every primary metric that is missing in the newest version of its command, of all benchmarks
    together that had it last in the same one. The clause names the last version that has a value of it."""
    benchmarks: dict[tuple[str, str, str], list[str]] = {}
    for history in scanned:
        rows = zip(history.line.versions, history.series.values, strict=True)
        versions_with_values = [measured.version.id for measured, values in rows if values]
        if history.primary and versions_with_values and not history.series.values[-1]:
            missing = history.line.label, history.series.metric, versions_with_values[-1]
            benchmarks.setdefault(missing, []).append(history.series.resource)
    return [
        (label, f"{metric}{_of(names)} {'was' if len(names) == 1 else 'were'} last measured at {version[:10]}")
        for (label, metric, version), names in benchmarks.items()
    ]


def _of(benchmarks: Sequence[str]) -> str:
    """` of parse and 3 other benchmarks`; empty for a command."""
    first, *others = benchmarks
    return (f" of {first}" if first else "") + (f" and {plural(len(others), 'other benchmark')}" if others else "")


def versions(scanned: Sequence[ScannedSeries]) -> int:
    """Over how many versions these series go."""
    return len({measured.position for series in scanned for measured in series.line.versions})


def _prepared(series: Series, thresholds: Mapping[str, float], comparisons: int) -> Series:
    threshold = thresholds.get(series.metric, thresholds.get(""))
    return replace(series, threshold=threshold, comparisons=max(1, comparisons))


def _scan_together(
    repository: Repository, group: Sequence[ScannedSeries], check: HistoryCheck
) -> Iterator[Sequence[Change]]:
    """The changes of each series of a group, without changes of the machine that all of them share."""
    positions = {m.version.id[:10]: m.position for line in _lines(group) for m in line.versions}
    joint = _scan_many(repository, _aligned(group), check)
    for scanned, joint_changes in zip(group, joint, strict=True):
        on_line = (_on(scanned.line, change, positions) for change in joint_changes)
        yield [change for change in on_line if change is not None]


def _on(line: ConfigHistory, change: Change, positions: Mapping[str, int]) -> Change | None:
    """The change as this history shows it: in its first version from there on, against its last one before. None where
    it has none on one side. `positions` has those of all versions by the beginnings of their ids."""
    index = bisect.bisect_left(line.versions, positions[change.target], key=lambda measured: measured.position)
    if not 0 < index < len(line.versions):
        return None
    before, after = line.versions[index - 1].version.id, line.versions[index].version.id
    if (before[:10], after[:10]) == (change.baseline, change.target):
        return change
    latest = change.latest if positions[change.latest[:10]] >= positions[after[:10]] else after
    return replace(change, baseline=before[:10], target=after[:10], latest=latest)


def _together(selected: Sequence[ScannedSeries], among: Sequence[ScannedSeries]) -> list[ScannedSeries]:
    """The series that are asked for and those `among` which are scanned with them, always in the same order: sums in
    another order differ in their last digit."""
    metrics = {(scanned.series.metric, scanned.series.unit) for scanned in selected}
    asked_for = {_subject(scanned): scanned for scanned in selected}
    family = [
        asked_for.pop(_subject(scanned), scanned)
        for scanned in among
        if (scanned.series.metric, scanned.series.unit) in metrics
    ]
    return [*family, *asked_for.values()]


def _subject(scanned: ScannedSeries) -> tuple[str, str, str, str]:
    series = scanned.series
    return series.config_id, series.metric, series.unit, series.resource


def _is_long(scanned: ScannedSeries) -> bool:
    return len(scanned.line.versions) >= SHORT


def _joint_groups(selected: Sequence[ScannedSeries]) -> list[list[int]]:
    """The series of one metric and unit, by their indexes, where there are enough of them."""
    groups: dict[tuple[str, str], list[int]] = {}
    for index, scanned in enumerate(selected):
        if _is_long(scanned):
            series = scanned.series
            groups.setdefault((series.metric, series.unit), []).append(index)
    return [group for group in groups.values() if len(group) >= FEWEST]


def _aligned(group: Sequence[ScannedSeries]) -> list[Series]:
    """The series over the same axis: every version and environment of any of them, in the order of the branch."""
    coordinates = {id(line): list(map(_coordinate, line.versions)) for line in _lines(group)}
    axis = sorted(set(itertools.chain.from_iterable(coordinates.values())))
    following = {m.version.id: m.next_version for line in _lines(group) for m in line.versions}
    next_versions = tuple([following[version] for _, version, _ in axis])
    return [
        replace(_over(scanned, coordinates[id(scanned.line)], axis), next_versions=next_versions) for scanned in group
    ]


def _lines(group: Iterable[ScannedSeries]) -> list[ConfigHistory]:
    """The histories of a group. The benchmarks of a suite share one."""
    return list({id(scanned.line): scanned.line for scanned in group}.values())


def _coordinate(measured: MeasuredVersion) -> tuple[int, str, str]:
    return measured.position, measured.version.id, measured.environment


def _over(
    scanned: ScannedSeries, coordinates: Sequence[tuple[int, str, str]], axis: Sequence[tuple[int, str, str]]
) -> Series:
    if coordinates == axis:
        return scanned.series
    values = dict(zip(coordinates, scanned.series.values, strict=True))
    sessions = dict(zip(coordinates, scanned.series.sessions, strict=False))  # empty where none has two versions
    return replace(
        scanned.series,
        versions=tuple(version for _, version, _ in axis),
        environments=tuple(environment for _, _, environment in axis),
        values=tuple(values.get(coordinate, ()) for coordinate in axis),
        sessions=tuple(sessions.get(coordinate, ()) for coordinate in axis) if sessions else (),
    )


def _scan_many(repository: Repository, group: Sequence[Series], check: HistoryCheck) -> Sequence[Sequence[Change]]:
    """The changes of each series; the read model keeps them until something is added to one."""
    model, key, asked = repository.store.read_model, _question(check, group), ""
    try:
        asked = _digest(_encoded(group))
    except UnicodeEncodeError:  # what has a name that is no Unicode is not kept
        check = replace(check, key="")
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        answered, found = _DECODER.decode(model.get(_RESULTS, key) or b"" if check.key else b"")
        if answered == asked:
            return found
    subject = _digest(json.dumps([check.key, group[0].metric, group[0].unit]).encode())  # also with another benchmark
    memory = _memory(repository, subject) if check.key else {}
    before = dict(memory)
    joint = [tuple(changes) for changes in check.phases.call("scan_many", series=group, memory=memory)]
    if check.key:
        model.put(_RESULTS, {key: msgspec.msgpack.encode((asked, joint))})
        if memory != before:
            model.put(_MEMORIES, {subject: msgspec.msgpack.encode(memory)})
    return joint


def _encoded(group: Sequence[Series]) -> bytes:
    """All of the series. What they have in common, as the benchmarks of a suite do, is much of them, and is there once:
    the others name the columns that are the first one's, which they leave out."""
    first, *others = group
    rest = []
    for series in others:
        shared = {name: () for name in _COLUMNS if getattr(series, name) == getattr(first, name)}
        rest.append((list(shared), replace(series, **shared)))
    return msgspec.msgpack.encode((first, rest))


def _memory(repository: Repository, key: str) -> dict[str, bytes]:
    """What the last scan of these series remembered."""
    with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _MEMORY.decode(repository.store.read_model.get(_MEMORIES, key) or b"\x80")  # an empty map
    return {}


def _scan_one(repository: Repository, series: Series, check: HistoryCheck) -> Sequence[Change]:
    """The changes of one series; the read model keeps the check's state for the next scan."""
    model, key = repository.store.read_model, _question(check, (series,))
    before = model.get(_STATES, key) if check.key else None
    changes, state = check.phases.call("scan", series=series, state=before)
    if check.key and state != before:
        model.put(_STATES, {key: state})
    return changes  # type: ignore[no-any-return]


def _question(check: HistoryCheck, group: Iterable[Series]) -> str:
    subjects = [(series.config_id, series.metric, series.unit, series.resource) for series in group]
    return _digest(json.dumps([check.key, subjects]).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def code_stamp(driver: object) -> list[tuple[str, int, int]]:
    """What tells the code of a check from an earlier one, whose results no longer hold: versions change less often."""
    module = sys.modules.get(type(driver).__module__)
    if (file := getattr(module, "__file__", None)) is None:
        return []
    status = [(path, path.stat()) for path in sorted(Path(file).parent.rglob("*.py"))]
    return [(path.name, state.st_size, state.st_mtime_ns) for path, state in status]
