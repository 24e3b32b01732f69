"""The colours of threads, made in OKLCH: a scale of amounts, and one of changes, with text that can be read on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs
from perfcore_view_kit.colors import oklch_hex

if TYPE_CHECKING:
    from collections.abc import Sequence

Point: TypeAlias = tuple[float, float, float]
"""Lightness, chroma and hue."""

STEPS = 16
"""Steps of the scale of amounts above 0, and of the scale of changes on each side of "the same"."""


@attrs.frozen
class Palette:
    """Colours as `#rrggbb`: of amounts from 0 up, of changes from less over the same to more."""

    amounts: Sequence[str]
    changes: Sequence[str]


def _palette(amounts: Sequence[Point], less: Point, same: float, more: Point) -> Palette:
    """`same` is how light the grey between less and more is."""
    falling, rising = ((less, (same, 0, less[2])), ((same, 0, more[2]), more))
    return Palette(_scale(amounts, STEPS), [*_scale(falling, STEPS)[:-1], *_scale(rising, STEPS)])


def _scale(points: Sequence[Point], steps: int) -> list[str]:
    """Colours from the first point to the last, each part of the way as long."""
    colors = []
    # Equal steps in OKLCH look equally large, which those in RGB do not.
    for step in range(steps + 1):
        at = step / steps * (len(points) - 1)
        segment = min(int(at), len(points) - 2)
        colors.append(oklch_hex(*_mixed(points[segment], points[segment + 1], at - segment)))
    return colors


def _mixed(one: Point, other: Point, share: float) -> Point:
    light, chroma, hue = (x + (y - x) * share for x, y in zip(one, other, strict=True))
    return light, chroma, hue


LIGHT = _palette(
    ((0.955, 0.015, 190), (0.80, 0.10, 205), (0.60, 0.14, 245), (0.42, 0.17, 275)),
    (0.62, 0.14, 250),
    0.93,
    (0.70, 0.16, 55),
)
DARK = _palette(
    ((0.29, 0.025, 275), (0.46, 0.14, 265), (0.66, 0.14, 235), (0.90, 0.10, 190)),
    (0.62, 0.15, 252),
    0.33,
    (0.70, 0.15, 55),
)
