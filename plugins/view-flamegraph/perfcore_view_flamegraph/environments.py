"""How the machines of two profiles differ, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfcore.model import Profile
from perfcore.text import clip, printable

_SHOWN = 40  # columns of a value
_MOST = 8  # facts: more are counted
# They differ from run to run and say nothing of the machine.
_PASSING = ("load", "uptime", "free", "available", "temperature", "time", "date", "frequency")


def differences(baseline: Profile, target: Profile) -> list[str]:
    """One line for each fact of the environment that differs, and one that counts those left out."""
    before, after = (dict(_facts(profile.machine)) for profile in (baseline, target))
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key) and not _is_passing(key)]
    lines = [f"{printable(key)}: {_text(before.get(key))} → {_text(after.get(key))}" for key in keys]
    return lines if len(lines) <= _MOST else [*lines[:_MOST], f"and {len(lines) - _MOST} more differences"]


def _facts(machine: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = []
    for key, value in machine.items():
        facts += _facts(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(f"{prefix}{key}", value)]
    return facts


def _is_passing(key: str) -> bool:
    return any(word in key.lower() for word in _PASSING)


def _text(value: Any) -> str:
    return "unknown" if value is None else clip(printable(str(value)), _SHOWN)
