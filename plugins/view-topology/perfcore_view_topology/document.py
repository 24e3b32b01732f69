"""One JSON document with what the page and the text are drawn from.

    {"format": 1,
     "metrics": [{"name": "task-clock", "unit": "ns", "about": "", "estimate": false}],
     "sides": [{"profile": "0@p", "command": "./solver", "runs": 3,
       "whole": {"cpus_utilized": 1.7},
       "threads": [{"cpu": 0, "core": 0, "die": 0, "package": 0, "numa": 0, "l1d": "0", "l1i": "0", "l2": "0",
                    "l3": "0-1", "kind": null,
                    "values": {"task-clock": {"value": 1.5e7, "least": 1e7, "most": 2e7, "runs": 3, "share": 0.5}}}],
       "unknown": [{"cpu": null, "values": {}}]}],
     "moved": {"task-clock": [{"level": "package", "share": 0.4,
       "parts": [{"part": "package 0", "before": 1.0, "after": 0.6}]}]}}

`value` is the mean of the runs for an event; for what is computed, what all runs together give. A metric that is not
in `values` was not counted there, which is not 0. `unknown` is what was counted at no CPU of the machine; its CPU is
null where none is known. `moved` is there for two profiles.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs

from perfcore_view_topology.readings import NO_CPU

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore_view_topology.scene import Scene, Side

FORMAT = 1


def write(scene: Scene, output: Output) -> None:
    """The document."""
    metrics = [
        {"name": metric.name, "unit": metric.unit, "about": metric.about, "estimate": metric.estimate}
        for metric in scene.metrics
    ]
    content: dict[str, Any] = {"format": FORMAT, "metrics": metrics, "sides": [_side(side) for side in scene.sides]}
    if len(scene.sides) > 1:
        content["moved"] = {metric.name: _moved(scene, metric.name) for metric in scene.metrics}
    output.write(json.dumps(content, indent=1) + "\n")


def _side(side: Side) -> dict[str, Any]:
    return {
        "profile": side.name,
        "command": side.command,
        "runs": side.readings.runs,
        "whole": dict(side.readings.whole),
        "threads": [{**attrs.asdict(cpu), "values": _values(side, cpu.cpu)} for cpu in side.machine.cpus.values()],
        "unknown": [{"cpu": None if cpu == NO_CPU else cpu, "values": _values(side, cpu)} for cpu in side.unknown],
    }


def _values(side: Side, cpu: int) -> dict[str, Any]:
    return {
        metric.name: {**attrs.asdict(reading), "share": metric.share([cpu])}
        for metric in side.readings.metrics
        if (reading := metric.reading([cpu]))
    }


def _moved(scene: Scene, metric: str) -> list[dict[str, Any]]:
    return [
        {"level": moved.level, "share": moved.share, "parts": [attrs.asdict(shift) for shift in moved.shifts]}
        for moved in scene.moved(metric)
    ]
