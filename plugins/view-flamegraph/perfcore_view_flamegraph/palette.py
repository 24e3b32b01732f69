"""The colours of frames, made in OKLCH so that all of a kind are equally light and every label can be read."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

Point: TypeAlias = tuple[float, float, float]

# A compromise: with more hues, now 22.5 degrees apart, neighbours look alike; with fewer, more files share one.
HUES, TONES = 16, 3
STEPS = 10
"""Steps of the scale of changes on each side of "the same"."""


@attrs.frozen
class Palette:
    """Colours as `#rrggbb`: of frames by `slot`, of changes from all gone to all new, and of the text on both."""

    frames: Sequence[str]
    changes: Sequence[str]
    text: str


def slot(name: str, place: str) -> int:
    """Which of the colours a function has: the hue says the file or module, the tone tells neighbours apart."""
    return _spread(_module(name, place), HUES) * TONES + _spread(name, TONES)


def step(baseline: float, target: float) -> int:
    """Which of the colours of changes: 0 for what is gone, STEPS for what is the same, 2 × STEPS for new."""
    largest = max(baseline, target)
    return STEPS + (round(STEPS * (target - baseline) / largest) if largest else 0)


def contrast(one: str, other: str) -> float:
    """The ratio of contrast of two colours as WCAG defines it: 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _palette(tones: Sequence[float], chroma: float, less: Point, same: Point, more: Point, text: str) -> Palette:
    frames = [_hex(_lab(tone, chroma, 360 * hue / HUES)) for hue in range(HUES) for tone in tones]
    ends = [_mixed(_lab(*less), _lab(*same), at / STEPS) for at in range(STEPS)]
    ends += [_mixed(_lab(*same), _lab(*more), at / STEPS) for at in range(STEPS + 1)]
    return Palette(frames, [_hex(color) for color in ends], text)


def _module(name: str, place: str) -> str:
    if place:
        return place.rpartition(":")[0] or place
    for separator in ("::", "."):
        if separator in name:
            return name.rpartition(separator)[0]
    return name


def _spread(text: str, ways: int) -> int:
    # Not Python's `hash`, which differs from process to process: a function keeps its colour in every picture.
    return zlib.crc32(text.encode("utf-8", "backslashreplace")) % ways


def _lab(lightness: float, chroma: float, hue: float) -> Point:
    angle = math.radians(hue)
    return lightness, chroma * math.cos(angle), chroma * math.sin(angle)


def _mixed(one: Point, other: Point, share: float) -> Point:
    light, a, b = (x + (y - x) * share for x, y in zip(one, other, strict=True))
    return light, a, b


def _hex(lab: Point) -> str:
    """OKLab to sRGB; the matrices are those of the definition of OKLab, https://bottosson.github.io/posts/oklab/."""
    light, a, b = lab
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


# Blue for less and orange for more, which also those tell apart who do not see red from green. The contrast of every
# colour with the text is at least 5.5, where WCAG 2 asks for 4.5 (1.4.3, level AA).
LIGHT = _palette((0.80, 0.84, 0.88), 0.085, (0.66, 0.13, 250), (0.90, 0, 0), (0.72, 0.16, 55), "#161616")
DARK = _palette((0.41, 0.45, 0.49), 0.085, (0.50, 0.14, 252), (0.34, 0, 0), (0.51, 0.125, 50), "#f7f7f7")
