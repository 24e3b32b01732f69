"""What changed along a branch: every series of it, scanned by a check.

Where enough configurations were measured, those of one metric are scanned together, so that what the machine did to all
of them is not taken for their own change.
"""

from __future__ import annotations

import bisect
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from perfcore import files
from perfcore.analysis import machine_changes
from perfcore.analysis import series as histories
from perfcore.analysis.series import Line, Place
from perfcore.model import Change, Series
from perfcore.plugins.registry import Phases
from perfcore.repository.repository import Repository

SHORT = 8  # versions under which a history tells less than its versions compared one by one
FEWEST = 6  # series of one metric that show what they share


@attrs.frozen(kw_only=True)
class Scanned:
    """A series and its changes, oldest first. `primary` says that its metric is the one that decides."""

    line: Line
    series: Series
    primary: bool
    changes: tuple[Change, ...] = ()


@attrs.frozen(kw_only=True)
class Scan:
    """A check that scans: its phases, and what makes its state its own (name, version, options)."""

    phases: Phases
    key: str
    many: bool

    @classmethod
    def configured(cls, repository: Repository, name: str) -> Scan | None:
        """The check of this name, with its configured options; None where it does not scan."""
        options = repository.plugin_options("check", name)
        found, driver = repository.plugins.make("check", name, options)
        return cls.of(repository.plugins.phases(found, driver), driver, options) if hasattr(driver, "scan") else None

    @classmethod
    def of(cls, phases: Phases, driver: object, options: Mapping[str, object]) -> Scan:
        key = json.dumps([phases.found.name, phases.found.version, options], sort_keys=True, default=str)
        return cls(phases=phases, key=key, many=hasattr(driver, "scan_many"))


def wanted(
    repository: Repository, lines: Iterable[Line], *, metric: str | None = None, function: str | None = None
) -> list[Scanned]:
    """The series of these lines that are asked for, not scanned yet: all metrics, one, or a function's."""
    found = []
    for line in lines:
        if function is not None:
            one = histories.functions(repository, line, metric, function)
            found += [Scanned(line=line, series=one, primary=True)] if one is not None else []
            continue
        known = histories.metrics(repository, line)
        found += [
            Scanned(line=line, series=one, primary=number == 0 or one.metric == metric)
            for number, one in enumerate(known)
            if metric in (None, one.metric)
        ]
    return found


def scanned(
    repository: Repository,
    found: Sequence[Scanned],
    check: Scan,
    thresholds: Mapping[str, float],
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
    among: Sequence[Scanned] = (),
) -> list[Scanned]:
    """The same with their changes. `among` are all series of the branch where only some metrics are asked for: how
    sure a change has to be depends on how many there are. All commands of a metric have to be given, or what they share
    is not seen."""
    every = [one for one in among or found if _is_long(one)] or found
    primaries = sum(one.primary for one in every)
    ready = [
        attrs.evolve(one, series=_told(one.series, thresholds, primaries if one.primary else len(every)))
        for one in found
    ]
    together = _together(ready) if check.many else []
    results: dict[int, Sequence[Change]] = {}
    for group in together:
        progress(len(results), len(ready), ready[group[0]].series.metric)
        some = [ready[place] for place in group]
        many = check.phases.call("scan_many", series=_aligned(some))
        numbers = {place.version.id[:10]: place.number for one in some for place in one.line.places}
        for place, one, found_together in zip(group, some, many, strict=True):
            on_line = (_on(one.line, change, numbers) for change in found_together)
            results[place] = [change for change in on_line if change is not None]
    for place, one in enumerate(ready):
        if place not in results:
            progress(len(results), len(ready), one.line.label)
            results[place] = _alone(repository, one.series, check)
    return [
        attrs.evolve(one, changes=tuple(_ranked(change, one.primary) for change in results[place]))
        for place, one in enumerate(ready)
    ]


