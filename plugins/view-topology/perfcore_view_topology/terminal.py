"""The machine as text: a line for each part, a cell or a bar for each thread, and a table."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import attrs

from perfcore.text import align, clip, plural, quantity, width
from perfcore_view_topology import words
from perfcore_view_topology.scene import SIDES, cpu_label
from perfcore_view_topology.machine import CACHES, PLURALS, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from perfcore.hookspecs import Output
    from perfcore_view_topology.machine import Box
    from perfcore_view_topology.readings import Metric
    from perfcore_view_topology.scene import Scene, Side

ROWS = 32
_DETAILED = 16
"""A machine of so many threads has a line for each; a larger one a cell."""
_SMALL, _LINES = 4, 64
"""On a larger machine, parts of so many threads have no line of their own, nor those that would have more lines."""
_MOST = 8
_WIDE, _BAR, _LABEL = 100, 24, 36
_GAP = "  "
_FINE = ("l2", "l1", "core", "thread")
"""Levels of so many parts that what moved is told of all together."""
_OTHERS = {"kind": "kinds of cores", "thread": "threads"}
_BOLD, _DIM, _LESS, _MORE = "1", "2", "38;5;32", "38;5;172"
_HEAT = ("2", "38;5;109", "38;5;73", "38;5;37", "38;5;31", "38;5;32", "38;5;33", "38;5;63")


@attrs.frozen
class _Signs:
    """What a thread is drawn with, by how much of the largest value it has."""

    levels: str
    none: str
    bar: str


_BLOCKS = _Signs("▁▂▃▄▅▆▇█", "·", "█")
_ASCII = _Signs("_.:-+=*#", "?", "#")


@attrs.frozen
class _Text:
    """Text of one style on its way to the screen."""

    text: str
    style: str = ""


@attrs.frozen
class _Group:
    """Cells that stand together, and how far from those before."""

    gap: int
    cpus: tuple[int, ...]


@attrs.frozen
class _Row:
    """A line of the picture: what it is of, and the CPUs whose cells it has (groups of groups), or whose bar."""

    depth: int
    label: str
    cpus: tuple[int, ...]
    cells: tuple[_Group, ...] = ()
    bar: int | None = None


@attrs.frozen
class _Pen:
    """What lines are drawn with. No line is wider than `width`, where there is a terminal."""

    output: Output
    signs: _Signs
    metric: Metric
    scale: tuple[float, float]
    arrow: str

    @property
    def width(self) -> int:
        return self.output.width or _WIDE

    def line(self, *parts: _Text) -> None:
        """Write a line, cut where the terminal ends."""
        room, shown = self.output.width, ""
        for part in parts:
            text = part.text if room is None else clip(part.text, room) if room > 0 else ""
            room = room if room is None else room - width(text)
            shown += f"\x1b[{part.style}m{text}\x1b[0m" if self.output.color and part.style and text else text
        self.output.write(shown.rstrip() + "\n")

    def step(self, value: float) -> int:
        """0 for nothing, else 1 to the last level."""
        low, high = self.scale
        last = len(self.signs.levels) - 1
        return 0 if value == low else max(1, round(last * (value - low) / (high - low))) if high > low else 0

    def cell(self, side: Side, cpu: int) -> _Text:
        reading = side.reading(self.metric.name, [cpu])
        if reading is None:
            return _Text(self.signs.none, _DIM)
        step = self.step(reading.value)
        return _Text(self.signs.levels[step], _HEAT[step])

    def bar(self, side: Side, cpu: int, room: int) -> _Text:
        reading = side.reading(self.metric.name, [cpu])
        low, high = self.scale
        if reading is None:
            return _Text(self.signs.none.ljust(room), _DIM)
        length = round(room * (reading.value - low) / (high - low)) if high > low else 0
        if not length and reading.value > low:
            return _Text(self.signs.levels[1 if self.signs is _ASCII else 0].ljust(room), _HEAT[1])
        return _Text((self.signs.bar * length).ljust(room), _HEAT[self.step(reading.value)])


def write(scene: Scene, metric: Metric, output: Output, *, head: int | None, ascii: bool) -> None:
    """The picture, what moved, and the table."""
    signs = _ASCII if ascii else _BLOCKS
    pen = _Pen(output, signs, metric, scene.scale(metric.name), "->" if ascii else "→")
    _write_heading(scene, pen)
    if len(scene.sides) == 1 or scene.comparable:
        _write_picture(scene.sides, pen)
    else:
        for side, word in zip(scene.sides, SIDES, strict=True):
            pen.line()
            pen.line(_Text(f"{word}: {side.name}", _BOLD))
            _write_picture((side,), pen)
    _write_legend(pen)
    _write_moved(scene, pen)
    _write_table(scene, pen, head)


def _write_heading(scene: Scene, pen: _Pen) -> None:
    metric = pen.metric
    about = f" ({metric.about})" if metric.about else ""
    estimate = ", an estimate" if metric.estimate else ""
    pen.line(_Text(scene.title.replace("→", pen.arrow), _BOLD))
    pen.line(_Text(f"{metric.name}{about}{estimate}"))
    named = len(scene.sides) > 1
    for side, word in zip(scene.sides, SIDES, strict=False):
        whole = [f"{name} {quantity(value)}" for name, value in side.readings.whole]
        before = f"{word} {side.name}: " if named else ""
        for text in wrap(before + "; ".join((*side.facts, *whole)), max(pen.width, 20), subsequent_indent=_GAP * named):
            pen.line(_Text(text, _DIM))
    if named and not scene.comparable:
        pen.line(_Text("The machines differ, so threads of one number are not compared.", _DIM))


def _write_picture(sides: Sequence[Side], pen: _Pen) -> None:
    """The rows of one side, or of two sides of one machine."""
    first = sides[0]
    detailed = len(first.machine.cpus) <= _DETAILED
    small = 0 if detailed else max(_SMALL, len(first.machine.cpus) // _LINES)
    rows = [row for box in first.machine.boxes for row in _rows(box, 0, small)]
    rows += _threads(first.machine.loose, 0, "") if detailed else _flat(first.machine.loose)
    if len(first.machine.kinds) > 1:
        rows += [_Row(0, f"{kind} cores", cpus) for kind, cpus in first.machine.by_kind().items()]
    unknown = sorted({cpu for side in sides for cpu in side.unknown})
    if unknown:
        rows.append(_Row(0, "unknown", tuple(unknown)))
        rows += [_Row(1, cpu_label(cpu), (cpu,), bar=cpu) for cpu in unknown]
    labels = [f"{_GAP * row.depth}{row.label}" for row in rows]
    label = min(max(map(width, labels), default=0), _LABEL, pen.width // 2)
    numbers = [_numbers(sides, row, pen.metric) for row in rows]
    titles = [*SIDES, "change"] if len(sides) > 1 else ["", ""]
    wide = [max(map(width, column)) for column in zip(titles, *numbers, strict=True)]
    room = pen.width - label - sum(len(_GAP) + each for each in wide)
    room = max(1, min(_BAR if detailed else _WIDE, room // len(sides) - len(_GAP)))
    pen.line()
    if len(sides) > 1:
        heads = [*(word.ljust(room) for word in SIDES), *map(str.rjust, titles, wide)]
        pen.line(_Text(_GAP.join(["".ljust(label), *heads]), _DIM))
    for row, name, cells in zip(rows, labels, numbers, strict=True):
        drawn = [_drawn(side, row, pen, room) for side in sides]
        for at in range(max(len(lines) for lines in drawn)):
            parts = [_Text(clip(name, label).ljust(label) if at == 0 else " " * label, "" if row.bar is not None else _BOLD)]
            for lines in drawn:
                parts += [_Text(_GAP), *(lines[at] if at < len(lines) else [_Text(" " * room)])]
            if at == 0:
                for cell, space in zip(cells, wide, strict=True):
                    parts += [_Text(_GAP), _Text(" " * (space - width(cell)) + cell, _style(cell, row))]
            pen.line(*parts)


def _style(cell: str, row: _Row) -> str:
    if cell[:1] == "+" or cell == "new":
        return _MORE
    if cell[:1] == "-" and len(cell) > 1 or cell == "gone":
        return _LESS
    return "" if row.bar is not None else _DIM


def _numbers(sides: Sequence[Side], row: _Row, metric: Metric) -> list[str]:
    readings = [side.reading(metric.name, row.cpus) for side in sides]
    amounts = [words.amount(reading, metric.unit) for reading in readings]
    if len(sides) == 1:
        return [*amounts, words.share(sides[0].share(metric.name, row.cpus))]
    return [*amounts, words.change(*readings)]


def _rows(box: Box, depth: int, small: int) -> Iterator[_Row]:
    """A line for the box, and those for what is in it: its threads, or boxes of more threads than are `small`."""
    if small == 0:
        yield from _detailed(box, depth)
        return
    cells = tuple(_groups([inner for inner in box.inner if len(inner.cpus) <= small], box.loose))
    yield _Row(depth, box.label, box.cpus, cells)
    for inner in box.inner:
        if len(inner.cpus) > small:
            yield from _rows(inner, depth + 1, small)


def _detailed(box: Box, depth: int) -> Iterator[_Row]:
    if box.is_core and depth:
        yield from _threads(box.cpus, depth, box.label)
        return
    yield _Row(depth, box.label, box.cpus)
    for inner in box.inner:
        yield from _detailed(inner, depth + 1)
    yield from _threads(box.loose, depth + 1, "")


def _threads(cpus: Sequence[int], depth: int, label: str) -> Iterator[_Row]:
    for at, cpu in enumerate(cpus):
        before = f"{label}{_GAP}" if at == 0 else " " * (len(label) + len(_GAP))
        yield _Row(depth, f"{before if label else ''}{cpu_label(cpu)}", (cpu,), bar=cpu)


def _flat(cpus: Sequence[int]) -> list[_Row]:
    return [_Row(0, "threads", tuple(cpus), (_Group(0, tuple(cpus)),))] if cpus else []


def _groups(boxes: Sequence[Box], loose: Sequence[int], gap: int = 0) -> Iterator[_Group]:
    """The cells of boxes: a core's threads stand together, as do cores of one thread; what shares more stands
    further apart."""
    single = sorted([*loose, *(cpu for box in boxes if len(box.cpus) == 1 for cpu in box.cpus)])
    if single:
        yield _Group(gap, tuple(single))
    for box in boxes:
        if len(box.cpus) > 1 and box.is_core:
            yield _Group(1, box.cpus)
        elif len(box.cpus) > 1:
            first, *rest = _groups(box.inner, box.loose)
            yield _Group(2, first.cpus)
            yield from rest


def _drawn(side: Side, row: _Row, pen: _Pen, room: int) -> list[list[_Text]]:
    """The lines of the cells, or of the bar, each as wide as there is room."""
    if row.bar is not None:
        return [[pen.bar(side, row.bar, room)]]
    if not row.cells:
        return [[_Text(" " * room)]]
    lines: list[list[_Text]] = [[]]
    for group in row.cells:
        gap = group.gap if lines[-1] else 0
        if gap and len(lines[-1]) + gap + len(group.cpus) > room:
            lines.append([])
        elif gap:
            lines[-1] += [_Text(" ")] * gap
        for cpu in group.cpus:
            if len(lines[-1]) >= room:
                lines.append([])
            lines[-1].append(pen.cell(side, cpu))
    return [[*line, _Text(" " * (room - len(line)))] for line in lines]


def _write_legend(pen: _Pen) -> None:
    low, high = (quantity(value, pen.metric.unit) for value in pen.scale)
    levels = [_Text(sign, style) for sign, style in zip(pen.signs.levels, _HEAT, strict=True)]
    pen.line()
    pen.line(
        _Text("a thread: ", _DIM), _Text(f"{low} "), *levels, _Text(f" {high}"), _Text(f", {pen.signs.none} no value", _DIM)
    )


def _write_moved(scene: Scene, pen: _Pen) -> None:
    """What moved where, by the levels at which something can."""
    found = scene.moved(pen.metric.name)
    if not found:
        return
    pen.line()
    pen.line(_Text("what moved where", _BOLD), _Text(f" (shares of {pen.metric.name})", _DIM))
    rows = [["", *SIDES, "points"]]
    for moved in found:
        rows.append([f"{PLURALS.get(moved.level) or _OTHERS[moved.level]}: {words.share(moved.share)} moved", "", "", ""])
        if moved.level in _FINE or not moved.share:
            continue
        largest = sorted(moved.shifts, key=lambda shift: -abs(shift.after - shift.before))[:_MOST]
        kept = [shift for shift in moved.shifts if shift in largest and shift.before != shift.after]
        for shift in kept:
            shares = [words.share(shift.before), words.share(shift.after), words.points(shift.before, shift.after)]
            rows.append([f"{_GAP}{clip(shift.part, _LABEL)}", *shares])
        if len(moved.shifts) > len(kept):
            rows.append([f"{_GAP}and {len(moved.shifts) - len(kept)} more", "", "", ""])
    for line in align(rows, right=(1, 2, 3)):
        pen.line(_Text(line))


def _write_table(scene: Scene, pen: _Pen, head: int | None) -> None:
    """The numbers of each thread. Where there is no room for all, those that have most, or changed most."""
    tables = [scene.sides] if len(scene.sides) == 1 or scene.comparable else [(side,) for side in scene.sides]
    most = head if head is not None else ROWS if pen.output.width is not None else None
    for sides in tables:
        first = sides[0]
        cpus = [*first.machine.cpus, *sorted({cpu for side in sides for cpu in side.unknown})]
        shown = cpus if most is None or len(cpus) <= most else sorted(cpus, key=_interest(sides, pen.metric))[:most]
        if not shown:
            return
        places = _places(first)
        metrics = scene.metrics if len(sides) == 1 else (pen.metric,)
        heads = [metric.name for metric in metrics] if len(sides) == 1 else [*SIDES, "change"]
        rows = [["CPU", *(name for name, _ in places), *(clip(name, _LABEL) for name in heads)]]
        for cpu in shown:
            told = [place(cpu) for _, place in places]
            rows.append([_number(cpu), *told, *_cells(sides, cpu, metrics)])
        numbers = range(1 + len(places), len(rows[0]))
        pen.line()
        title, *lines = align(rows, right=(0, *numbers))
        pen.line(_Text(title, _BOLD))
        for line in lines:
            pen.line(_Text(line))
        if len(shown) < len(cpus):
            rest = plural(len(cpus) - len(shown), "more thread")
            pen.output.say(f"{rest}; --head {len(cpus)} shows all, in the order of their numbers")


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


def _number(cpu: int) -> str:
    return str(cpu) if cpu >= 0 else "-"


def _places(side: Side) -> list[tuple[str, Callable[[int], str]]]:
    """The columns that say where a thread is, those that tell threads apart."""
    machine = side.machine

    def numbered(level: str) -> Callable[[int], str]:
        mark = "#" if level in CACHES else ""

        def place(cpu: int) -> str:
            return next((f"{mark}{part.number}" for part in machine.parts.get(cpu, ()) if part.level == level), "-")

        return place

    found: list[tuple[str, Callable[[int], str]]] = []
    for level in machine.telling:
        found.append((WORDS[level], numbered(level)))
    if machine.kinds:
        found.append(("kind", lambda cpu: clip(machine.cpus[cpu].kind or "-", _LABEL) if cpu in machine.cpus else "-"))
    return found
