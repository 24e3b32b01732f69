"""Verdicts of checks in words: for tables, reports and notes."""

from __future__ import annotations

from perfcore.model import RELATIVE, Change
from perfcore.text import percent, printable

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
TIMES = frozenset({"ns", "us", "ms", "s"})


def word(change: Change) -> str:
    """`slower` for a time; `worse` for other units; `broken` and `kept` for contracts."""
    if change.contract:
        return _AGREED.get(change.kind, _WORDS[change.kind])
    if change.unit in TIMES or change.metric == RELATIVE:
        return _WORDS[change.kind]
    return {"degradation": "worse", "optimization": "better"}.get(change.kind, _WORDS[change.kind])


def metric(change: Change) -> str:
    """The name of the metric: `cpu`, or `cpu of parse` for one resource; for a contract its sentence."""
    if change.contract:
        return printable(change.contract)
    return printable(change.metric + (f" of {change.resource}" if change.resource else ""))


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
    if change.low is not None:  # one machine continues the history of another
        return printable(change.evidence)
    names = " → ".join(map(environment, change.environments))
    return f"another environment ({names}): not compared" if names else ""


def environment(id: str) -> str:
    """The id of an environment, shortened; the name of a machine, which is no digest of 40 digits, as it is."""
    return printable(id if len(id) < 40 else id[:_ENVIRONMENT]) or "unknown"
