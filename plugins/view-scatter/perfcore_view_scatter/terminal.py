"""The amounts in a terminal: a row for each value of the parameter."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from perfcore_view_kit.runs import median_interval

from perfcore.text import align, clip, fitted, quantity
from perfcore_view_scatter.scatter import Group, Scatter

_COLUMNS = 30


def lines(made: Scatter, *, columns: int | None, blocks: bool) -> Iterator[str]:
    for number, group in enumerate(made.groups):
        if number:
            yield ""
        for line in _group(made, group, columns, "█" if blocks else "#"):
            yield clip(line, columns) if columns else line


def _group(made: Scatter, group: Group, columns: int | None, sign: str) -> Iterator[str]:
    yield f"{made.metric} of {group.name}"
    largest = max(abs(statistics.median(values)) for values in group.runs.values()) or 1.0
    rows: list[tuple[str, ...]] = [(made.parameter, "median", "interval", "", "fit" if group.fit else "")]
    for x, values in sorted(group.runs.items()):
        median, interval = statistics.median(values), median_interval(values)
        between = " to ".join(quantity(end, made.unit) for end in interval) if interval else ""
        expected = group.fit(x) if group.fit else None
        bar = sign * max(1, round(_COLUMNS * abs(median) / largest))
        fit = "" if expected is None else quantity(expected, made.unit)
        rows.append((quantity(x, made.parameter_unit, 6), quantity(median, made.unit), between, bar, fit))
    yield from align(fitted(rows, columns, cut=(3, 0), least=6), right=(0, 1, 4))
    if group.fit:
        yield group.fit.words
