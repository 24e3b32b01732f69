"""A line for each profile: its name, what measured it, its median, and the command."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore.measure.collect_result import summarize
from perfcore.model import Profile
from perfcore.text import align, clip, plural, printable, quantity

_LABEL = 40  # columns of a command in a line of 80


def lines(names: Sequence[str], profiles: Sequence[Profile]) -> list[str]:
    return align([_cells(name, profile) for name, profile in zip(names, profiles, strict=True)])


def _cells(name: str, profile: Profile) -> tuple[str, ...]:
    tools = "+".join(tool.name for tool in (profile.collector, *profile.postprocessors))
    return printable(name), printable(tools), _amount(profile), clip(printable(profile.label), _LABEL)


def _amount(profile: Profile) -> str:
    """The median of the first metric; of a suite how many benchmarks it has; of neither the type."""
    summaries = summarize(profile)
    if not summaries:
        return printable(profile.header.type)
    first = summaries[0]
    if any(column.role == "benchmark" for column in profile.tables["resources"].columns):
        return plural(len(summaries), "benchmark")
    return f"{printable(first.metric)} {quantity(first.median, first.unit)}, {plural(first.runs, 'run')}"