def changes(found: Sequence[Scanned]) -> list[Change]:
    """All changes in the order of the branch, those of primary metrics first; a change of the machine is told once."""
    numbers = {place.version.id: place.number for one in found for place in one.line.places}
    ranked = sorted(found, key=lambda one: not one.primary)
    kept = machine_changes.told((change for one in ranked for change in one.changes), numbers)
    return sorted(kept, key=lambda change: (numbers[change.latest], not change.primary, change.label))


def ended(found: Sequence[Scanned]) -> list[tuple[str, str, str]]:
    """(command, metric, version) of every metric that decides and that the newest version of its command lacks, with
    the last one that has an amount of it."""
    gone = []
    for one in found:
        places = zip(one.line.places, one.series.values, strict=True)
        measured = [place.version.id for place, values in places if values]
        if one.primary and measured and not one.series.values[-1]:
            gone.append((one.line.label, one.series.metric, measured[-1]))
    return gone


def versions(found: Sequence[Scanned]) -> int:
    """Over how many versions these series go."""
    return len({place.number for one in found for place in one.line.places})


def _told(series: Series, thresholds: Mapping[str, float], comparisons: int) -> Series:
    threshold = thresholds.get(series.metric, thresholds.get(""))
    return attrs.evolve(series, threshold=threshold, comparisons=max(1, comparisons))


def _on(line: Line, change: Change, numbers: Mapping[str, int]) -> Change | None:
    """The change as this line shows it: in its first version from there on, against its last one before. None where it
    has none on one side. `numbers` has the places of all versions by the beginnings of their ids."""
    shown = [place.number for place in line.places]
    place = bisect.bisect_left(shown, numbers[change.target])
    if not 0 < place < len(shown):
        return None
    before, after = line.places[place - 1].version.id, line.places[place].version.id
    if (before[:10], after[:10]) == (change.baseline, change.target):
        return change
    latest = change.latest if numbers[change.latest[:10]] >= numbers[after[:10]] else after
    return attrs.evolve(change, baseline=before[:10], target=after[:10], latest=latest)


def _is_long(one: Scanned) -> bool:
    return len(one.line.places) >= SHORT


def _ranked(change: Change, primary: bool) -> Change:
    return change if primary else attrs.evolve(change, primary=False)


def _together(found: Sequence[Scanned]) -> list[list[int]]:
    """The series of one metric and unit, by their places, where they are many."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for place, one in enumerate(found):
        if _is_long(one):
            groups.setdefault((one.series.metric, one.series.unit, one.series.resource), []).append(place)
    return [group for group in groups.values() if len(group) >= FEWEST]


def _aligned(found: Sequence[Scanned]) -> list[Series]:
    """The series over the same places: every version and environment of any of them, in the order of the branch."""
    places = sorted({_place(place) for one in found for place in one.line.places})
    return [_over(one, places) for one in found]


def _place(place: Place) -> tuple[int, str, str]:
    return place.number, place.version.id, place.environment


def _over(one: Scanned, places: Sequence[tuple[int, str, str]]) -> Series:
    known = dict(zip(map(_place, one.line.places), one.series.values, strict=True))
    told = dict(zip(map(_place, one.line.places), one.series.sessions, strict=False))
    return attrs.evolve(
        one.series,
        versions=tuple(version for _, version, _ in places),
        environments=tuple(environment for _, _, environment in places),
        values=tuple(known.get(place, ()) for place in places),
        sessions=tuple(told.get(place, ()) for place in places) if told else (),
    )


def _alone(repository: Repository, series: Series, check: Scan) -> Sequence[Change]:
    """The changes of one series; what the check wants to know at the next scan is kept in the cache."""
    name = json.dumps([check.key, series.config_id, series.metric, series.unit, series.resource])
    digest = hashlib.sha1(name.encode("utf-8", "backslashreplace"), usedforsecurity=False).hexdigest()
    path = histories.cache(repository) / "scans" / digest
    before = files.cached(path)
    changes, state = check.phases.call("scan", series=series, state=before)
    if state != before:
        files.cache(path, state)
    return changes  # type: ignore[no-any-return]
