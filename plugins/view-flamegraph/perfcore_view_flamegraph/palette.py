"""The colours of frames, made in OKLCH so that all of a kind are equally light and every label can be read."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING, TypeAlias

from perfcore_view_kit.colors import oklab_hex

from perfcore.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

Point: TypeAlias = tuple[float, float, float]

# A compromise: with more hues, now 22.5 degrees apart, neighbours look alike; with fewer, more files share one.
HUES, TONES = 16, 3
STEPS = 10
"""Steps of the scale of changes on each side of "the same"."""


class Palette(Record, frozen=True):
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


def _palette(tones: Sequence[float], chroma: float, less: Point, same: Point, more: Point, text: str) -> Palette:
    frames = [oklab_hex(*_lab(tone, chroma, 360 * hue / HUES)) for hue in range(HUES) for tone in tones]
    ends = [_mixed(_lab(*less), _lab(*same), at / STEPS) for at in range(STEPS)]
    ends += [_mixed(_lab(*same), _lab(*more), at / STEPS) for at in range(STEPS + 1)]
    return Palette(frames, [oklab_hex(*color) for color in ends], text)


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


# Blue for less and orange for more, which also those tell apart who do not see red from green. The contrast of every
# colour with the text is at least 5.5, where WCAG 2 asks for 4.5 (1.4.3, level AA).
LIGHT = _palette((0.80, 0.84, 0.88), 0.085, (0.66, 0.13, 250), (0.90, 0, 0), (0.72, 0.16, 55), "#161616")
DARK = _palette((0.41, 0.45, 0.49), 0.085, (0.50, 0.14, 252), (0.34, 0, 0), (0.51, 0.125, 50), "#f7f7f7")
