"""The page: one HTML file that needs nothing else, with a script of our own that draws."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import attrs
from perfcore_view_kit import page as document
from perfcore_view_kit.colors import ink

from perfcore.text import quantity
from perfcore_view_topology import palette
from perfcore_view_topology.machine import listed
from perfcore_view_topology.scene import SIDES, cpu_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore_view_topology.palette import Palette
    from perfcore_view_topology.readings import Metric
    from perfcore_view_topology.scene import Moved, Scene, Side

FORMAT = 1
_PACKAGE = "perfcore_view_topology"
_SCRIPTS = ("words.js", "page.js")
_DIGITS = 9


def page(scene: Scene, metric: Metric, *, title: str) -> str:
    """The whole file, with this metric drawn first. Every text must be one that can be shown as it is."""
    values = {
        "title": html.escape(title),
        "about": html.escape(_about(scene)),
        "data": document.embedded(_data(scene, metric)),
    }
    return document.page(
        title,
        document.filled(document.source(_PACKAGE, "page.html"), values),
        [document.source(_PACKAGE, name) for name in _SCRIPTS],
        styles=[document.source(_PACKAGE, "page.css")],
    )


def _about(scene: Scene) -> str:
    if len(scene.sides) == 1:
        return "; ".join((scene.sides[0].name, *_facts(scene.sides[0])))
    same = "" if scene.comparable else "; the machines differ, so threads of one number are not compared"
    return " and ".join(f"{word} {side.name}" for side, word in zip(scene.sides, SIDES, strict=True)) + same


def _facts(side: Side) -> list[str]:
    return [*side.facts, *(f"{name} {quantity(value)}" for name, value in side.readings.whole)]


def _data(scene: Scene, metric: Metric) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "metrics": [_metric(scene, metric) for metric in scene.metrics],
        "start": scene.metrics.index(metric),
        "comparable": scene.comparable,
        "sides": [_side(side, scene, word) for side, word in zip(scene.sides, SIDES, strict=False)],
        "palettes": {"light": _colors(palette.LIGHT), "dark": _colors(palette.DARK)},
    }


def _metric(scene: Scene, metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "unit": metric.unit,
        "about": metric.about,
        "estimate": metric.estimate,
        "scale": list(map(_rounded, scene.scale(metric.name))),
        "moved": [_moved(moved) for moved in scene.moved(metric.name)],
    }


def _moved(moved: Moved) -> dict[str, Any]:
    shifts = [[shift.part, _rounded(shift.before), _rounded(shift.after)] for shift in moved.shifts]
    return {"level": moved.words, "told": moved.told, "shifts": shifts}


def _side(side: Side, scene: Scene, word: str) -> dict[str, Any]:
    machine = side.machine
    numbers = [*machine.cpus, *side.unknown]
    thread_of = {cpu: at for at, cpu in enumerate(numbers)}
    boxes = [box for outer in machine.boxes for box in outer.walk()]
    box_of = {id(box): at for at, box in enumerate(boxes)}
    return {
        "word": word if len(scene.sides) > 1 else "",
        "name": side.name,
        "command": side.command,
        "facts": _facts(side),
        "runs": side.readings.runs,
        "threads": [_thread(side, cpu, scene.metrics) for cpu in numbers],
        "boxes": [
            {
                "label": box.label,
                "parts": " · ".join(component.label for component in box.parts),
                "level": "core" if box.is_core else box.parts[0].level,
                "core": box.is_core,
                "cpus": f"CPU {listed(box.cpus)}",
                "inner": [box_of[id(inner)] for inner in box.inner],
                "threads": [thread_of[cpu] for cpu in box.loose],
                "values": _values(side, box.cpus, scene.metrics),
            }
            for box in boxes
        ],
        "outer": [box_of[id(box)] for box in machine.boxes],
        "loose": [thread_of[cpu] for cpu in machine.loose],
        "unknown": [thread_of[cpu] for cpu in side.unknown],
        "kinds": [
            {"label": f"{kind} cores", "cpus": f"CPU {listed(cpus)}", "values": _values(side, cpus, scene.metrics)}
            for kind, cpus in machine.by_kind().items()
        ],
    }


def _thread(side: Side, cpu: int, metrics: Sequence[Metric]) -> dict[str, Any]:
    cpu_info = side.machine.cpus.get(cpu)
    return {
        "cpu": cpu,
        "label": cpu_label(cpu),
        "place": side.machine.place(cpu) if cpu_info else "not in the topology of the machine",
        "kind": (cpu_info.kind or "") if cpu_info else "",
        "values": _values(side, [cpu], metrics),
    }


def _values(side: Side, cpus: Sequence[int], metrics: Sequence[Metric]) -> list[list[float | None] | None]:
    """For each metric the value, the least and the most of a run, how many runs, the share; None for no value."""
    readings: list[list[float | None] | None] = []
    for metric in metrics:
        reading, share = side.reading(metric.name, cpus), side.share(metric.name, cpus)
        facts = (*attrs.astuple(reading), share) if reading else ()
        readings.append([None if fact is None else _rounded(fact) for fact in facts] or None)
    return readings


def _rounded(value: float) -> float:
    """To nine digits, which is more than is shown; a whole number is exact."""
    return int(value) if float(value).is_integer() else float(f"{value:.{_DIGITS}g}")


def _colors(found: Palette) -> dict[str, Any]:
    return {
        kind: [[color, ink(color)] for color in colors]
        for kind, colors in (("amounts", found.amounts), ("changes", found.changes))
    }
