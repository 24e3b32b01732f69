"""What stands below the picture: what moved where, and the numbers of each thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.text import align, clip, plural
from perfcore_view_topology import words
from perfcore_view_topology.machine import CACHES, WORDS
from perfcore_view_topology.pen import BOLD, DIM, Text
from perfcore_view_topology.readings import NO_CPU
from perfcore_view_topology.rows import DETAILED
from perfcore_view_topology.scene import SIDES, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perfcore_view_topology.pen import Pen
    from perfcore_view_topology.readings import Metric
    from perfcore_view_topology.scene import Moved, Scene, Side

# Rows of the table and of what moved, which together with the picture are about two screens; and columns of a label.
ROWS = 32
_SHIFTS, _LABEL = 8, 36
# Levels that usually have so many parts that what moved is told of all together.
_FINE = ("l2", "l1", "core", "thread")


def write_moved(scene: Scene, drawing: Pen) -> None:
    """What moved where, by the levels at which something can; nothing for one profile."""
    shifts = scene.moved(drawing.metric.name)
    if not shifts:
        return
    drawing.line()
    drawing.line(Text("what moved where", BOLD), Text(f" (shares of {drawing.metric.name})", DIM))
    lines = [row for moved in shifts for row in _told(moved)]
    for line in align([["", *SIDES, "points"], *lines], right=(1, 2, 3)):
        drawing.line(Text(line))


def _told(moved: Moved) -> list[list[str]]:
    rows = [[f"{moved.words}: {moved.told}"]]
    changed = [shift for shift in moved.shifts if shift.before != shift.after]
    if moved.level in _FINE and len(moved.shifts) > DETAILED:
        return rows
    largest = sorted(changed, key=lambda shift: -abs(shift.after - shift.before))[:_SHIFTS]
    for shift in changed:
        if shift in largest:
            shares = [words.share(shift.before), words.share(shift.after), words.points(shift.before, shift.after)]
            rows.append([f"  {clip(shift.part, _LABEL)}", *shares])
    if len(changed) > len(largest):
        rows.append([f"  and {len(changed) - len(largest)} more"])
    return rows


def write_table(scene: Scene, drawing: Pen, head: int | None) -> None:
    """The numbers of each thread. Where not all are shown, those that have most, or changed most."""
    most = head if head is not None else ROWS if drawing.output.width is not None else None
    for sides in [scene.sides] if len(scene.sides) == 1 or scene.comparable else [(side,) for side in scene.sides]:
        cpus = [*sides[0].machine.cpus, *sorted({cpu for side in sides for cpu in side.unknown})]
        all_shown = most is None or len(cpus) <= most
        visible_cpus = cpus if all_shown else sorted(cpus, key=_interest(sides, drawing.metric))[:most]
        if visible_cpus:
            drawing.line()
            _write_rows(sides, visible_cpus, scene.metrics if len(sides) == 1 else (drawing.metric,), drawing)
        if not all_shown:
            remainder = plural(len(cpus) - len(visible_cpus), "more thread")
            drawing.output.say(f"{remainder}; --head {len(cpus)} shows all, in the order of their numbers")


def _write_rows(sides: Sequence[Side], cpus: Sequence[int], metrics: Sequence[Metric], drawing: Pen) -> None:
    places = _places(sides[0])
    heads = [metric.name for metric in metrics] if len(sides) == 1 else [*SIDES, "change"]
    titles = ["CPU", *(name for name, _ in places), *(clip(name, _LABEL) for name in heads)]
    rows = [
        [_number(cpu, sides[0]), *(position_of(cpu) for _, position_of in places), *_cells(sides, cpu, metrics)]
        for cpu in cpus
    ]
    title, *lines = align([titles, *rows], right=(0, *range(1 + len(places), len(titles))))
    drawing.line(Text(title, BOLD))
    for line in lines:
        drawing.line(Text(line))


def _interest(sides: Sequence[Side], metric: Metric) -> Callable[[int], tuple[float, int]]:
    def key(cpu: int) -> tuple[float, int]:
        values = [reading.value if (reading := side.reading(metric.name, [cpu])) else 0.0 for side in sides]
        return -abs(values[-1] - (values[0] if len(values) > 1 else 0)), cpu

    return key


def _cells(sides: Sequence[Side], cpu: int, metrics: Sequence[Metric]) -> list[str]:
    if len(sides) == 1:
        return [words.amount(sides[0].reading(metric.name, [cpu]), metric.unit) for metric in metrics]
    readings = [side.reading(metrics[0].name, [cpu]) for side in sides]
    return [*(words.amount(reading, metrics[0].unit) for reading in readings), words.change(*readings)]


def _number(cpu: int, side: Side) -> str:
    """The CPU's number; of one that the machine does not have, that it is unknown."""
    if cpu in side.machine.cpus:
        return str(cpu)
    return UNKNOWN if cpu == NO_CPU else f"{UNKNOWN} {cpu}"


def _places(side: Side) -> list[tuple[str, Callable[[int], str]]]:
    """The columns that say where a thread is, those that tell threads apart."""
    machine = side.machine

    def numbered(level: str) -> Callable[[int], str]:
        mark = "#" if level in CACHES else ""
        numbers = {
            cpu: f"{mark}{component.number}"
            for cpu, parts in machine.parts.items()
            for component in parts
            if component.level == level
        }
        return lambda cpu: numbers.get(cpu, "-")

    columns = [(WORDS[level], numbered(level)) for level in machine.telling]
    if machine.kinds:
        kinds = {cpu.cpu: clip(cpu.kind or "-", _LABEL) for cpu in machine.cpus.values()}
        columns.append(("kind", lambda cpu: kinds.get(cpu, "-")))
    return columns
