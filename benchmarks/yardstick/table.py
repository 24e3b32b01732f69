"""From costs to the lines of the table, and the table as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

import attrs

from benchmarks.yardstick.cost import Quantity, Race, median
from benchmarks.yardstick.figures import Figure
from benchmarks.yardstick.measurements import MB, Measurement, Slope, Weight

HEAD = ("what", "size", "", "ours", "peer", "", "ratio", "aim", "reached", "rounds")
NUMBERS = {"size", "ours", "ratio", "aim", "rounds"}
TITLES: Mapping[Quantity, str] = {
    "CPU": "CPU time",
    "wall": "wall time",
    "memory": "peak memory",
    "size": "bytes of files",
    "disk": "blocks on disk",
}


@attrs.frozen(kw_only=True)
class Line:
    """One comparison. `theirs` is None where the peer was not run. `most` is the aim for the ratio, or for our own
    value where `absolute`."""

    name: str
    what: str
    size: int | None
    quantity: str
    ours: float
    theirs: float | None = None
    peer: str = ""
    ratio: float | None = None
    most: float | None = None
    absolute: bool = False
    rounds: int

    @property
    def reached(self) -> bool | None:
        value = self.ours if self.absolute else self.ratio
        return None if self.most is None or value is None else value <= self.most


def of_measurement(measurement: Measurement, races: Mapping[int, Race]) -> list[Line]:
    """The lines of each size, and how our time grows from one to the next."""
    largest = max(races, default=0)
    lines = [line for size, race in races.items() for line in _of_race(measurement, size, race, size == largest)]
    if measurement.slope and len(races) == 2:
        return [*lines, *_of_slope(measurement, measurement.slope, races)]
    for small, large in zip(sorted(races)[:-1], sorted(races)[1:], strict=True):
        lines.append(_growth(measurement, small, large, races, last=large == max(races)))
    return lines


def of_weight(weight: Weight, ours: tuple[int, int], theirs: tuple[int, int]) -> list[Line]:
    quantities: tuple[Quantity, ...] = ("size", "disk")
    return [
        Line(
            name=weight.name,
            what=weight.what,
            size=None,
            quantity=TITLES[quantity],
            ours=our,
            theirs=their,
            peer=weight.peer,
            ratio=our / their,
            most=weight.share if weight.limit is None else weight.limit,
            absolute=weight.limit is not None,
            rounds=1,
        )
        for quantity, our, their in zip(quantities, ours, theirs, strict=True)
    ]


def of_figure(figure: Figure, value: float, most: float) -> Line:
    return Line(
        name=figure.name, what=figure.what, size=None, quantity="", ours=value, most=most, absolute=True, rounds=1
    )


def markdown(lines: Sequence[Line]) -> str:
    rows = [HEAD, *map(_cells, lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [
        "| " + " | ".join(_aligned(cell, title, width) for cell, title, width in zip(row, HEAD, widths, strict=True))
        for row in rows
    ]
    rule = "|" + "|".join(
        "-" * (width + 1) + (":" if title in NUMBERS else "-") for title, width in zip(HEAD, widths, strict=True)
    )
    return "\n".join(f"{line.rstrip()} |" if line.startswith("| ") else f"{line}|" for line in insert(rule, aligned))


def insert(rule: str, lines: Sequence[str]) -> Iterable[str]:
    """The lines with the rule below the first."""
    return (lines[0], rule, *lines[1:])


def _of_race(measurement: Measurement, size: int, race: Race, largest: bool) -> list[Line]:
    aims = measurement.aims if size == measurement.aim_at or not measurement.of else {}
    limits = measurement.limits if largest else {}
    quantities = dict.fromkeys((*measurement.aims, *measurement.also, *measurement.limits))
    return [
        Line(
            name=measurement.name,
            what=measurement.what,
            size=size if measurement.of else None,
            quantity=TITLES[quantity],
            ours=median(race.ours, quantity) or 0,
            theirs=median(race.theirs, quantity) or None,
            peer=measurement.peer,
            ratio=race.ratio(quantity),
            most=limits.get(quantity, aims.get(quantity)),
            absolute=quantity in limits,
            rounds=len(race.ours),
        )
        for quantity in quantities
    ]


def _growth(measurement: Measurement, small: int, large: int, races: Mapping[int, Race], *, last: bool) -> Line:
    ours, before = (median(races[size].ours, "CPU") or 0 for size in (large, small))
    return Line(
        name=measurement.name,
        what=measurement.what,
        size=large,
        quantity="growth, CPU time",
        ours=ours,
        theirs=before,
        peer=f"ours, {small:,}",
        ratio=ours / before,
        most=measurement.growth if last else None,
        rounds=len(races[large].ours),
    )


def _of_slope(measurement: Measurement, slope: Slope, races: Mapping[int, Race]) -> Iterable[Line]:
    """What one more takes, and what is left for none: medians over the rounds of two lines through both sizes."""
    ours, theirs = _through(races, "ours"), _through(races, "theirs")
    limits = (("one more", slope.each, False), ("none", slope.none, True))
    for (what, most, absolute), numbers, peers in zip(limits, ours, theirs, strict=True):
        yield Line(
            name=measurement.name,
            what=measurement.what,
            size=None,
            quantity=f"CPU time of {what}",
            ours=statistics.median(numbers),
            theirs=statistics.median(peers),
            peer=measurement.peer,
            # What is left of a peer that starts in no time is noise around 0.
            ratio=None
            if absolute
            else statistics.median(our / their for our, their in zip(numbers, peers, strict=True)),
            most=most,
            absolute=absolute,
            rounds=len(numbers),
        )


def _through(races: Mapping[int, Race], side: str) -> tuple[list[float], list[float]]:
    """Seconds that one more takes, and seconds for none, by the line of each round."""
    small, large = sorted(races)
    pairs = list(zip(getattr(races[small], side), getattr(races[large], side), strict=True))
    each = [(many.cpu - few.cpu) / (large - small) for few, many in pairs]
    return each, [few.cpu - more * small for (few, _), more in zip(pairs, each, strict=True)]


def _cells(line: Line) -> tuple[str, ...]:
    told = _seconds if "time" in line.quantity else _bytes if line.quantity else _number
    aim = "" if line.most is None else f"≤ {told(line.most) if line.absolute else format(line.most, '.3g')}"
    return (
        line.what,
        "" if line.size is None else f"{line.size:,}",
        line.quantity,
        told(line.ours),
        "—" if line.peer and line.theirs is None else "" if line.theirs is None else told(line.theirs),
        line.peer,
        "" if not line.peer else "—" if line.ratio is None else f"{line.ratio:.3g}",
        aim,
        {True: "yes", False: "**no**", None: ""}[line.reached],
        str(line.rounds),
    )


def _aligned(cell: str, title: str, width: int) -> str:
    return cell.rjust(width) if title in NUMBERS else cell.ljust(width)


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"


def _bytes(value: float) -> str:
    return f"{value / MB:,.3g} MB" if value < 1000 * MB else f"{value / MB:,.0f} MB"
