"""The colours of threads, made in OKLCH: a scale of amounts, and one of changes, with text that can be read on each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

Point: TypeAlias = tuple[float, float, float]
"""Lightness, chroma and hue."""

STEPS = 16
"""Steps of the scale of amounts above 0, and of the scale of changes on each side of "the same"."""
# The better of both has a contrast of at least 4.6 with every colour here; WCAG 2 asks for 4.5 (1.4.3, level AA).
_INKS = ("#000000", "#ffffff")


@attrs.frozen
class Palette:
    """Colours as `#rrggbb`: of amounts from 0 up, of changes from less over the same to more."""

    amounts: Sequence[str]
    changes: Sequence[str]


def ink(color: str) -> str:
    """The colour of text that can be read best on this one."""
    return max(_INKS, key=lambda text: contrast(text, color))


def contrast(one: str, other: str) -> float:
    """The ratio of contrast of two colours as WCAG defines it: 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


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
        colors.append(_hex(_mixed(points[segment], points[segment + 1], at - segment)))
    return colors


def _mixed(one: Point, other: Point, share: float) -> Point:
    light, chroma, hue = (x + (y - x) * share for x, y in zip(one, other, strict=True))
    return light, chroma, hue


def _hex(point: Point) -> str:
    """OKLCH to sRGB; the matrices are those of the definition of OKLab, https://bottosson.github.io/posts/oklab/."""
    light, chroma, hue = point
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(1, max(0, value)))):02x}" for value in linear)


def _gamma(value: float) -> float:
    # The transfer function of sRGB (IEC 61966-2-1).
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def _luminance(color: str) -> float:
    # Relative luminance (WCAG 2): the inverse of that function, weighted as in ITU-R BT.709.
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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
