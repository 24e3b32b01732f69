"""The call stacks of a profile as one tree with amounts."""

from __future__ import annotations

import functools
import math
import operator
from array import array
from collections import Counter
from itertools import compress, islice, repeat
from typing import TYPE_CHECKING, TypeAlias

from perfcore_sample_kit.samples import PROCESS, THREAD, Samples, positions, times
from perfcore_table_kit.stack_union import join
from perfcore_view_kit.form import printable

from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.model.record import Record, replace
from perfcore.profile.relative import leaps, ramp
from perfcore.profile.stacks import NAMES, NOWHERE, Stacks, has_stacks, reached, references
from perfcore_view_flamegraph.calls import ROOT, Calls, Number, merged, walked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfcore.model import Profile
    from perfcore.profile.table import Column, Table

ALL, UNKNOWN, NO_STACK, SMALLER = "all", "[unknown]", "[no stack]", "[smaller]"
SIDES = ("baseline", "target")


class Frame(Record, frozen=True):
    """What a box says: the function, and its file with the line. Both can be shown as they are."""

    name: str
    place: str = ""


class Metric(Record, frozen=True):
    """What each node took itself; the name and the unit can be shown as they are. In a difference `sides` are the
    amounts of the baseline and of the target, and `own` is the larger of both, so that removed code keeps its width.
    In a history `versions` are those of each version, and `own` is the largest."""

    name: str
    unit: str
    own: Sequence[Number]
    sides: tuple[Sequence[Number], Sequence[Number]] | None = None
    versions: tuple[Sequence[Number], ...] = ()

    @property
    def columns(self) -> tuple[Sequence[Number], ...]:
        """The amounts that the others follow from."""
        return self.versions or self.sides or (self.own,)


class SampleColumns(Record, frozen=True):
    """Samples in the order of time, those of a thread together: the node and the thread of each, and what it took of
    each metric. `threads` are names, `is_timed` says whether the order is known."""

    node: Sequence[int]
    thread: Sequence[int]
    amounts: Sequence[Sequence[Number]]
    threads: tuple[str, ...]
    is_timed: bool


class Graph(Record, frozen=True, dict=True):  # for the cached properties
    """A tree of calls. Node 0 is the whole; a node follows its parent, and its subtree follows it at once. `first` are
    the nodes that begin a path, `above` what these stand on; `counts` is how many nodes each frame has, where that is
    known."""

    frames: Sequence[Frame]
    first: Sequence[int]
    above: Sequence[int]
    frame: Sequence[int]
    metrics: tuple[Metric, ...]
    samples: SampleColumns | None = None
    counts: Mapping[int, int] | None = None

    def __len__(self) -> int:
        return len(self.frame)

    @functools.cached_property
    def parent(self) -> Sequence[int]:
        """What each node stands on."""
        parent = ramp(NOWHERE, len(self))
        for node, above in zip(self.first, self.above, strict=True):
            parent[node] = above
        return parent

    def totals(self, own: Sequence[Number]) -> list[Number]:
        """What each node took with all that it called."""
        total = list(own)
        # A node stands behind its parent, so one pass from the end adds up whole subtrees.
        parent = self.parent
        for node in range(len(total) - 1, ROOT, -1):
            total[parent[node]] += total[node]
        return total

    def metric(self, name: str | None) -> Metric:
        """The metric of this name, or the first. UsageError for one that is not there."""
        for metric in self.metrics:
            if name is None or metric.name == printable(name):
                return metric
        metric_names = [metric.name for metric in self.metrics]
        hint = "; ".join(
            filter(None, (nearest(printable(str(name)), metric_names), f"it has {', '.join(metric_names)}"))
        )
        raise UsageError(f"the profile has no metric {printable(str(name))!r}", hint=hint)


def graph(profile: Profile, *, lines: bool = False) -> Graph:
    """The tree of a profile: one box for each function below its callers, or with `lines` one for each line
    of it that was seen. NotFoundError where there are no stacks, or no amounts that have a width."""
    resources = _resources(profile)
    stacks = Stacks.of(profile.tables)
    rows = references(resources, "stack", profile.tables)
    amounts = _amounts(resources, rows, len(stacks), profile.header.units)
    has_samples = _has_samples(resources) and not any(len(columns) > 1 for _, _, columns in amounts)
    counts = profile.tables["stacks"]["frame"].counts
    made, node_of = _graph(stacks, counts, lines, amounts, _metric, places=has_samples)
    if node_of is None:
        return made
    return replace(made, samples=_samples(profile, made, rows, node_of))


