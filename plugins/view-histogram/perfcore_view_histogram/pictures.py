"""Strip, density and cumulative distribution of the groups of a panel, one above the other on one axis, as SVG."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from perfcore_view_kit import svg
from perfcore_view_kit.palette import DASHES, LIGHT
from perfcore_view_kit.runs import median_interval
from perfcore_view_kit.svg import Axis

from perfcore_view_histogram.density import bandwidth, density, thinned
from perfcore_view_histogram.groups import Group, Panel

_LEFT, _RIGHT = 150, 14  # pixels
_ROW, _CURVE, _GAP = 34, 110, 26
_MOST = 500
"""Dots of a group: more of them hide one another. Of more runs so many are drawn, evenly by rank."""
_PLACES = 240  # of a density: one for three pixels


def picture(panel: Panel, *, width: int, alone: bool = False) -> str:
    """The three pictures. Every text is one that can be shown as it is."""
    strip = _ROW * len(panel.groups)
    height = 20 + strip + 2 * (_GAP + _CURVE) + 30
    values = [value for group in panel.groups for value in (group.values[0], group.values[-1])]
    x = Axis(*svg.span(values), _LEFT, width - _RIGHT)
    ticks = x.ticks(max(2, (width - _LEFT) // 110), panel.unit)
    bottoms = 20 + strip, 20 + strip + _GAP + _CURVE, height - 30
    parts = [*_axis(x, ticks, 20, bottoms), svg.text(10, 14, "each run, median and its interval")]
    for number, group in enumerate(panel.groups):
        parts += _strip(group, number, x, 20 + _ROW * number + _ROW / 2)
    parts.append(svg.text(10, bottoms[0] + _GAP - 6, "density"))
    parts += _densities(panel, x, bottoms[0] + _GAP, bottoms[1])
    parts.append(svg.text(10, bottoms[1] + _GAP - 10, "share of the runs up to a value"))
    parts += _shares(panel, x, bottoms[1] + _GAP, bottoms[2])
    title = f"Runs of {panel.title}. {panel.finding}"
    return svg.picture(width, height, title, parts, alone=alone)


def _axis(x: Axis, ticks: list[tuple[float, str]], top: float, bottoms: tuple[float, float, float]) -> Iterator[str]:
    for value, words in ticks:
        at = round(x(value)) + 0.5
        yield svg.line(at, top, at, bottoms[-1], "grid")
        yield svg.text(at, bottoms[-1] + 16, words, "middle")
    for bottom in bottoms:
        yield svg.line(x.begin, bottom, x.end, bottom, "grid")


def _name(number: int) -> str:
    return f"series-{number + 1}"


def _strip(group: Group, number: int, x: Axis, y: float) -> Iterator[str]:
    color, name = LIGHT[_name(number)], _name(number)
    yield svg.text(_LEFT - 10, y + 4, group.name[:22], "end", color=svg.LIGHT_TEXT)
    for order, value in enumerate(thinned(group.values, _MOST)):
        # By rank and name, not by chance: the same data make the same picture.
        jitter = zlib.crc32(f"{number} {order}".encode()) % 17 - 8
        yield svg.dot(x(value), y + jitter, name, color=color, hollow=True, radius=2.2)
    interval = median_interval(group.values)
    if interval is not None:
        low, high = (x(end) for end in interval)
        yield svg.line(low, y, high, y, "level", color=svg.LIGHT_TEXT, more=' stroke-width="2"')
    at = x(group.median)
    yield svg.line(at, y - 13, at, y + 13, "level", color=svg.LIGHT_TEXT, more=' stroke-width="3"')


def _densities(panel: Panel, x: Axis, top: float, bottom: float) -> Iterator[str]:
    places = [x.low + (x.high - x.low) * at / (_PLACES - 1) for at in range(_PLACES)]
    curves = [density(group.values, places, bandwidth(group.values)) for group in panel.groups]
    highest = max((height for curve in curves for height in curve), default=0.0)
    y = Axis(0.0, highest * 1.05 or 1.0, bottom, top)
    for number, (group, curve) in enumerate(zip(panel.groups, curves, strict=True)):
        color, name = LIGHT[_name(number)], _name(number)
        if not any(curve):
            # Runs that do not differ have no density: they are one line.
            at = x(group.median)
            yield svg.path([(at, bottom), (at, top)], name, color=color, dash=DASHES[number])
            continue
        points = [(x(place), y(height)) for place, height in zip(places, curve, strict=True)]
        yield svg.area([(points[0][0], bottom), *points, (points[-1][0], bottom)], f"band {name}", color=color)
        yield svg.path(points, name, color=color, dash=DASHES[number])


def _shares(panel: Panel, x: Axis, top: float, bottom: float) -> Iterator[str]:
    y = Axis(0.0, 1.0, bottom, top)
    for share in (0.0, 0.5, 1.0):
        yield svg.text(_LEFT - 8, y(share) + 4, f"{share:.0%}".replace("%", " %"), "end")
    for number, group in enumerate(panel.groups):
        points = [(x.begin, y(0))]
        kept = thinned(group.values, _MOST)
        for order, value in enumerate(kept, 1):
            points += [(x(value), points[-1][1]), (x(value), y(order / len(kept)))]
        points.append((x.end, y(1)))
        yield svg.path(points, _name(number), color=LIGHT[_name(number)], dash=DASHES[number])
