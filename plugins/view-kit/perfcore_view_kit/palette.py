"""The colours of charts in both themes. The contrast of each with the background is at least 3 for lines (WCAG 2,
1.4.11) and 4.5 for the colours that also words have (1.4.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfcore_view_kit.colors import oklch_hex

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_LINES = 6
"""Lines of one chart: the eye tells no more apart, and there are no more colours and dashes."""
# Neighbours differ in hue and in lightness or dash, for those who do not see red from green.
_SERIES = {
    "light": (
        (0.50, 0.17, 260),
        (0.56, 0.14, 50),
        (0.50, 0.10, 185),
        (0.52, 0.19, 350),
        (0.50, 0.11, 125),
        (0.45, 0.17, 305),
    ),
    "dark": (
        (0.74, 0.13, 255),
        (0.78, 0.13, 60),
        (0.80, 0.11, 185),
        (0.76, 0.14, 350),
        (0.82, 0.14, 125),
        (0.74, 0.13, 305),
    ),
}
# Orange for worse and blue for better, never red and green.
_VERDICTS = {
    "light": {"worse": (0.50, 0.17, 35), "better": (0.48, 0.15, 255), "other": (0.45, 0.02, 260)},
    "dark": {"worse": (0.78, 0.14, 55), "better": (0.75, 0.12, 245), "other": (0.75, 0.02, 260)},
}


CHANGE_STEPS = 8
"""Steps of the scale of changes on each side of "the same"."""
# Ends and middle in OKLCH: blue for less, orange for more, grey between them.
_CHANGES = {
    "light": ((0.58, 0.15, 250), 0.94, (0.66, 0.17, 50)),
    "dark": ((0.66, 0.15, 250), 0.32, (0.72, 0.16, 55)),
}


def changes(name: str) -> list[str]:
    """The scale of changes of a theme, from less over the same to more."""
    less, same, more = _CHANGES[name]
    return [_between(less, same, 1 - at / CHANGE_STEPS) for at in range(CHANGE_STEPS)] + [
        _between(more, same, at / CHANGE_STEPS) for at in range(CHANGE_STEPS + 1)
    ]


def change_step(ratio: float, largest: float) -> int:
    """The index in the scale of changes of a ratio, where `largest` (more than 1) is at its end."""
    share = math.log(ratio) / math.log(largest) if ratio > 0 else -1.0
    return CHANGE_STEPS + round(CHANGE_STEPS * max(-1.0, min(1.0, share)))


def _between(end: tuple[float, float, float], same: float, share: float) -> str:
    lightness, chroma, hue = end
    return oklch_hex(same + (lightness - same) * share, chroma * share, hue)


def _theme(name: str) -> dict[str, str]:
    colors = {f"series-{number}": oklch_hex(*point) for number, point in enumerate(_SERIES[name], 1)}
    return colors | {word: oklch_hex(*point) for word, point in _VERDICTS[name].items()}


LIGHT: Mapping[str, str] = _theme("light")
DARK: Mapping[str, str] = _theme("dark")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 2")


def style() -> str:
    """Both themes as variables of CSS."""
    light, dark = (" ".join(f"--{name}: {color};" for name, color in theme.items()) for theme in (LIGHT, DARK))
    return f':root {{ {light} }}\n:root[data-theme="dark"] {{ {dark} }}\n'