def history(profiles: Sequence[Profile], *, lines: bool = False) -> Graph:
    """The trees of several profiles as one, with the amounts of each. It has the metrics that all of them have;
    NotFoundError where there is none."""
    stacks_tables, others = join(
        [{name: p.tables[name] for name in ("resources", *NAMES)} for p in map(_checked, profiles)]
    )
    stacks = Stacks.of(stacks_tables)
    of_version: list[dict[str, tuple[str, list[list[Number]]]]] = []
    for profile, tables in zip(profiles, others, strict=True):
        resources = tables["resources"]
        rows = references(resources, "stack", {**tables, **stacks_tables})
        amounts = _amounts(resources, rows, len(stacks), profile.header.units, may_be_zero=True)
        of_version.append({name: (unit, columns) for name, unit, columns in amounts if len(columns) == 1})
    names = [
        name
        for name in of_version[0]
        if all(name in version for version in of_version) and any(any(version[name][1][0]) for version in of_version)
    ]
    if not names:
        raise NotFoundError("the profiles have no metric that all of them have")
    columns: _Amounts = [
        (name, of_version[0][name][0], [version[name][1][0] for version in of_version]) for name in names
    ]
    return _graph(stacks, stacks_tables["stacks"]["frame"].counts, lines, columns, _versions)[0]


def _graph(
    stacks: Stacks,
    counts: Mapping[int, int],
    lines: bool,
    amounts: _Amounts,
    metric: _MakeMetric,
    *,
    places: bool = False,
) -> tuple[Graph, array[int] | None]:
    """The tree, and with `places` the node of each stack; the last item is that of what has none. `counts` is how many
    stacks have each row of `frames`."""
    frames, frame_of = _frames(stacks, lines)
    boxes = [*frames, Frame(ALL), Frame(UNKNOWN), Frame(NO_STACK)]
    sums = [column for _, _, columns in amounts for column in columns]
    walk = walked(merged(_planted(stacks, counts, frame_of, len(frames), sums, places)))
    moved = iter(walk.columns)
    metrics = (metric(name, unit, list(islice(moved, len(columns)))) for name, unit, columns in amounts)
    return Graph(boxes, walk.first, walk.above, walk.box, tuple(metrics), counts=walk.counts), walk.node_of


def _resources(profile: Profile) -> Table:
    """NotFoundError where the profile has no stacks."""
    resources = profile.table("resources")
    if resources is None or "stack" not in resources.names or not has_stacks(profile.tables):
        raise NotFoundError(
            "the profile has no call stacks", hint="`perf show PROFILE table` shows it; samplers record stacks"
        )
    return resources


def _checked(profile: Profile) -> Profile:
    _resources(profile)
    return profile


def _has_samples(resources: Table) -> bool:
    """Whether rows tell an order or a thread, so that the page can choose."""
    return (
        times(resources) is not None
        or positions(resources) is not None
        or any((column := resources.get(name)) is not None and column.role == "dimension" for name in (THREAD, PROCESS))
    )


def _samples(profile: Profile, made: Graph, rows: Sequence[int], node_of: Sequence[int]) -> SampleColumns:
    samples = Samples.of(profile)
    by_name = {printable(column.name): column for column in samples.metrics}
    columns = [by_name[metric.name] for metric in made.metrics]
    node: list[int] = []
    thread: list[int] = []
    amounts: list[list[Number]] = [[] for _ in columns]
    tracks = samples.tracks()
    for number, track in enumerate(tracks):
        for row in track.rows:
            taken = [_finite(column[row]) for column in columns]
            if not any(taken):
                continue  # a stack that took nothing has no node
            node.append(node_of[rows[row]])
            thread.append(number)
            for values, value in zip(amounts, taken, strict=True):
                values.append(value)
    names = (" ".join(filter(None, (track.process, track.thread))) or "without a name" for track in tracks)
    return SampleColumns(node, thread, amounts, tuple(map(printable, names)), samples.is_ordered)


def _finite(value: object) -> Number:
    return value if isinstance(value, int | float) and math.isfinite(value) else 0


