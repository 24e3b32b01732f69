"""The page of a file as markup."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence

from perfcore.text import plural, printable
from perfcore_view_annotate.file_view import FileView, FunctionView, LineCost, Link
from perfcore_view_annotate.shell import INDEX, file_page, header, up

_LINE = 400  # characters of a line of source
_escape = html.escape
_TABS = str.maketrans({"\t": "    "})


def render(view: FileView) -> str:
    """The whole page."""
    above = up(view.home, ("All files", INDEX))
    controls = (
        '<button type="button" id="previous" title="Key p">Previous hot line</button>'
        '<button type="button" id="next" title="Key n">Next hot line</button>'
        '<button type="button" id="calls" aria-pressed="true" title="Key c">Calls</button>'
    )
    parts = [header(view.title, view.summary, controls if view.costs else "", above), "<main>"]
    parts += [f'<p class="note">{_escape(note)}</p>' for note in view.notes]
    parts += _functions(view)
    parts += _source(view)
    parts += _lost(view)
    parts.append('<p class="unseen" role="status" id="said"></p></main>')
    return file_page(view.title, "".join(parts))


def _functions(view: FileView) -> Iterator[str]:
    if not view.functions:
        return
    yield (
        '<section aria-labelledby="functions"><h2 id="functions">Functions</h2>'
        '<div class="scroll" tabindex="0" role="group" aria-label="Functions"><table class="functions">'
        '<thead><tr><th scope="col" class="text">Function<th scope="col">Own %<th scope="col">Total %'
        '<th scope="col" class="text">Called from<th scope="col" class="text">Calls</thead><tbody>'
    )
    for function in view.functions:
        # A function whose text is not here has no other line that addresses could name.
        id = f' id="{function.anchor}"' if function.line is None else ""
        name = _escape(function.name)
        if function.line is not None:
            name = f'<a href="#{function.anchor}">{name}</a>'
        yield (
            f'<tr{id}><th scope="row" class="text">{name}<td>{_escape(function.own)}<td>{_escape(function.total)}'
            f'<td class="text">{_links(function.callers, function.more_callers)}'
            f'<td class="text">{_links(function.callees, function.more_callees)}'
        )
    yield "</table></div></section>"


def _links(links: Sequence[Link], more: int) -> str:
    texts = [_link(*link) for link in links]
    if more:
        texts.append(f"{more:,} more")
    return ", ".join(texts)


def _link(text: str, address: str, amount: str) -> str:
    share = f" <small>{_escape(amount)}</small>" if amount else ""
    return f'<a href="{address}">{_escape(text)}</a>{share}' if address else _escape(text)


def _source(view: FileView) -> Iterator[str]:
    if not view.numbers:
        return
    yield (
        '<section aria-labelledby="source"><h2 id="source">Source</h2>'
        '<div class="scroll" tabindex="0" role="group" aria-label="Source with costs"><table class="source">'
        '<thead><tr><th scope="col">Line<th scope="col">Own %<th scope="col">Total %<th scope="col" class="text">Code'
        "</thead><tbody>"
    )
    ids = _names_of_lines(view)
    begins: dict[int, list[FunctionView]] = {}
    for function in view.functions:
        if function.line is not None:
            begins.setdefault(function.line, []).append(function)
    previous = 0
    for first, last in view.numbers:
        if first > previous + 1:
            yield _gap(first - previous - 1)
        for line in range(first, last + 1):
            for function in begins.get(line, ()):
                yield _begin(function)
            yield _row(view, line, ids)
        previous = last
    yield "</table></div></section>"


def _names_of_lines(view: FileView) -> Mapping[int, int] | None:
    """The names of lines in addresses: those of the profile. None where they are the same."""
    positions = view.source.positions
    return None if positions is None else {here: there for there, here in positions.items()}


def _row(view: FileView, line: int, ids: Mapping[int, int] | None) -> str:
    name = line if ids is None else ids.get(line)
    id = "" if name is None else f' id="L{name}"'
    # Escaped and cut: a line of a megabyte is no line that people read.
    code = _escape(printable(view.source.lines.get(line, "").translate(_TABS)[:_LINE]), quote=False)
    cost = view.costs.get(line)
    cells = "<td><td>" if cost is None else _cells(cost)
    row = f"<tr{id}><th>{line}{cells}<td>{code}"
    calls = view.calls.get(line)
    if calls is not None:
        row += f'<tr class="calls"><td colspan="3"><td>→ {_links(*calls)}'
    remark = view.remarks.get(line)
    if remark is not None:
        row += f'<tr class="remark"><td colspan="3"><td>{_link(*remark)}'
    return row


def _cells(cost: LineCost) -> str:
    heat = f' class="h{cost.heat}"' if cost.heat else ""
    return f'<td{heat}>{_escape(cost.own)}<td class="b{cost.bar}">{_escape(cost.total)}'


def _begin(function: FunctionView) -> str:
    callers = f" ← {_links(function.callers, function.more_callers)}" if function.callers else ""
    return (
        f'<tr class="begin" id="{function.anchor}"><td><td>{_escape(function.own)}<td>{_escape(function.total)}'
        f"<td><b>{_escape(function.name)}</b>{callers}"
    )


def _gap(lines: int) -> str:
    return f'<tr class="gap"><td>⋮<td><td><td>{plural(lines, "line")} not shown'


def _lost(view: FileView) -> Iterator[str]:
    """Lines with costs whose text is not there."""
    if not view.lost:
        return
    yield (
        '<section aria-labelledby="lost"><h2 id="lost">Lines without text</h2>'
        '<div class="scroll" tabindex="0" role="group" aria-label="Lines without text"><table class="source">'
        '<thead><tr><th scope="col">Line<th scope="col">Own %<th scope="col">Total %</thead><tbody>'
    )
    for line, cost in sorted(view.lost.items()):
        yield f'<tr id="L{line}"><th>{line}{_cells(cost)}'
    yield "</table></div></section>"
