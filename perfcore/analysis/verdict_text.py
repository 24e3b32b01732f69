"""Verdicts and conclusions of checks in words: for tables, reports and notes."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore.model import RELATIVE, Change
from perfcore.text import percent, plural, printable

_ENVIRONMENT = 12  # characters of an id, `1:` and ten digits: as many as short version ids have
_WORDS = {
    "degradation": "slower",
    "optimization": "faster",
    "drift": "drifts",
    "improving drift": "improves",
    "variance": "noise",
    "machine": "machine",
    "same": "same",
    "cannot tell": "inconclusive",
}
_AGREED = {"degradation": "broken", "same": "kept"}
CHANGED = ("degradation", "optimization", "drift", "improving drift", "variance", "machine")
_TIMES = {"ns", "us", "ms", "s"}


def word(change: Change) -> str:
    """`slower` for a time; `worse` for other units; `broken` and `kept` for contracts."""
    if change.contract:
        return _AGREED.get(change.kind, _WORDS[change.kind])
    if change.unit in _TIMES or change.metric == RELATIVE:
        return _WORDS[change.kind]
    return {"degradation": "worse", "optimization": "better"}.get(change.kind, _WORDS[change.kind])


def metric(change: Change) -> str:
    """The name of the metric: `cpu`, or `cpu of parse` for one resource; for a contract its sentence."""
    if change.contract:
        return printable(change.contract)
    return printable(change.metric + (f" of {change.resource}" if change.resource else ""))


def conclusion(changes: Sequence[Change], allowed: int = 0) -> str:
    """One line with the number of each verdict. Changes that a contract allows are compared, but decide nothing."""
    primary = [change for change in changes if change.primary and not change.contract and not change.until]
    if not primary and not allowed:
        return "nothing was compared"
    counts = {kind: sum(1 for c in primary if c.kind == kind) for kind in _WORDS}
    parts = [
        plural(counts["degradation"], "regression"),
        plural(counts["optimization"], "improvement"),
        f"{counts['same']} unchanged",
    ]
    if counts["cannot tell"]:
        parts.append(f"{counts['cannot tell']} inconclusive")
    others = sum(c.kind == "degradation" and not c.primary and not c.contract for c in changes)
    if others and not counts["degradation"]:
        parts.append(f"{plural(others, 'other metric')} worse")
    if allowed:
        parts.append(f"{allowed} allowed by a contract")
    parts += _slow(changes)
    return f"{plural(len(primary) + allowed, 'comparison')}: {', '.join(parts)}"


def comparisons(changes: Sequence[Change]) -> int:
    """How many comparisons these changes are of."""
    return sum(change.primary and not change.contract and not change.until for change in changes)


def contracts_conclusion(verdicts: Sequence[Change]) -> str:
    """One line with the number of broken and inconclusive contracts."""
    counts = {kind: sum(verdict.kind == kind for verdict in verdicts) for kind in ("degradation", "cannot tell")}
    inconclusive = f", {counts['cannot tell']} inconclusive" if counts["cannot tell"] else ""
    return f"{plural(len(verdicts), 'contract')}: {counts['degradation']} broken{inconclusive}"


def history_conclusion(changes: Sequence[Change], series: int, versions: int) -> str:
    """One line: the changes of a history."""
    scanned = f"{plural(series, 'series', 'series')} over {plural(versions, 'version')}"
    changed = [change for change in changes if change.until or change.kind in ("degradation", "optimization")]
    primary = [change for change in changed if change.primary]
    machines = sum(change.kind == "machine" for change in changes)
    slow = [*_slow(changes), *([f"{plural(machines, 'change')} of the machine"] if machines else [])]
    suffix = "".join(f", {part}" for part in slow)
    if not primary:
        return f"{scanned}: no change" + (" of a primary metric" if changed else "") + suffix
    lasting = [change.kind for change in primary if not change.undone]
    counts = plural(lasting.count("degradation"), "regression"), plural(lasting.count("optimization"), "improvement")
    reverted = len(primary) - len(lasting)
    return f"{scanned}: {', '.join(counts)}" + (f", {reverted} reverted" if reverted else "") + suffix


def _slow(changes: Sequence[Change]) -> list[str]:
    """The drifts that no step has undone, and the changes of the noise."""
    drifts = sum(bool(change.until) and change.primary and not change.undone for change in changes)
    noise = sum(change.kind == "variance" and change.primary for change in changes)
    return [text for count, text in ((drifts, plural(drifts, "drift")), (noise, f"{noise} of the noise")) if count]


def drift(change: Change) -> str:
    """`+1.0 % a version since 1a2b3c4d5e`; empty for what is no drift."""
    return "" if change.pace is None else f"{percent(change.pace)} a version since {printable(change.target)}"


def end(change: Change) -> str:
    """The last version that a change is about, shortened: the first that shows it, but of a drift the newest."""
    return change.until[:10] or change.target


def machine(change: Change) -> str:
    """The effect of a change of the machine on the values."""
    if change.moved is not None:
        return f"moved together: {'the machine or the code' if change.reason else 'not the code'}"
    if change.ratio is not None:  # one machine continues the history of another
        return printable(change.evidence)
    names = [printable(name[:_ENVIRONMENT]) or "unknown" for name in change.environments]
    return f"another environment ({' → '.join(names)}): not compared" if names else ""