def culled(whole: Graph, share: float) -> Graph:
    """The tree without what is less than this share of the whole in every metric. What is left out of a node
    stands below it as one box, `[smaller]`."""
    visible = bytearray(len(whole))
    for metric in whole.metrics:
        total = whole.totals(metric.own)
        least = share * total[ROOT]
        for node, amount in enumerate(total):
            visible[node] |= amount >= least
    # Also where the share is 100 %, and rounding makes the whole less than itself.
    visible[ROOT] = 1
    order, stands = _without(whole.parent, visible)
    frames = [*whole.frames, Frame(SMALLER)]
    positions = {node: at for at, (node, _) in enumerate(order) if node >= 0}

    def summed(values: Sequence[Number]) -> list[Number]:
        totals: list[Number] = [0] * len(order)
        for node, value in enumerate(values):
            totals[stands[node]] += value
        return totals

    parent = [positions.get(above, NOWHERE) for _, above in order]
    first = [ROOT, *leaps(parent)]
    return Graph(
        frames,
        first,
        list(map(parent.__getitem__, first)),
        [whole.frame[node] if node >= 0 else len(frames) - 1 for node, _ in order],
        tuple(
            (_versions if metric.versions else _metric)(metric.name, metric.unit, [summed(v) for v in metric.columns])
            for metric in whole.metrics
        ),
        None if whole.samples is None else replace(whole.samples, node=[stands[node] for node in whole.samples.node]),
    )


