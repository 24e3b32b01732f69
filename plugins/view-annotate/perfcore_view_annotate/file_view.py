"""What the page of a file says, in the words that it shows: what is equal here is equal there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs
from perfcore_fleet_kit.counting import FunctionCounts
from perfcore_fleet_kit.dynamic_code import NAMED, LineRange
from perfcore_view_kit.form import shown
from perfcore_view_kit.site import fingerprint

from perfcore.text import plural
from perfcore_view_annotate.costs import Call, Costs, FileCosts
from perfcore_view_annotate.shares import bar, heat, share
from perfcore_view_annotate.shell import anchor, page_of, revision
from perfcore_view_annotate.sources import Source

Link: TypeAlias = tuple[str, str, str]
"""A text, an address, and the share of the whole."""
_NAME = 90  # characters of a function
_FEWER = "Only lines near those that took something are shown, so that the page stays small."

_ORIGINS = {
    "version": "source of {version}",
    "folder": "source of the folder, the same as in {version}",
    "mapped": "source of the folder, which differs from {version}: costs are at the lines that correspond",
    "uncompared": "source of the folder; {version} does not have the file, so lines may differ",
    "generated": "code that was made while the program ran",
    "missing": "the source is missing",
}


@attrs.frozen
class Detail:
    """How much a page shows: sources of at most `whole` lines as a whole, of longer ones the `around` lines before and
    after those with samples, and so many `calls` of a line or function."""

    whole: int = 4_000
    around: int = 25
    calls: int = 8


DETAIL = Detail()


@attrs.frozen
class LineCost:
    """Shares of a line, how hot it is, and the length of its bar."""

    own: str
    total: str
    heat: int
    bar: int


@attrs.frozen
class FunctionView:
    """A function with its shares, callers and callees; `line` is where it begins in the text, None if unknown."""

    name: str
    anchor: str
    own: str
    total: str
    line: int | None
    callers: tuple[Link, ...]
    more_callers: int
    callees: tuple[Link, ...]
    more_callees: int


@attrs.frozen
class FileView:
    """The page of a file. `numbers` are the lines that it shows; `ids` are the names of those lines in the profile, by
    their numbers. `lost` are costs of lines that the text does not have. `home` is (text, address) of a page
    above the index."""

    title: str
    summary: str
    notes: tuple[str, ...]
    functions: tuple[FunctionView, ...]
    costs: Mapping[int, LineCost]
    calls: Mapping[int, tuple[tuple[Link, ...], int]]
    lost: Mapping[int, LineCost]
    remarks: Mapping[int, Link]
    source: Source
    numbers: tuple[tuple[int, int], ...]
    home: tuple[str, str] | None = None

    @property
    def fingerprint(self) -> str:
        """The hash of everything that the page shows."""
        return fingerprint(
            revision(),
            self.title,
            self.summary,
            self.notes,
            self.functions,
            sorted(self.costs.items()),
            sorted(self.calls.items()),
            sorted(self.lost.items()),
            sorted(self.remarks.items()),
            self.source.digest,
            self.numbers,
            self.home,
        )


def title_of(file: str) -> str:
    """What a file is called."""
    if file.startswith(NAMED):
        return f"Generated code {file.removeprefix(NAMED)[:10]}"
    if file.startswith("xs:"):
        return f"Native functions of {shown(file.removeprefix('xs:'))}"
    return shown(file).strip() or "Functions without a file"


def name_of(function: FunctionCounts) -> str:
    """What a function is called."""
    return shown(function.name, _NAME).strip() or "(no name)"


def file_view(
    file: FileCosts,
    costs: Costs,
    source: Source,
    version: str,
    ranges: Sequence[LineRange] = (),
    detail: Detail = DETAIL,
    home: tuple[str, str] | None = None,
) -> FileView:
    """The page of a file with this text. `ranges` are lines of generated code that are of other files."""
    total = costs.total
    here: dict[int, LineCost] = {}
    lost: dict[int, LineCost] = {}
    lost_amount = 0
    for line, (inclusive, exclusive) in file.lines.items():
        cost = LineCost(share(exclusive, total), share(inclusive, total), heat(exclusive, total), bar(inclusive, total))
        position = source.line_of(line)
        if position is not None:
            here[position] = cost
        else:
            lost[line] = cost
            lost_amount += exclusive
    calls = {}
    for line, of_line in file.calls.items():
        position = source.line_of(line)
        if position is not None:
            calls[position] = _callees(of_line, costs, detail.calls)
    functions = tuple(_function(id, file, costs, source, detail.calls) for id in file.functions)
    return FileView(
        title=title_of(file.name),
        summary=_summary(file, costs),
        notes=(
            *_notes(file, source, version, lost, share(lost_amount, total)),
            *([_FEWER] if not detail.whole else []),
        ),
        functions=functions,
        costs=here,
        calls=calls,
        lost=lost,
        remarks={each.start - 1: _remark(each) for each in ranges if each.start - 1 in source.lines},
        source=source,
        numbers=_windows(source, [*here, *calls, *(f.line for f in functions if f.line is not None)], detail),
        home=home,
    )


def _summary(file: FileCosts, costs: Costs) -> str:
    own = share(file.exclusive, costs.total)
    parts = [f"{own} % of all {costs.metric} in its own code" if own else "nothing in its own code"]
    if file.functions:
        parts.append(plural(len(file.functions), "function"))
    if file.lines:
        parts.append(plural(len(file.lines), "line") + " with samples")
    return ", ".join(parts)


def _notes(file: FileCosts, source: Source, version: str, lost: Mapping[int, LineCost], amount: str) -> Iterable[str]:
    text = _ORIGINS[source.origin].format(version=version or "the version, which is not known")
    if file.name.startswith("xs:"):
        text = "native code, which has no lines"
    yield text[0].upper() + text[1:] + (f" ({source.digest[:10]})" if source.digest else "") + "."
    if source.path and source.path != file.name:
        yield f"Read from {shown(source.path)}."
    if lost and source.lines:
        yield f"{plural(len(lost), 'line')} with {amount or '0'} % in their own code are not in this text; see the end."


def _remark(each: LineRange) -> Link:
    name = f"the next lines are {shown(each.file)} from line {each.line}" if each.file else f"from line {each.line}"
    return name, f"{page_of(each.file)}#L{each.line}" if each.file else "", ""


def _function(id: str, file: FileCosts, costs: Costs, source: Source, most: int) -> FunctionView:
    function = costs.functions[id]
    callers = costs.callers.get(id, ())
    callees = [call for line in file.calls.values() for call in line if call.caller == id]
    callees.sort(key=lambda call: (-call.amount, call.callee, call.line))
    return FunctionView(
        name=name_of(function),
        anchor=anchor(id),
        own=share(function.exclusive, costs.total),
        total=share(function.inclusive, costs.total),
        line=source.line_of(function.first_line) if function.first_line > 0 else None,
        callers=tuple(_caller(call, costs) for call in callers[:most]),
        more_callers=max(0, len(callers) - most),
        callees=tuple(_callee(call, costs) for call in callees[:most]),
        more_callees=max(0, len(callees) - most),
    )


def _callees(calls: Sequence[Call], costs: Costs, most: int) -> tuple[tuple[Link, ...], int]:
    return tuple(_callee(call, costs) for call in calls[:most]), max(0, len(calls) - most)


def _callee(call: Call, costs: Costs) -> Link:
    function = costs.functions[call.callee]
    return name_of(function), f"{page_of(function.file)}#{anchor(call.callee)}", share(call.amount, costs.total)


def _caller(call: Call, costs: Costs) -> Link:
    name = name_of(costs.functions[call.caller])
    where = f"{name}:{call.line}" if call.line > 0 else name
    target = f"L{call.line}" if call.line > 0 else anchor(call.caller)
    return where, f"{page_of(call.file)}#{target}", share(call.amount, costs.total)


def _windows(source: Source, wanted: Iterable[int], detail: Detail) -> tuple[tuple[int, int], ...]:
    """The ranges of lines that are shown, both ends included."""
    if not source.lines:
        return ()
    last = max(source.lines)
    if source.origin != "generated" and last <= detail.whole:
        return ((1, last),)
    if source.origin == "generated" and len(source.lines) <= detail.whole:
        return tuple(_runs(sorted(source.lines)))
    windows: list[tuple[int, int]] = []
    for line in sorted(set(wanted)):
        begin, end = max(1, line - detail.around), min(last, line + detail.around)
        if windows and begin <= windows[-1][1] + 1:
            windows[-1] = (windows[-1][0], end)
        else:
            windows.append((begin, end))
    return tuple(windows)


def _runs(numbers: Sequence[int]) -> Iterable[tuple[int, int]]:
    begin = previous = numbers[0]
    for number in numbers[1:]:
        if number != previous + 1:
            yield begin, previous
            begin = number
        previous = number
    yield begin, previous
