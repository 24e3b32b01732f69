"""What changed in the code: the difference of two profiles as a flame graph and as a list of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from perfcore_command_diff import build_folders, engine, scaling
from perfcore_diff_amounts import Amounts
from perfcore_view_flamegraph import embedded
from perfcore_view_flamegraph.graph import SIDES
from perfcore_view_kit.form import percent, quantity, shown, signed
from perfcore_view_kit.table import table

from perfcore.errors import FormatError, NotFoundError
from perfcore.model import ViewData
from perfcore.model.record import replace
from perfcore.profile.stacks import has_stacks
from perfcore.text import plural

if TYPE_CHECKING:
    from perfcore_command_diff.engine import DiffRow, DiffTable
    from perfcore_view_flamegraph.embedded import Picture

_BOXES, _FUNCTIONS = 250, 15  # a document has room for no more; the interactive page has all
_WIDTH = 860
_HEAD = ("Function", "File", "Before", "After", "Change", "In its own code", "Noise")


@attrs.frozen
class CodeChange:
    """The sentence and the markup of the section."""

    sentence: str
    content: str


def change(subject: ViewData) -> CodeChange | None:
    """Of the two profiles, or of the difference that a report is on; None where they have no call stacks, or none that
    could be drawn."""
    data = difference(subject)
    if data is None:
        return None
    name = shown(data.names[0]) if data.names else "baseline -> target"
    title = f"Difference flame graph, {name}"
    try:
        drawn = embedded.picture(data, title=title, width=_WIDTH, most=_BOXES)
        rows = engine.table_of(data.profiles[0])
    except (NotFoundError, FormatError):
        return None
    figure = f'<div class="still tall" tabindex="0" role="group" aria-label="Picture">{drawn.markup}</div>\n'
    return CodeChange(_sentence(drawn, rows), figure + _functions(drawn, rows))


def difference(subject: ViewData) -> ViewData | None:
    """The data of a difference: as they are, or made of two profiles with call stacks."""
    profiles = subject.profiles
    if not profiles or not all(has_stacks(profile.tables) for profile in profiles):
        return None
    if len(profiles) == 1:
        return subject if subject.pair is not None else None
    if len(profiles) != len(SIDES):
        return None
    pair = build_folders.without_build_folders(*profiles)
    rates = scaling.per_run(*pair)
    made = Amounts().diff(*(rates or pair))
    notes = engine.notes_of(scaling.Scale.RUN) if rates else ()
    names = (f"{subject.names[0]} -> {subject.names[1]}",) if len(subject.names) > 1 else ()
    return ViewData(profiles=(replace(made, notes=(*made.notes, *notes)),), names=names, pair=pair)


def _sentence(drawn: Picture, rows: DiffTable) -> str:
    """What the picture shows, how it is read and what its grey means."""
    grey = [remark for remark in drawn.remarks if remark.startswith("grey: ")]
    parts = [
        f"{drawn.metric}: {quantity(rows.baseline, rows.unit)} → {quantity(rows.target, rows.unit)}, {drawn.scale}.",
        "A box is as wide as the larger side; blue is less, orange more.",
        *(f"{remark[0].upper()}{remark[1:]}." for remark in grey),
        f"The table has the {plural(min(_FUNCTIONS, len(rows.rows)), 'function')} that changed most.",
    ]
    return " ".join(parts)


def _functions(drawn: Picture, rows: DiffTable) -> str:
    ranked = rows.rows[:_FUNCTIONS]
    caption = f"Functions that changed most, {shown(drawn.metric)}"
    cells = [_cells(row, rows.unit, (shown(row.name), shown(row.file)) in drawn.quiet) for row in ranked]
    return table(caption, _HEAD, cells, left=(0, 1, 6)) if cells else ""


def _cells(row: DiffRow, unit: str, is_quiet: bool) -> tuple[str, ...]:
    return (
        shown(row.name),
        shown(row.file) or "unknown",
        quantity(row.baseline, unit),
        quantity(row.target, unit),
        _change(row),
        signed(row.own or 0, unit),
        "within noise" if is_quiet else "",
    )


def _change(row: DiffRow) -> str:
    if not row.baseline or not row.target:
        return "gone" if row.baseline else "new"
    return percent(row.target / row.baseline)
