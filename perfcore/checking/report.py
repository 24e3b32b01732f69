"""The result of a check as a table for people and as JSON for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from perfcore.checking.pairing import Unpaired
from perfcore.model import Change
from perfcore.text import align, percent, plural, printable, quantity

SCHEMA = 1
_WORDS = {
    "degradation": "slower",
    "optimization": "faster",
    "variance": "noise",
    "machine": "machine",
    "same": "same",
    "cannot tell": "cannot tell",
}
_CHANGED = ("degradation", "optimization", "variance", "machine")
_TIMES = {"ns", "us", "ms", "s"}


def degraded(changes: Sequence[Change]) -> bool:
    """Whether the result is one that fails a gate: a degradation of a primary metric that still stands."""
    return any(change.kind == "degradation" and change.primary and not change.undone for change in changes)


def as_json(changes: Sequence[Change], unpaired: Sequence[Unpaired]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "degraded": degraded(changes),
        "changes": [attrs.asdict(change) for change in changes],
        "unpaired": [attrs.asdict(missing) for missing in unpaired],
    }


def word(change: Change) -> str:
    """`slower` for a time; `worse` for what is no time."""
    if change.unit in _TIMES:
        return _WORDS[change.kind]
    return {"degradation": "worse", "optimization": "better"}.get(change.kind, _WORDS[change.kind])


def lines(changes: Sequence[Change], unpaired: Sequence[Unpaired], *, everything: bool) -> list[str]:
    """A table: primary metrics, and the others where they changed or `everything` is wanted."""
    shown = [c for c in changes if everything or c.primary or c.kind in _CHANGED]
    rows: list[tuple[str, ...]] = [("", "metric", "baseline", "", "target", "", "change", "interval", "command", "")]
    rows += [_row(change) for change in shown]
    text = align(rows, right=(3, 5, 6)) if len(rows) > 1 else []
    text += [f"not compared: {printable(u.label)} at {u.version[:10]}: {u.reason}" for u in unpaired]
    return text


def conclusion(changes: Sequence[Change]) -> str:
    """One line: what was found."""
    primary = [change for change in changes if change.primary]
    if not primary:
        return "nothing was compared"
    counts = {kind: sum(1 for c in primary if c.kind == kind) for kind in _WORDS}
    parts = [
        plural(counts["degradation"], "degradation"),
        plural(counts["optimization"], "optimization"),
        f"{counts['same']} the same",
    ]
    if counts["cannot tell"]:
        parts.append(f"{counts['cannot tell']} that cannot be told")
    return f"{plural(len(primary), 'comparison')}: {', '.join(parts)}"


def of_history(changes: Sequence[Change], series: int, versions: int) -> str:
    """One line: what was found in a history."""
    looked = f"{plural(series, 'series', 'series')} over {plural(versions, 'version')}"
    found = [change for change in changes if change.kind in ("degradation", "optimization") and change.primary]
    if not found:
        return f"{looked}: no change"
    counts = [
        plural(sum(change.kind == kind and not change.undone for change in found), kind)
        for kind in ("degradation", "optimization")
    ]
    undone = sum(bool(change.undone) for change in found)
    return f"{looked}: {', '.join(counts)}" + (f", {undone} that did not last" if undone else "")


def _row(change: Change) -> tuple[str, ...]:
    interval = ""
    if change.low is not None and change.high is not None:
        interval = f"{percent(change.low)} to {percent(change.high)}"
    return (
        word(change),
        printable(change.metric + (f" of {change.resource}" if change.resource else "")),
        change.baseline,
        quantity(change.baseline_value, change.unit),
        change.target,
        quantity(change.target_value, change.unit),
        percent(change.ratio) if change.ratio is not None else "-",
        interval,
        printable(change.label),
        f"undone in {change.undone[:10]}" if change.undone else "",
    )