def _without(parent: Sequence[int], kept: Sequence[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """(the nodes that stay, each with its parent, -1 standing for the small ones of a parent; where in that list
    the amounts of each old node go)."""
    order: list[tuple[int, int]] = []
    stands = [0] * len(parent)
    small: dict[int, int] = {}
    for node, above in enumerate(parent):
        if kept[node]:
            stands[node] = len(order)
            order.append((node, above))
        elif not kept[above]:
            stands[node] = stands[above]
        else:
            if above not in small:
                small[above] = len(order)
                order.append((NOWHERE, above))
            stands[node] = small[above]
    return order, stands


_Amounts: TypeAlias = "list[tuple[str, str, list[list[Number]]]]"
_MakeMetric: TypeAlias = "Callable[[str, str, Sequence[Sequence[Number]]], Metric]"


def _amounts(
    resources: Table, rows: Sequence[int], stacks: int, units: Mapping[str, str], *, may_be_zero: bool = False
) -> _Amounts:
    """(name, unit, what each stack took; the last item is what has none): of a difference of both sides. In a history
    a version may have nothing."""
    amounts: _Amounts = []
    refused = []
    for column in resources.values():
        sides = [resources.get(f"{side} {column.name}") for side in SIDES]
        present_sides = [side for side in sides if side is not None]
        columns = present_sides if len(present_sides) == len(SIDES) else [column]
        if any(side_column.dtype not in ("i64", "u64", "f64") for side_column in columns):
            continue
        sums = [_sums(side_column, rows, stacks) for side_column in columns]
        totals = [sum(values) for values in sums]
        # A difference whose two sides are not beside it; where they are, they are what is drawn.
        if any(min(side_column.data) < 0 for side_column in columns if len(side_column)) and min(map(min, sums)) < 0:
            refused.append(f"{printable(column.name)!r} has amounts below zero, which have no width")
        elif not (any(totals) or may_be_zero) or not all(map(math.isfinite, totals)):
            refused.append(f"{printable(column.name)!r} amounts to {printable(str(totals[0]))}")
        else:
            unit = column.unit or units.get(column.name, "")
            amounts.append((printable(column.name), printable(unit), sums))
    if not amounts:
        raise NotFoundError("; ".join(refused) or "the profile has no amounts that could be drawn")
    return amounts


def _sums(column: Column, rows: Sequence[int], stacks: int) -> list[Number]:
    """What each stack took; what has none (-1) stands at the end. What is missing, endless or not a number has no
    width."""
    sums: list[Number] = [0] * (stacks + 1)
    value: Number | None
    for stack, value in zip(rows, column, strict=True):  # type: ignore[assignment]
        if value is not None and math.isfinite(value):
            sums[stack] += value
    return sums


def _frames(stacks: Stacks, lines: bool) -> tuple[list[Frame], list[int]]:
    """(the boxes there can be; which of them each row of `frames` is)."""
    frame_numbers: dict[tuple[str, str, int | None], int] = {}
    recursion: dict[int, list[int]] = {}
    frame_of = []
    for row, function in enumerate(stacks.function):
        name, file, line = UNKNOWN, "", None
        if function != NOWHERE:
            name = printable(stacks.names[function]).strip() or UNKNOWN
            file = printable(stacks.files[function])
            first, offset = stacks.first_lines[function], stacks.offsets[row]
            line = first if first is not None and not lines else None
            if line is None and offset is not None:
                line = (first or 0) + offset
        frame_number = frame_numbers.setdefault((name, file, line if lines else None), len(frame_numbers))
        frame_of.append(frame_number)
        if line is not None:
            recursion.setdefault(frame_number, []).append(line)
    frames = [Frame(name, _place(file, recursion.get(at, ()))) for at, (name, file, _) in enumerate(frame_numbers)]
    return frames, frame_of


def _place(file: str, lines: Sequence[int]) -> str:
    if not lines:
        return file
    first, last = min(lines), max(lines)
    return f"{file}:{first}" if first == last else f"{file}:{first}-{last}"


def _planted(
    stacks: Stacks,
    counts: Mapping[int, int],
    frame_of: Sequence[int],
    count: int,
    sums: Sequence[Sequence[Number]],
    places: bool,
) -> Calls:
    """The stacks that took something below the whole; what has no stack comes last. After the `count` boxes of
    functions come those of the whole, of unknown functions, and of what has no stack."""
    every, unknown, without = range(count, count + 3)
    box_of = [*frame_of, unknown]  # the last is that of the frame -1
    box = array("q", [every])
    box_counts: Counter[int] | None = None
    first, above = [ROOT], [NOWHERE]
    leap_rows = stacks.leaps
    if _are_all_used(sums, stacks.parent, leap_rows):
        node_of = array("q", [*range(1, len(stacks) + 1), ROOT] if places else ())
        first.extend(map(operator.add, leap_rows, repeat(1)))
        above.extend(map(operator.add, map(stacks.parent.__getitem__, leap_rows), repeat(1)))
        box_counts = Counter({every: 1})
        for frame, number in counts.items():
            box_counts[box_of[frame]] += number
        if NOWHERE in counts or box_of[:NOWHERE] != list(range(count)):
            box.fromlist(list(map(box_of.__getitem__, stacks.frame)))  # an array takes a list sooner than an iterator
        else:
            box.extend(stacks.frame)
        columns = [[0, *values[:NOWHERE]] for values in sums]
    else:
        used = sorted({row for values in sums for row in compress(range(len(stacks)), values)})
        order = reached(used, stacks.parent, stacks.leaps)
        node_of = array("q", [ROOT]) * (len(stacks) + 1)  # the last is that of the parent -1
        for node, stack in enumerate(order, 1):
            node_of[stack] = node
        parent = array("q", [NOWHERE, *map(node_of.__getitem__, map(stacks.parent.__getitem__, order))])
        first += leaps(parent)
        above.extend(map(parent.__getitem__, first[1:]))
        box.extend(map(box_of.__getitem__, map(stacks.frame.__getitem__, order)))
        columns = [[0, *map(values.__getitem__, order)] for values in sums]
    unattributed = [values[len(stacks)] for values in sums]
    if any(unattributed):
        if len(box) > 1:  # else it stands on the whole, the node before it
            first.append(len(box))
            above.append(ROOT)
        box.append(without)
        if box_counts is not None:
            box_counts[without] += 1
        for column, value in zip(columns, unattributed, strict=True):
            column.append(value)
        if places:
            node_of[NOWHERE] = len(box) - 1
    return Calls(first, above, box, count + 3, columns, node_of if places else None, box_counts)


def _are_all_used(sums: Sequence[Sequence[Number]], parent: Sequence[int], leap_rows: Sequence[int]) -> bool:
    """Whether each stack took something or is below one that did, as far as the ends of paths tell, and none stands on
    a later one: True is certain."""
    if not parent or not all(map(operator.lt, map(parent.__getitem__, leap_rows), leap_rows)):
        return False
    ends = [*map(operator.sub, leap_rows, repeat(1)), len(parent) - 1]
    return all(any(amounts) for amounts in zip(*(map(values.__getitem__, ends) for values in sums), strict=True))


def _metric(name: str, unit: str, columns: Sequence[Sequence[Number]]) -> Metric:
    if len(columns) == 1:
        return Metric(name, unit, columns[0])
    baseline, target = columns
    return Metric(name, unit, list(map(max, baseline, target)), (baseline, target))


def _versions(name: str, unit: str, columns: Sequence[Sequence[Number]]) -> Metric:
    return Metric(name, unit, list(map(max, *columns)) if len(columns) > 1 else columns[0], None, tuple(columns))
