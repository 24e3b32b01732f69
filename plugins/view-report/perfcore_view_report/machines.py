"""The machines and tools of profiles, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from perfcore_view_kit.form import shown

if TYPE_CHECKING:
    from perfcore.model import Profile

_ABSENT = "-"
_DEEPEST = 4  # of nested facts: what strangers wrote may have any depth


@attrs.frozen
class Fact:
    """One fact with its value in every profile."""

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


def facts(profiles: Sequence[Profile]) -> list[Fact]:
    """Those that differ first."""
    sides = [dict(_of(profile)) for profile in profiles]
    names = dict.fromkeys(name for side in sides for name in side)
    made = [Fact(shown(name), tuple(shown(side.get(name, _ABSENT)) for side in sides)) for name in names]
    return sorted(made, key=lambda fact: not fact.differs)


def _of(profile: Profile) -> Iterator[tuple[str, str]]:
    yield "command", profile.label
    yield "collector", f"{profile.collector.name} {profile.collector.version}".strip()
    for tool in profile.postprocessors:
        yield f"postprocessor {tool.name}", tool.version
    yield from _flat("", profile.machine, _DEEPEST)


def _flat(prefix: str, values: Mapping[str, Any], deepest: int) -> Iterator[tuple[str, str]]:
    """Nested facts by their path: `extra.compiler`."""
    for key, value in values.items():
        if isinstance(value, dict) and deepest:
            yield from _flat(f"{prefix}{key}.", value, deepest - 1)
        else:
            yield f"{prefix}{key}", str(value)


def sentence(made: Sequence[Fact], profiles: int) -> str:
    """Whether the machines are the same, in a sentence."""
    different = [fact.name for fact in made if fact.differs and fact.name != "command"]
    if profiles < 2:
        return "One profile: there is nothing to compare it with."
    if not different:
        return "The machines and the tools are the same in every fact that was recorded."
    listed = ", ".join(different[:6]) + (f" and {len(different) - 6} more" if len(different) > 6 else "")
    return f"The machines or tools differ in {listed}: a change of the code is not the only explanation."
