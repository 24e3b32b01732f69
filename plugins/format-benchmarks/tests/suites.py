"""What tests of all formats read: the samples, and a profile as its benchmarks."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from perfcore.model import Profile
from perfcore.profile import benchmarks

SAMPLES = Path(__file__).parent / "samples"


def amounts(profile: Profile, metric: str = "wall") -> dict[str, list[Any]]:
    """The amount of each run of every benchmark that has this metric."""
    suite = {name: part.tables["resources"].get(metric) for name, part in benchmarks.split(profile).items()}
    return {name: list(column) for name, column in suite.items() if column is not None}


def metrics(profile: Profile, benchmark: str) -> dict[str, tuple[str, str]]:
    """The unit and the direction of each metric of a benchmark, in order: the first is the one that decides."""
    columns = benchmarks.split(profile)[benchmark].tables["resources"].values()
    return {column.name: (column.unit, column.spec.better) for column in columns}


def statuses(profile: Profile) -> dict[str, tuple[Any, Any]]:
    """The status and message of each benchmark by its name and parameters."""
    table = profile.tables["benchmarks"]
    keys = benchmarks.columns(table)
    parameters = [key.name for key in keys[1:]]
    names = [benchmarks.name(words, parameters) for words in zip(*keys, strict=True)]
    return dict(zip(names, zip(table["status"], table["message"], strict=True), strict=True))


def nanoseconds(seconds: list[float]) -> float:
    """The median in ns."""
    return median(seconds) * 1e9
