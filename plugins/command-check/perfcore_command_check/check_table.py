"""The result of a check as a table for people."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore_command_kit import report_text

from perfcore.analysis.verdict_text import CHANGED, drift, end, machine, metric, word
from perfcore.model import EMPTY
from perfcore.text import align, clip, fitted, percent, plural, printable, quantity, width
from perfcore_command_check import companions

if TYPE_CHECKING:
    from perfcore.model import Change, Unpaired
    from perfcore.model.decisions import Standing

_ID = 10  # characters of an id that are shown: enough to be unique among the changes of one table
_NUMBERS = (3, 5, 6)  # columns that are set flush right
_LABEL = 8  # the column of the command
_LEAST = 7  # columns that stay in one line on every terminal
_CLIPPED = 40  # columns of a command in a line below, and of the narrowest terminal
_BELOW = " " * 4


def lines(
    changes: Sequence[Change],
    unpaired: Sequence[Unpaired],
    *,
    everything: bool,
    always: Container[str] = (),
    metrics: Container[str] = (),
    standings: Mapping[str, Standing] = EMPTY,
    columns: int | None = None,
) -> list[str]:
    """A table: primary metrics with their companions beside them, the named `metrics`, and others that changed by
    themselves; all where `everything` is wanted or there are no primary ones. Ids of `always` have a row. Of a suite,
    what is unchanged is only counted. An id is that by which people accept a change. A command of all rows is above
    them. Long names are cut where a terminal has only so many columns."""
    everything = everything or not any(change.primary for change in changes)
    visible = list(changes) if everything else companions.shown(changes, always=always, metrics=metrics)
    leading = companions.leaders(changes)
    followers = [change for change in changes if companions.key(change) in leading]
    listed = [change for change in visible if not change.contract]
    selected = [c for c in listed if everything or not (c.resource and c.kind == "same")]
    silent = {id for id, standing in standings.items() if standing.silences}
    named = [c.id for c in selected if everything or (c.kind in CHANGED and c.id not in silent)]
    shared = report_text.shared_command(selected)
    command = "" if shared and all(change.label == shared for change in selected) else "command"
    head = ("", "metric", "baseline", "", "target", "", "change", "interval", command, "id" if named else "", "")
    rows: list[tuple[str, ...]] = [head]
    rows += [
        _row(
            change,
            "" if change.label == shared else printable(change.label),
            change.id[:_ID] if change.id in named else "",
            standings.get(change.id),
            "" if everything else companions.beside(change, leading, followers),
        )
        for change in selected
    ]
    text = [printable(shared)] if shared else []
    text += _table(rows, columns) if len(rows) > 1 else []
    if unchanged := {_benchmark(c) for c in listed} - {_benchmark(c) for c in selected}:
        text.append(f"{plural(len(unchanged), 'benchmark')} unchanged: --verbose lists them")
    text += filter(None, [companions.hidden(changes, visible)])
    for missing in unpaired:
        line = report_text.unpaired(missing)
        text += textwrap.wrap(line, max(columns, _CLIPPED), subsequent_indent=_BELOW) if columns else [line]
    agreed = [_agreed(change, standings.get(change.id)) for change in changes if change.contract]
    return text + ([""] if text and agreed else []) + align(fitted(agreed, columns, cut=(1, 4)))


def _benchmark(change: Change) -> tuple[str, ...]:
    """One comparison of a benchmark, of whichever of its metrics."""
    return change.config_id, change.label, change.resource, change.baseline, change.target, *change.environments


def _table(rows: Sequence[tuple[str, ...]], columns: int | None) -> list[str]:
    """The aligned rows. Where a terminal has no columns for it, the remark follows in a line below, or all that comes
    after the change."""
    for kept in (len(rows[0]), len(rows[0]) - 1, _LEAST):
        shown = fitted([row[:kept] for row in rows], columns, cut=[column for column in (_LABEL, 1) if column < kept])
        text = align(shown, right=_NUMBERS)
        if columns is None or max(map(width, text)) <= columns:
            break
    stacked = [text[0]]
    for line, row in zip(text[1:], rows[1:], strict=True):
        below = [cell if cell == row[-1] else clip(cell, _CLIPPED) for cell in row[kept:] if cell]
        wide = max(columns or 0, _CLIPPED)
        stacked += [line, *textwrap.wrap("  ".join(below), wide, initial_indent=_BELOW, subsequent_indent=_BELOW)]
    return stacked


def _row(change: Change, command: str, id: str, standing: Standing | None, beside: str) -> tuple[str, ...]:
    interval = ""
    if change.low is not None and change.high is not None:
        interval = f"{percent(change.low)} to {percent(change.high)}"
    return (
        _word(change, standing),
        metric(change),
        change.baseline,
        quantity(change.baseline_value, change.unit),
        end(change),
        quantity(change.target_value, change.unit),
        percent(change.ratio) if change.ratio is not None else "-",
        interval,
        command,
        printable(id),
        ", ".join(filter(None, (_remark(change, standing), beside))),
    )


def _agreed(change: Change, standing: Standing | None) -> tuple[str, ...]:
    return (
        _word(change, standing),
        printable(change.label),
        metric(change),
        change.id[:_ID] if change.kind == "degradation" and not (standing and standing.silences) else "",
        printable("; ".join(change.evidence.split("; ")[:2])),
        _remark(change, standing),
    )


def _remark(change: Change, standing: Standing | None) -> str:
    decided = "" if standing is None else _decision(standing)
    if change.reason:
        return ", ".join(filter(None, (printable(change.reason), decided)))
    if change.kind == "machine":
        return ", ".join(filter(None, (machine(change), decided)))
    return ", ".join(filter(None, (drift(change), report_text.undone(change), decided)))


def _word(change: Change, standing: Standing | None) -> str:
    return printable(standing.decision.state) if standing is not None and standing.silences else word(change)


def _decision(standing: Standing) -> str:
    """What the first column lacks of it."""
    text = report_text.decision(standing)
    return text.removeprefix(f"{printable(standing.decision.state)} ") if standing.silences else text
