"""What came of the laws of a kind, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from perfcore.plugins.installed import PluginInfo
from perfcore.text import plural, printable
from perfcore_testing.kit.run_contract import Law

SCHEMA = 1
_COLORS = {"passed": "green", "failed": "red", "not applicable": "dim"}
# Cases of a law: the first few tell the mistake, and the number of the others is told.
_SHOWN = 3
_INDENT = " " * 16


def is_broken(laws: Sequence[Law]) -> bool:
    return any(law.state == "failed" for law in laws)


def as_json(info: PluginInfo, laws: Sequence[Law]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "kind": info.kind,
        "name": info.name,
        "distribution": info.distribution,
        "version": info.version,
        "passed": not is_broken(laws),
        "laws": [{**attrs.asdict(law), "words": law.words} for law in laws],
    }


def law_lines(law: Law, *, everything: bool) -> Iterator[tuple[str, str]]:
    """(line, colour) of a law, with its documentation if it failed or `everything` is wanted."""
    yield f"{law.state:<14}  {law.words}", _COLORS[law.state]
    if law.says and (everything or law.state == "failed"):
        yield f"{_INDENT}{printable(law.says)}", ""
    if law.reason:
        yield f"{_INDENT}{printable(law.reason)}", ""
    yield from ((line, "") for line in _reasons(law))


def _reasons(law: Law) -> Iterator[str]:
    for failed in law.failed[:_SHOWN]:
        first, *details = failed.reason.splitlines() or [""]
        case = f"[{failed.case}] " if failed.case else ""
        yield f"{_INDENT}{printable(case + first)}"
        yield from (f"{_INDENT}{printable(line)}" for line in details)
    if len(law.failed) > _SHOWN:
        yield f"{_INDENT}and {plural(len(law.failed) - _SHOWN, 'more case')} of {law.cases}"


def outcome_lines(laws: Sequence[Law]) -> Iterator[tuple[str, str]]:
    """(line, colour) of the sum."""
    counts = {state: sum(law.state == state for law in laws) for state in _COLORS}
    yield (
        f"{plural(len(laws), 'law')}: {', '.join(f'{count} {state}' for state, count in counts.items() if count)}",
        "bold",
    )
