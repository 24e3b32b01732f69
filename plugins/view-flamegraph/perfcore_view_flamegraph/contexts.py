"""What a page says beside the tree: the sides of a difference, the versions of a history, noise, and source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perfcore_view_kit.form import printable

from perfcore.model import MinorVersion, Profile, ViewData
from perfcore_view_flamegraph import environments, noise, source_lines
from perfcore_view_flamegraph.graph import SIDES, Frame, Graph, Metric
from perfcore_view_flamegraph.page import Context, Version
from perfcore_view_flamegraph.source_lines import Function, Read, Side

_BETWEEN = " -> "
_SHORT = 10
_NO_CHANGE = ("same", "cannot tell")
_SUBJECT = 60  # columns of a subject of a version
# The notes by which `perf diff` says what it has scaled.
_SCALES = {"one run": "per run", "scaled to the total": "the target scaled to the total of the baseline"}


def of_profile(subject: ViewData, graph: Graph, read: Read | None) -> Context:
    """The context of one profile: its source, where its version is known."""
    profile = subject.profiles[0]
    version = subject.versions[0] if subject.versions else None
    commit = version.id if version is not None else profile.origin
    sides = [Side(profile, commit, commit[:_SHORT])] if commit else []
    return Context(sources=_sources(sides, graph, read))


def of_difference(subject: ViewData, graph: Graph, read: Read | None) -> Context:
    """The context of a difference: its scale, the environments, the noise, and the source of both sides."""
    difference = subject.profiles[0]
    names = sides(difference, subject.names[0] if subject.names else "")
    scale = next((words for note, words in _SCALES.items() if any(note in each for each in difference.notes)), "")
    remarks: list[str] = []
    quiet = None
    sources = None
    if subject.pair is not None:
        baseline, target = subject.pair
        remarks += [f"environment: {line}" for line in environments.differences(baseline, target)]
        quiet, reason = _quiet(subject, graph, scale)
        remarks += [reason] if reason else []
        parts = [
            Side(profile, version, f"{name} ({version[:_SHORT]})", side.paths)
            for profile, side, name in zip(subject.pair, subject.sides, names, strict=True)
            if (version := side.version or profile.origin)
        ]
        remarks += [f"renamed: {old} → {new}" for new, old in sorted(subject.sides[0].paths.items())]
        sources = _sources(parts if len(parts) == len(SIDES) else [], graph, read)
    return Context(
        sides=names,
        scale=scale or "sums over all runs",
        is_total=scale == _SCALES["scaled to the total"],
        remarks=[printable(remark) for remark in remarks],
        quiet=quiet,
        sources=sources,
    )


def of_history(subject: ViewData, graph: Graph, versions: Sequence[Version], read: Read | None) -> Context:
    """The context of several versions; the source is that of the last one."""
    last = subject.versions[-1] if subject.versions else None
    commit = last.id if last is not None else subject.profiles[-1].origin
    parts = [Side(subject.profiles[-1], commit, versions[-1].name)] if commit else []
    return Context(versions=versions, scale="as recorded", sources=_sources(parts, graph, read))


def in_order(subject: ViewData) -> ViewData:
    """The profiles in the order of their versions; those of no version stay where they are named."""
    names = subject.names or [f"profile {number}" for number in range(1, len(subject.profiles) + 1)]
    listed = list(zip(subject.profiles, names, _versions(subject), strict=True))
    if all(version is not None for *_, version in listed):
        ages = _ages([version for *_, version in listed if version is not None])
        listed.sort(key=lambda item: ages[item[2].id] if item[2] else (0, 0))
    return ViewData(
        profiles=tuple(profile for profile, _, _ in listed),
        names=tuple(name for _, name, _ in listed),
        versions=tuple(version for *_, version in listed),
        changes=lambda: subject.changes,
        source=subject.source,
    )


def versions(subject: ViewData) -> list[Version]:
    """What the versions of a history are called, with the changes that checks found in them."""
    changes = _changes(subject)
    found = []
    for name, version, profile in zip(subject.names, _versions(subject), subject.profiles, strict=True):
        if version is None:
            title = profile.origin[:_SHORT] if profile.origin else name
            found.append(Version(name=printable(title)))
        else:
            subject_line = printable(version.subject)[:_SUBJECT]
            found.append(Version(name=version.id[:_SHORT], subject=subject_line, change=_change(version.id, changes)))
    return found


def sides(profile: Profile, name: str) -> tuple[str, str]:
    """What the baseline and the target are called."""
    names = name.split(_BETWEEN)
    ids = [source[:_SHORT] for source in profile.sources]
    baseline, target = next(pair for pair in (names, ids, SIDES) if len(pair) == len(SIDES))
    return printable(baseline), printable(target)


def _ages(versions: Sequence[MinorVersion]) -> dict[str, tuple[int, int]]:
    """What versions are sorted by: their dates; of one second, parents before their children."""
    listed = {version.id: version for version in versions}
    ages: dict[str, tuple[int, int]] = {}
    for version in versions:
        path = [version]
        while len(path) <= len(versions) and (parent := next((p for p in path[-1].parents if p in listed), None)):
            path.append(listed[parent])
        ages[version.id] = version.date, len(path)
    return ages


def _versions(subject: ViewData) -> Sequence[Any]:
    return subject.versions or (None,) * len(subject.profiles)


def _change(version: str, changes: Mapping[str, str]) -> str:
    return next((words for target, words in changes.items() if version.startswith(target)), "")


def _changes(subject: ViewData) -> dict[str, str]:
    """What checks found, by the beginning of the id of the version that shows it first."""
    changes = (change for change in subject.changes if change.target and change.kind not in _NO_CHANGE)
    return {change.target: printable(f"{change.kind} of {change.metric}") for change in changes}


def _sources(
    parts: Sequence[Side], graph: Graph, read: Read | None
) -> Callable[[Sequence[Frame]], Mapping[int, Any]] | None:
    """Gives the lines by the number of a frame."""
    if not parts or read is None:
        return None
    metrics = [metric.name for metric in graph.metrics]

    def numbered(frames: Sequence[Frame]) -> Mapping[int, Any]:
        found = source_lines.lines(parts, metrics, read)
        shown = {(printable(name).strip(), printable(file)): lines for (name, file), lines in found.items()}
        return {at: shown[key] for at, frame in enumerate(frames) if (key := function_of(frame)) in shown}

    return numbered


def function_of(frame: Frame) -> Function:
    """The name and the file of a box."""
    file, _, line = frame.place.rpartition(":")
    return frame.name, file if file and line.replace("-", "").isdigit() else frame.place


def _quiet(subject: ViewData, graph: Graph, scale: str) -> tuple[list[list[Frame]] | None, str]:
    """(the frames of each metric that changed by noise only, what the noise was estimated from)."""
    replicates = [side.replicates for side in subject.sides]
    found: list[list[Frame]] = []
    reasons: list[str] = []
    for metric in graph.metrics:
        p_values, reason = _p_values(subject, metric, replicates, scale)
        reasons += [reason] if reason else []
        quiet = set() if p_values is None else {_shown(function) for function in noise.noise(p_values)}
        found.append([frame for frame in graph.frames if function_of(frame) in quiet])
    return (found, f"grey: {reasons[0]}") if reasons else (None, "")


def _shown(function: Function) -> Function:
    return printable(function[0]).strip(), printable(function[1])


def _p_values(
    subject: ViewData, metric: Metric, replicates: Sequence[Sequence[Profile]], scale: str
) -> tuple[dict[Function, float] | None, str]:
    assert subject.pair is not None
    factors = _factors(metric, subject.pair, scale)
    p_values = noise.by_replicates(replicates[0], replicates[1], metric.name, factors[1] / (factors[0] or 1))
    if p_values is not None:
        counts = " and ".join(str(len(side)) for side in replicates)
        return p_values, f"changes that {counts} profiles of the two versions do not tell from noise"
    if metric.unit or metric.name != "samples":
        return None, ""
    return (
        noise.by_counting(*subject.pair, metric.name, factors),
        "changes within the noise of counting samples (there are no two profiles of both versions)",
    )


def _factors(metric: Metric, pair: tuple[Profile, Profile], scale: str) -> tuple[float, float]:
    """What makes the amounts that are compared of those of each profile."""
    if scale == _SCALES["one run"]:
        before, after = (profile.measured_runs or 1 for profile in pair)
        return 1 / before, 1 / after
    if scale and metric.sides is not None:
        totals = [sum(profile.tables["resources"][metric.name]) for profile in pair]  # type: ignore[arg-type]
        return 1.0, totals[0] / totals[1] if totals[1] else 1.0
    return 1.0, 1.0
