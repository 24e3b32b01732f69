"""The lines of the machine as text: which parts and threads have one of their own, and which share one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from perfcore_view_topology.scene import UNKNOWN, cpu_label

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perfcore_view_topology.machine import Box
    from perfcore_view_topology.scene import Side

DETAILED = 16
"""A machine of so many threads has a line for each; a larger one a cell."""
# On a larger machine, parts of so many threads have no line of their own, nor those that would make more lines.
_SMALL, _LINES = 4, 64


@attrs.frozen
class Group:
    """Cells that stand together, and how far from those before."""

    gap: int
    cpus: tuple[int, ...]


@attrs.frozen
class Row:
    """A line: what it is of, and the cells it has, or the thread whose bar it has."""

    depth: int
    label: str
    cpus: tuple[int, ...]
    cells: tuple[Group, ...] = ()
    bar: int | None = None

    @property
    def length(self) -> int:
        """How many columns the cells take on one line."""
        return sum(len(group.cpus) + group.gap * (at > 0) for at, group in enumerate(self.cells))


def rows(sides: Sequence[Side]) -> list[Row]:
    """The lines of one side, or of two sides of one machine."""
    machine = sides[0].machine
    detailed = len(machine.cpus) <= DETAILED
    # A core has at most four or eight threads; what is left has about 64 lines, whatever the size of the machine.
    small = 0 if detailed else max(_SMALL, len(machine.cpus) // _LINES)
    layout_rows = [row for box in machine.boxes for row in _rows(box, 0, small)]
    if detailed:
        layout_rows += _threads(machine.loose, 0, "")
    elif machine.loose:
        layout_rows.append(Row(0, "threads", machine.loose, (Group(0, machine.loose),)))
    if len(machine.kinds) > 1:
        layout_rows += [Row(0, f"{kind} cores", cpus) for kind, cpus in machine.by_kind().items()]
    unknown = tuple(sorted({cpu for side in sides for cpu in side.unknown}))
    if unknown:
        layout_rows.append(Row(0, UNKNOWN, unknown))
        layout_rows += [Row(1, cpu_label(cpu), (cpu,), bar=cpu) for cpu in unknown]
    return layout_rows


def _rows(box: Box, depth: int, small: int) -> Iterator[Row]:
    """A line for the box, and those for what is in it: its threads, or boxes of more threads than are `small`."""
    if small == 0:
        yield from _detailed(box, depth)
        return
    cells = tuple(_groups([inner for inner in box.inner if len(inner.cpus) <= small], box.loose))
    yield Row(depth, box.label, box.cpus, cells)
    for inner in box.inner:
        if len(inner.cpus) > small:
            yield from _rows(inner, depth + 1, small)


def _detailed(box: Box, depth: int) -> Iterator[Row]:
    if box.is_core and depth:
        yield from _threads(box.cpus, depth, box.label)
        return
    yield Row(depth, box.label, box.cpus)
    for inner in box.inner:
        yield from _detailed(inner, depth + 1)
    yield from _threads(box.loose, depth + 1, "")


def _threads(cpus: Sequence[int], depth: int, label: str) -> Iterator[Row]:
    before = f"{label}  " if label else ""
    for at, cpu in enumerate(cpus):
        yield Row(depth, (" " * len(before) if at else before) + cpu_label(cpu), (cpu,), bar=cpu)


def _groups(boxes: Sequence[Box], loose: Sequence[int], gap: int = 0) -> Iterator[Group]:
    """The cells of boxes: a core's threads stand together, as do cores of one thread; what shares more stands
    further apart."""
    single = sorted([*loose, *(cpu for box in boxes if len(box.cpus) == 1 for cpu in box.cpus)])
    if single:
        yield Group(gap, tuple(single))
    for box in boxes:
        if len(box.cpus) > 1 and box.is_core:
            yield Group(1, box.cpus)
        elif len(box.cpus) > 1:
            first, *others = _groups(box.inner, box.loose)
            yield Group(2, first.cpus)
            yield from others
