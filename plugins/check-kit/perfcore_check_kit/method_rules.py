"""Rules of the configuration that select the checks of a profile, in order.

    check:
      rules:
        - {collector: papi, method: exact}
        - {command: 'bench *', method: changepoint}
        - {command: 'bench *', method: pair}
      apply: all

A rule holds where everything it names does: `type`, `command`, `collector` (patterns as of a shell) and `postprocessor`
(one of those that were applied). `check.apply` says whether the first that holds is used, or all that do; where none
holds, `check.name` and `check.history` are.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from perfcore.errors import UsageError, nearest
from perfcore.text import brief

_FACTS = ("type", "command", "collector", "postprocessor")
APPLY = ("first", "all")


class Facts(msgspec.Struct, frozen=True):
    """The properties of a profile that rules match."""

    type: str
    command: str
    collector: str
    postprocessors: tuple[str, ...] = ()


class MethodRule(msgspec.Struct, frozen=True):
    method: str
    patterns: Mapping[str, str]

    def holds(self, facts: Facts) -> bool:
        return all(
            any(fnmatch.fnmatchcase(value, pattern) for value in _values(facts, name))  # fnmatch folds case on Windows
            for name, pattern in self.patterns.items()
        )


def read(configured: Sequence[Any]) -> list[MethodRule]:
    """The rules as configured. UsageError for an invalid one."""
    return [_rule(position, value) for position, value in enumerate(configured, 1)]


def methods(rules: Sequence[MethodRule], facts: Facts, apply: str, default: str) -> tuple[str, ...]:
    """The checks for a profile, each once."""
    if apply not in APPLY:
        raise UsageError(f"check.apply is {brief(apply)}", hint=f"it is one of {', '.join(APPLY)}")
    names = tuple(dict.fromkeys(rule.method for rule in rules if rule.holds(facts)))
    return (names[:1] if apply == "first" else names) or (default,)


def _rule(number: int, value: Any) -> MethodRule:
    context = f"rule {number} of check.rules"
    if not isinstance(value, Mapping) or not isinstance(value.get("method"), str):
        raise UsageError(f"{context} names no method", hint="for example {collector: time, method: pair}")
    patterns = {str(name): pattern for name, pattern in value.items() if name != "method"}
    for name, pattern in patterns.items():
        if name not in _FACTS:
            raise UsageError(f"{context}: unknown key {brief(name)}", hint=nearest(name, (*_FACTS, "method")))
        if not isinstance(pattern, str):
            raise UsageError(f"{context}: {name} is a pattern, not {brief(pattern)}")
    return MethodRule(value["method"], patterns)


def _values(facts: Facts, name: str) -> tuple[str, ...]:
    if name == "postprocessor":
        return facts.postprocessors
    return (str(getattr(facts, name)),)
