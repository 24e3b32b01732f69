"""The comparison of two versions by what is stored of them, as a table on the terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from perfcore_command_check import companions
from perfcore_command_kit import report_text

from perfcore.analysis import verdict_text
from perfcore.analysis.verdict_text import CHANGED
from perfcore.model import Change, Unpaired
from perfcore.text import align, clip, fitted, plural, printable, quantity
from perfcore_command_compare.stored import StoredComparison, StoredSide, inconclusive_by_reason

_LISTED = 5  # names of one side, and reasons: a terminal of 24 lines keeps the changes in sight
_NAME = 5  # the column that is cut where a terminal is narrow


def lines(
    comparison: StoredComparison, *, everything: bool, all_metrics: bool = False, columns: int | None = None
) -> list[str]:
    """Both versions, a row for each change by its effect, and the number of the other comparisons, which are rows too
    where `everything` is wanted."""
    outcome = comparison.outcome
    visible = outcome.changes if all_metrics else companions.shown(outcome.changes)
    sections = sections_of(visible, everything or all_metrics)
    text = [f"{letter}  {_profiles(side)}" for letter, side in zip("AB", comparison.sides, strict=True)]
    text += ["", *section_rows(sections, outcome.accepted, columns)]
    if not (everything or all_metrics):
        text += counts(comparison.unchanged, comparison.inconclusive, "--all", columns)
    text += one_sided(comparison.unpaired, everything, "--all", columns)
    return text if text[-1] else text[:-1]


def sections_of(changes: Sequence[Change], everything: bool) -> list[tuple[str, list[Change]]]:
    """What changed; with `everything` what is inconclusive, by its reason, and what is unchanged, with their titles."""
    sections = [("", [change for change in changes if change.kind in CHANGED])]
    if everything:
        undecided = [change for change in changes if change.kind == "cannot tell"]
        sections += [(_why(reason, rows), rows) for reason, rows in inconclusive_by_reason(undecided)]
        sections.append(("unchanged:", [change for change in changes if change.kind == "same"]))
    return sections


def evidence(changes: Sequence[Change]) -> Iterator[str]:
    """The evidence of each verdict."""
    return (f"{_name(change, True)}: {printable(change.evidence)}" for change in changes if change.evidence)


def section_rows(
    sections: Sequence[tuple[str, Sequence[Change]]], accepted: Collection[str], columns: int | None
) -> Iterator[str]:
    changes = [change for _, rows in sections for change in rows]
    if not changes:
        return
    several = len({change.label for change in changes}) > 1
    rows = [("", "change", "interval", "A", "B", ""), *(_row(change, accepted, several) for change in changes)]
    aligned = iter(align(fitted(rows, columns, cut=(_NAME,)), right=(1, 3, 4)))
    yield next(aligned)
    for title, members in sections:
        if title and members:
            yield clip(title, columns) if columns else title
        yield from (next(aligned) for _ in members)


def _row(change: Change, accepted: Collection[str], several: bool) -> tuple[str, ...]:
    word = "" if change.kind in ("same", "cannot tell") else verdict_text.word(change)  # its section says it
    return (
        "accepted" if change.id in accepted else word,
        report_text.size(change),
        report_text.interval(change),
        quantity(change.baseline_value, change.unit),
        quantity(change.target_value, change.unit),
        _name(change, several),
    )


def _name(change: Change, several: bool) -> str:
    """`cpu of parse`; with its command where `several` commands have rows, and the machine if several measured."""
    command = f" ({printable(change.label)})" if several and change.resource else ""
    machine = f" on {verdict_text.environment(change.environments[0])}" if len(change.environments) == 1 else ""
    return f"{printable(change.metric)} of {printable(change.resource or change.label)}{command}{machine}"


def _why(reason: str, changes: Sequence[Change]) -> str:
    needed = max((change.needed or 0 for change in changes), default=0)
    advice = f"; about {needed:,} interleaved pairs would tell" if needed else ""
    return f"inconclusive, {printable(reason)}{advice}:"


def counts(
    unchanged: Sequence[Change], inconclusive: Sequence[Change], option: str, columns: int | None
) -> Iterator[str]:
    """How many comparisons have no row, and why those that are inconclusive are so. `option` lists them."""
    parts = [f"{len(unchanged):,} unchanged"] * bool(unchanged)
    parts += [f"{len(inconclusive):,} inconclusive"] * bool(inconclusive)
    if parts:
        yield f"{', '.join(parts)} ({option} lists them)"
    groups = inconclusive_by_reason(inconclusive)
    for reason, changes in groups[:_LISTED]:
        line = f"  {len(changes):,}: {printable(reason)}"
        yield clip(line, columns) if columns else line
    if len(groups) > _LISTED:
        yield f"  {sum(len(changes) for _, changes in groups[_LISTED:]):,}: other reasons"


def one_sided(unpaired: Sequence[Unpaired], everything: bool, option: str, columns: int | None) -> Iterator[str]:
    """What only one version has, and what both have but of machines that cannot be compared."""
    for title, side in (("only in A", "baseline"), ("only in B", "target"), ("not compared", "")):
        missing = [part for part in unpaired if part.side == side]
        if not missing:
            continue
        yield f"{title}: {len(missing):,}"
        for part in missing if everything else missing[:_LISTED]:
            reason = "" if side else f": {printable(part.reason)}"
            line = f"  {printable(part.benchmark or part.label)}{reason}"
            yield clip(line, columns) if columns else line
        if len(missing) > _LISTED and not everything:
            yield f"  … and {len(missing) - _LISTED:,} more ({option} lists them)"


def _profiles(side: StoredSide) -> str:
    return f"{printable(side.title)}: {plural(side.profiles, 'profile')}"
