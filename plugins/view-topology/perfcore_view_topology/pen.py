"""What text is drawn with: the signs and colours of amounts, and lines that end where the terminal does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from perfcore.text import clip, width

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore_view_topology.readings import Metric
    from perfcore_view_topology.scene import Side

# SGR parameters of ECMA-48; `38;5;N` is colour N of xterm's palette of 256: blue for less, orange for more, and from
# grey over green to blue for amounts. The signs say the same without colour.
BOLD, DIM, LESS, MORE = "1", "2", "38;5;32", "38;5;172"
_HEAT = ("2", "38;5;109", "38;5;73", "38;5;37", "38;5;31", "38;5;32", "38;5;33", "38;5;63")
_WIDE = 100
_PLAIN = str.maketrans({"·": "/", "→": ">", "µ": "u", "−": "-"})


@attrs.frozen
class Signs:
    """What a thread is drawn with, from 0 to the largest value; `least` begins the bar of what is nearly 0."""

    levels: str
    none: str
    bar: str
    least: str


BLOCKS = Signs("▁▂▃▄▅▆▇█", "·", "█", "▏")
ASCII = Signs("_.:-+=*#", "?", "#", ".")


@attrs.frozen
class Text:
    """Text of one style on its way to the screen."""

    text: str
    style: str = ""


@attrs.frozen
class Pen:
    """Draws a metric between two values. No line is wider than `width`, where there is a terminal."""

    output: Output
    signs: Signs
    metric: Metric
    scale: tuple[float, float]

    @property
    def width(self) -> int:
        return self.output.width or _WIDE

    def line(self, *parts: Text) -> None:
        """Write a line, cut where the terminal ends."""
        room, rendered = self.output.width, ""
        for fragment in parts:
            text = fragment.text if self.signs is BLOCKS else _plain(fragment.text)
            if room is not None:
                text = clip(text, room) if room > 0 else ""
                text = text if self.signs is BLOCKS else text.replace("…", ".")
                room -= width(text)
            rendered += (
                f"\x1b[{fragment.style}m{text}\x1b[0m" if self.output.color and fragment.style and text else text
            )
        self.output.write(rendered.rstrip() + "\n")

    def cell(self, side: Side, cpu: int) -> Text:
        """One sign for a thread."""
        reading = side.reading(self.metric.name, [cpu])
        if reading is None:
            return Text(self.signs.none, DIM)
        step = self._step(reading.value)
        return Text(self.signs.levels[step], _HEAT[step])

    def bar(self, side: Side, cpu: int, room: int) -> Text:
        """A bar for a thread, blanks after it."""
        reading = side.reading(self.metric.name, [cpu])
        if reading is None:
            return Text(self.signs.none.ljust(room), DIM)
        # A bar that rounds to nothing still shows that something was counted.
        step, length = self._step(reading.value), round(room * self._share(reading.value))
        drawn = self.signs.bar * length or (self.signs.least if step else "")
        return Text(drawn.ljust(room), _HEAT[step])

    def levels(self) -> list[Text]:
        """All signs of amounts."""
        return [Text(sign, style) for sign, style in zip(self.signs.levels, _HEAT, strict=True)]

    def _share(self, value: float) -> float:
        low, high = self.scale
        return (value - low) / (high - low) if high > low else 0.0

    def _step(self, value: float) -> int:
        """0 for the least, else 1 to the last level."""
        share = self._share(value)
        return max(1, round((len(_HEAT) - 1) * share)) if share > 0 else 0


def _plain(text: str) -> str:
    """The text in ASCII, as wide wherever that can be."""
    return text.translate(_PLAIN).replace("…", "\0").encode("ascii", "backslashreplace").decode().replace("\0", ".")
