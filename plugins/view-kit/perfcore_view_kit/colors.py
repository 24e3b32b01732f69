"""Colours made in OKLab and OKLCH, where equal steps look equally large, and their contrast."""

from __future__ import annotations

import math

# A pair of colours with the larger contrast of both has at least 4.58, where WCAG 2 asks for 4.5 (1.4.3, level AA).
_INKS = ("#000000", "#ffffff")


def oklab_hex(lightness: float, a: float, b: float) -> str:
    """OKLab (lightness from 0 to 1) to sRGB, as `#rrggbb`; what sRGB cannot show is cut off channel by channel. The
    matrices are those of the definition of OKLab, https://bottosson.github.io/posts/oklab/."""
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(1, max(0, value)))):02x}" for value in linear)


def oklch_hex(lightness: float, chroma: float, hue: float) -> str:
    """The same for OKLCH; `hue` is in degrees."""
    angle = math.radians(hue)
    return oklab_hex(lightness, chroma * math.cos(angle), chroma * math.sin(angle))


def contrast(one: str, other: str) -> float:
    """The ratio of contrast of two colours `#rrggbb` as WCAG defines it: 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def ink(color: str) -> str:
    """The colour of text that can be read best on this one: black or white."""
    return max(_INKS, key=lambda text: contrast(text, color))


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
