"""The result of a check as a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfcore.analysis.acceptance import Acceptance
from perfcore.analysis.pairing import Unpaired
from perfcore.model import EMPTY, Change
from perfcore.text import align, fitted, percent, plural, printable, quantity

_ID = 10
_ENVIRONMENT = 12  # characters that people tell environments by
_WORDS = {
    "degradation": "slower",
    "optimization": "faster",
    "variance": "noise",
    "machine": "machine",
    "same": "same",
    "cannot tell": "cannot tell",
}
_AGREED = {"degradation": "broken", "same": "kept"}
_CHANGED = ("degradation", "optimization", "variance", "machine")
_TIMES = {"ns", "us", "ms", "s"}


def word(change: Change) -> str:
    """`slower` for a time; `worse` for what is no time; `broken` and `kept` for contracts."""
    if change.contract:
        return _AGREED.get(change.kind, _WORDS[change.kind])
    if change.unit in _TIMES:
        return _WORDS[change.kind]
    return {"degradation": "worse", "optimization": "better"}.get(change.kind, _WORDS[change.kind])


def metric(change: Change) -> str:
    """What was measured: `cpu`, or `cpu of parse` for one resource; of a contract what it says."""
    if change.contract:
        return printable(change.contract)
    return printable(change.metric + (f" of {change.resource}" if change.resource else ""))


def lines(
    changes: Sequence[Change],
    unpaired: Sequence[Unpaired],
    *,
    everything: bool,
    accepted: Mapping[str, Acceptance] = EMPTY,
    columns: int | None = None,
) -> list[str]:
    """A table: primary metrics, and the others where they changed, `everything` is wanted or there are no primary ones.
    An id is that by which people accept a change. Long names are cut where a terminal has only so many columns."""
    everything = everything or not any(change.primary for change in changes)
    shown = [c for c in changes if not c.contract and (everything or c.primary or c.kind in _CHANGED)]
    named = [c.id for c in shown if everything or (c.kind in _CHANGED and c.id not in accepted)]
    head = ("", "metric", "baseline", "", "target", "", "change", "interval", "command", "id" if named else "", "")
    rows: list[tuple[str, ...]] = [head]
    rows += [_row(change, change.id[:_ID] if change.id in named else "", accepted.get(change.id)) for change in shown]
    text = align(fitted(rows, columns, cut=(8, 1)), right=(3, 5, 6)) if len(rows) > 1 else []
    text += [f"not compared: {printable(u.label)} at {u.version[:10]}: {u.reason}" for u in unpaired]
    agreed = [_agreed(change, accepted.get(change.id)) for change in changes if change.contract]
    return text + ([""] if text and agreed else []) + align(fitted(agreed, columns, cut=(1, 4)))


def conclusion(changes: Sequence[Change], allowed: int = 0) -> str:
    """One line: what was found. Changes that a contract allows decide nothing, but were compared."""
    primary = [change for change in changes if change.primary and not change.contract]
    if not primary and not allowed:
        return "nothing was compared"
    counts = {kind: sum(1 for c in primary if c.kind == kind) for kind in _WORDS}
    parts = [
        plural(counts["degradation"], "degradation"),
        plural(counts["optimization"], "optimization"),
        f"{counts['same']} the same",
    ]
    if counts["cannot tell"]:
        parts.append(f"{counts['cannot tell']} that cannot be told")
    if allowed:
        parts.append(f"{allowed} allowed by a contract")
    return f"{plural(len(primary) + allowed, 'comparison')}: {', '.join(parts)}"


def decided(changes: Sequence[Change]) -> int:
    """How many comparisons these changes are of."""
    return sum(change.primary and not change.contract for change in changes)


def of_contracts(verdicts: Sequence[Change]) -> str:
    """One line: what became of contracts."""
    counts = {kind: sum(verdict.kind == kind for verdict in verdicts) for kind in ("degradation", "cannot tell")}
    told = f", {counts['cannot tell']} that cannot be told" if counts["cannot tell"] else ""
    return f"{plural(len(verdicts), 'contract')}: {counts['degradation']} broken{told}"


def of_history(changes: Sequence[Change], series: int, versions: int) -> str:
    """One line: what was found in a history."""
    looked = f"{plural(series, 'series', 'series')} over {plural(versions, 'version')}"
    changed = [change for change in changes if change.kind in ("degradation", "optimization")]
    found = [change for change in changed if change.primary]
    machines = sum(change.kind == "machine" for change in changes)
    more = f", {plural(machines, 'change')} of the machine" if machines else ""
    if not found:
        return f"{looked}: no change" + (" of a metric that decides" if changed else "") + more
    counts = [
        plural(sum(change.kind == kind and not change.undone for change in found), kind)
        for kind in ("degradation", "optimization")
    ]
    undone = sum(bool(change.undone) for change in found)
    return f"{looked}: {', '.join(counts)}" + (f", {undone} that did not last" if undone else "") + more


def machine(change: Change) -> str:
    """What a change of the machine means for the amounts."""
    if change.moved is not None:
        return "moved together: not the code"
    names = [printable(name[:_ENVIRONMENT]) or "unknown" for name in change.environments]
    return f"another environment ({' → '.join(names)}): not compared" if names else ""


def _row(change: Change, id: str, acceptance: Acceptance | None) -> tuple[str, ...]:
    interval = ""
    if change.low is not None and change.high is not None:
        interval = f"{percent(change.low)} to {percent(change.high)}"
    return (
        word(change) if acceptance is None else "accepted",
        metric(change),
        change.baseline,
        quantity(change.baseline_value, change.unit),
        change.target,
        quantity(change.target_value, change.unit),
        percent(change.ratio) if change.ratio is not None else "-",
        interval,
        printable(change.label),
        printable(id),
        _remark(change, acceptance),
    )


def _agreed(change: Change, acceptance: Acceptance | None) -> tuple[str, ...]:
    return (
        word(change) if acceptance is None else "accepted",
        printable(change.label),
        metric(change),
        change.id[:_ID] if change.kind == "degradation" and acceptance is None else "",
        printable("; ".join(change.evidence.split("; ")[:2])),
        _remark(change, acceptance),
    )


def _remark(change: Change, acceptance: Acceptance | None) -> str:
    if change.kind == "machine":
        return machine(change)
    undone = f"undone in {change.undone[:10]}" if change.undone else ""
    if acceptance is None:
        return undone
    return ", ".join(filter(None, (undone, f"by {printable(acceptance.author)}: {printable(acceptance.why)}")))
