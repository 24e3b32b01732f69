"""The stacks of a profile with one metric, as they are counted."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.profile.stacks import NOWHERE, Stacks, has_stacks, references
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.profile.table import Column

Frame = tuple[str, str, int | None, int | None]
"""Name, file, line and first line."""
_SECOND = 1_000_000_000  # ns
_PARTS = 1_000_000  # of a unit, for metrics that are no whole numbers


@attrs.frozen
class ProfileTree:
    """Stacks, parents first: `parents[node]` is a node or -1, `node_frames[node]` a number of a frame. `amounts` are
    whole numbers by node, in `unit` times `scale`; those without a stack are under -1."""

    parents: Sequence[int]
    node_frames: Sequence[int]
    all_frames: Sequence[Frame]
    amounts: Mapping[int, int]
    metric: str
    unit: str
    scale: float = 1.0

    def nodes(self) -> Iterator[tuple[int, int]]:
        """(parent, frame) of each stack."""
        return zip(self.parents, self.node_frames, strict=True)

    def frames(self) -> list[Frame]:
        return list(self.all_frames)


def profile_tree(profile: Profile, metric: str | None) -> ProfileTree:
    """The stacks with what they took of a metric, by default of the first. NotFoundError where there are none."""
    if "resources" not in profile.tables or not has_stacks(profile.tables):
        raise NotFoundError(
            "the profile has no call stacks, so nothing is known of lines",
            hint="`perf collect sample -- COMMAND` records some",
        )
    resources = profile.tables["resources"]
    rows = references(resources, "stack", profile.tables)
    column = _metric(resources.values() or resources.columns, metric)
    stacks = Stacks.of(profile.tables)
    order, of_old = _parents_first(stacks.parent)
    unit = column.unit or profile.header.units.get(column.name, "")
    factor, unit, scale = _whole(column, unit)
    amounts: dict[int, int] = {}
    for stack, value in zip(rows, column, strict=True):
        if isinstance(value, int | float) and math.isfinite(value) and value:
            node = stack if of_old is None or stack == NOWHERE else of_old[stack]
            amounts[node] = amounts.get(node, 0) + round(value * factor)
    if min(amounts.values(), default=0) < 0:
        raise UsageError(f"'{printable(column.name)}' has amounts below zero, as of a difference: annotate its sides")
    if not sum(amounts.values()):
        raise NotFoundError(f"the profile has nothing of '{printable(column.name)}'")
    frames = _frames(stacks)
    parents: Sequence[int] = stacks.parent
    node_frames: Sequence[int] = stacks.frame
    if order is not None and of_old is not None:
        parents = [NOWHERE if (parent := stacks.parent[old]) == NOWHERE else of_old[parent] for old in order]
        node_frames = [stacks.frame[old] for old in order]
    unknown = len(frames) - 1
    if NOWHERE in node_frames:
        node_frames = [unknown if frame == NOWHERE else frame for frame in node_frames]
    return ProfileTree(parents, node_frames, frames, amounts, printable(column.name), printable(unit), scale)


def _metric(columns: Sequence[Column], name: str | None) -> Column:
    metrics = [column for column in columns if column.dtype in ("i64", "u64", "f64") and column.name != "stack"]
    for column in metrics:
        if name is None or column.name == name:
            return column
    names = [printable(column.name) for column in metrics]
    if name is None:
        raise NotFoundError("the profile has no amounts")
    hint = nearest(printable(name), names) or f"it has {', '.join(names)}"
    raise UsageError(f"the profile has no metric '{printable(name)}'", hint=hint)


def _whole(column: Column, unit: str) -> tuple[float, str, float]:
    """(what values are multiplied by to be whole, their unit then, what they are multiplied by to be shown)."""
    if column.dtype != "f64":
        return 1, unit, 1.0
    if unit == "s":
        return _SECOND, "ns", 1.0
    return _PARTS, unit, 1 / _PARTS


def _frames(stacks: Stacks) -> list[Frame]:
    """The frames, and behind them one that is not known."""
    frames: list[Frame] = []
    for function, offset in zip(stacks.function, stacks.offsets, strict=True):
        if function == NOWHERE:
            frames.append(("(unknown)", "", None, None))
            continue
        first = stacks.first_lines[function]
        line = None if offset is None else (first or 0) + offset
        frames.append((stacks.names[function], stacks.files[function], line, first))
    return [*frames, ("(unknown)", "", None, None)]


def _parents_first(parents: Sequence[int]) -> tuple[list[int] | None, list[int] | None]:
    """(old numbers in their new order, new numbers by old ones); None where they are in order."""
    if all(map(operator.lt, parents, range(len(parents)))):
        return None, None
    depths = [0] * len(parents)
    for node in range(len(parents)):
        path = []
        at = node
        while at != NOWHERE and not depths[at]:
            path.append(at)
            at = parents[at]
        depth = 0 if at == NOWHERE else depths[at]
        for step in reversed(path):
            depth += 1
            depths[step] = depth
    order = sorted(range(len(parents)), key=depths.__getitem__)
    of_old = [0] * len(parents)
    for new, old in enumerate(order):
        of_old[old] = new
    return order, of_old
