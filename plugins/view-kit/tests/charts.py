"""Charts to try things on. Each call makes an equal one."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from perfcore_view_kit.chart import ChartData, Level, Line, Mark, Rule
from perfcore_view_kit.svg import Value

BEGIN = 1_750_000_000
DAY = 86_400


def label(number: int) -> str:
    return f"{number:02x}" * 5


def line(values: Sequence[Value], name: str = "parse", spread: float = 0.01, **fields: Any) -> Line:
    low = [None if value is None else value * (1 - spread) for value in values]
    high = [None if value is None else value * (1 + spread) for value in values]
    return Line(name=name, values=values, low=low, high=high, counts=[5] * len(values), **fields)


def data(*lines: Line, **fields: Any) -> ChartData:
    count = len(lines[0].values)
    chart = ChartData(
        title="cpu of parse",
        finding="1 regression stands.",
        unit="ns",
        lines=lines,
        labels=[label(number) for number in range(count)],
        notes=[f"Change {number}" for number in range(count)],
        dates=[BEGIN + number * DAY for number in range(count)],
    )
    return replace(chart, **fields)


def changed() -> ChartData:
    """Twenty versions: a gap, an inconclusive one, two changes of which one is accepted, a machine and a release."""
    values: list[Value] = [*[1e7] * 10, *[1.2e7] * 10]
    values[4] = None
    return data(
        line(values, hollow=[2], levels=[Level(0, 9, 1e7, 1e7), Level(10, 19, 1.2e7, 1.2e7)]),
        marks=[
            Mark(at=10, word="slower", text="+20.0 %", worse=True, first=9, last=10, low=1.18e7, high=1.22e7),
            Mark(at=15, word="faster", text="-1.0 %", worse=False, accepted="agreed <b>"),
        ],
        rules=[Rule(at=12, kind="machine", text="another environment"), Rule(at=5, kind="release", text="v1.0")],
        band="The band is the interval of the median at 95 %.",
    )


def decided() -> ChartData:
    """Three changes for the worse: nobody decided about the first, the second is confirmed, the third a false alarm."""
    fields: dict[str, Any] = {"word": "slower", "text": "+20.0 %", "worse": True}
    marks = [
        Mark(at=3, **fields),
        Mark(at=9, decided="confirmed by Ann: seen again <b>", **fields),
        Mark(at=15, accepted="false alarm: a backup ran", decided="false alarm by Bo: a backup ran", **fields),
    ]
    return data(line([1e7] * 20), marks=marks)


def several(count: int = 3) -> ChartData:
    return data(*(line([1e7 * (number + 1)] * 12, f"bench {number}") for number in range(count)))


def long(count: int = 10_000, lines: int = 1) -> ChartData:
    """Noise with one peak, as many versions as a long history has."""
    chance = random.Random(1)
    made = []
    for number in range(lines):
        values: list[Value] = [1e7 * (number + 1) * chance.gauss(1, 0.01) for _ in range(count)]
        values[count // 3] = 3e7 * (number + 1)
        made.append(line(values, f"bench {number}"))
    labels = [f"{chance.getrandbits(40):010x}" for _ in range(count)]
    return data(*made, labels=labels)


def extreme() -> ChartData:
    return data(line([1e308, -1e308, math.inf, math.nan, 5e-324, 0.0]))
