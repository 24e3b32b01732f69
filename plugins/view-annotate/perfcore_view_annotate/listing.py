"""The hottest lines with their neighbours, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from perfcore.text import align, clip, plural, printable, quantity
from perfcore_view_annotate.costs import Costs, FileCosts
from perfcore_view_annotate.file_view import title_of
from perfcore_view_annotate.shares import share
from perfcore_view_annotate.sources import Source, Sources

_AROUND = 2  # lines
_LEAST = 0.01  # of the whole: cooler lines are not listed
_CODE = 160  # characters


def listing(costs: Costs, sources: Sources, count: int) -> Iterator[str]:
    """The lines that took most themselves, `count` at most, by file; the files where no line is known, as in samples of
    native programs."""
    hottest = sorted(
        ((exclusive, name, line) for name, file in costs.files.items() for line, (_, exclusive) in file.lines.items()),
        key=lambda item: (-item[0], item[1], item[2]),
    )
    chosen: dict[str, list[int]] = {}
    for exclusive, name, line in hottest[:count]:
        if exclusive >= _LEAST * costs.total or not chosen:
            chosen.setdefault(name, []).append(line)
    amount = quantity(costs.total * costs.scale, costs.unit)
    lead = "the hottest lines of" if chosen else "no line is known in"
    yield f"{costs.metric}: {amount}, {lead} {plural(len(costs.files), 'file')}"
    if not chosen:
        files = sorted(costs.files.items(), key=lambda item: (-item[1].exclusive, item[0]))[:count]
        shares = [(share(file.exclusive, costs.total) or "0", printable(title_of(name))) for name, file in files]
        yield from align([("own %", "file"), *shares], right=(0,))
    for name, lines in chosen.items():
        file = costs.files[name]
        source = sources.source(name, [costs.functions[id].name for id in file.functions])
        yield ""
        own = share(file.exclusive, costs.total) or "0"
        yield f"{printable(title_of(name))}: {own} % in its own code" + (
            "" if source.lines else ", the source is missing"
        )
        yield from align(list(_rows(file, costs.total, source, sorted(lines))), right=(0, 1, 2))


def _rows(file: FileCosts, total: int, source: Source, lines: list[int]) -> Iterator[tuple[str, str, str, str]]:
    yield "own %", "total %", "line", ""
    of_position = {source.line_of(line): line for line in file.lines}
    previous: int | None = None
    positions = {line: source.line_of(line) for line in lines}
    wanted = sorted(
        {
            near
            for position in positions.values()
            if position is not None
            for near in range(position - _AROUND, position + _AROUND + 1)
            if near in source.lines
        }
    )
    for position in wanted:
        if previous is not None and position != previous + 1:
            yield "", "", "…", ""
        pair = file.lines.get(of_position.get(position, -1), [0, 0])
        code = clip(printable(source.lines[position].replace("\t", "    ")), _CODE)
        yield share(pair[1], total), share(pair[0], total), str(position), code
        previous = position
    for line in lines:
        if positions[line] is None:
            pair = file.lines[line]
            yield share(pair[1], total), share(pair[0], total), str(line), "(no text)"
