"""A check in one line: how many comparisons, and how many of each verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from perfcore.model import Change
from perfcore.text import plural


def of_comparisons(changes: Sequence[Change], allowed: int = 0) -> str:
    """One line with the number of each verdict. Changes that a contract allows are compared, but decide nothing."""
    primary = [change for change in changes if change.primary and not change.contract and not change.until]
    if not primary and not allowed:
        return "nothing was compared"
    undone = sum(bool(change.undone) for change in primary)
    counts = Counter(change.kind for change in primary if not change.undone)
    parts = [
        plural(counts["degradation"], "regression"),
        plural(counts["optimization"], "improvement"),
        f"{counts['same']} unchanged",
    ]
    if undone:
        parts.append(f"{undone} undone")
    if counts["cannot tell"]:
        parts.append(f"{counts['cannot tell']} inconclusive")
    others = sum(c.kind == "degradation" and not c.primary and not c.contract for c in changes)
    if others and all(change.kind != "degradation" for change in primary):
        parts.append(f"{plural(others, 'other metric')} worse")
    if allowed:
        parts.append(f"{allowed} allowed by a contract")
    parts += _slow(changes)
    return f"{plural(len(primary) + allowed, 'comparison')}: {', '.join(parts)}"


def count(changes: Sequence[Change]) -> int:
    """How many comparisons these changes are of."""
    return sum(change.primary and not change.contract and not change.until for change in changes)


def of_contracts(verdicts: Sequence[Change]) -> str:
    """One line with the number of broken and inconclusive contracts."""
    counts = Counter(verdict.kind for verdict in verdicts)
    inconclusive = f", {counts['cannot tell']} inconclusive" if counts["cannot tell"] else ""
    return f"{plural(len(verdicts), 'contract')}: {counts['degradation']} broken{inconclusive}"


def of_history(changes: Sequence[Change], scanned: str) -> str:
    """One line: what was scanned, and the changes of its history."""
    changed = [change for change in changes if change.until or change.kind in ("degradation", "optimization")]
    primary = [change for change in changed if change.primary]
    undecided = sum(change.kind == "cannot tell" and change.primary and not change.undone for change in changes)
    machines = sum(change.kind == "machine" for change in changes)
    parts = [f"{undecided} inconclusive"] if undecided else []
    parts += [*_slow(changes), *([f"{plural(machines, 'change')} of the machine"] if machines else [])]
    suffix = "".join(f", {part}" for part in parts)
    if undecided and not primary:
        return f"{scanned}: {', '.join(parts)}"
    if not primary:
        worse = sum(change.kind in ("degradation", "drift") and not change.undone for change in changed)
        others = f", {plural(worse, 'other metric')} worse" if worse else ""
        return f"{scanned}: no change" + (" of a primary metric" if changed else "") + others + suffix
    lasting = [change.kind for change in primary if not change.undone]
    counts = plural(lasting.count("degradation"), "regression"), plural(lasting.count("optimization"), "improvement")
    undone = len(primary) - len(lasting)
    return f"{scanned}: {', '.join(counts)}" + (f", {undone} undone" if undone else "") + suffix


def _slow(changes: Sequence[Change]) -> list[str]:
    """The drifts that no step has undone, and the changes of the noise."""
    drifts = sum(bool(change.until) and change.primary and not change.undone for change in changes)
    noise = sum(change.kind == "variance" and change.primary for change in changes)
    return [text for count, text in ((drifts, plural(drifts, "drift")), (noise, f"{noise} of the noise")) if count]
