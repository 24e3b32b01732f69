"""The runs of profiles by benchmark and metric."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from perfcore_check_kit import run_values

from perfcore.errors import NotFoundError
from perfcore.profile import benchmarks
from perfcore.text import brief
from perfcore_view_kit.form import shown

if TYPE_CHECKING:
    from perfcore_check_kit.run_values import MetricValues

    from perfcore.model import Profile, ViewData
    from perfcore.profile.table import Column, Table

Word = TypeVar("Word", bound=Hashable)
Key: TypeAlias = tuple[str, str]
"""Benchmark (empty outside of suites) and metric."""

_RUN = "run"
_OF = "\0"  # as in the keys of perfcore_check_kit.run_values
_NAME = 60  # characters


def runs_by_metric(profile: Profile) -> dict[Key, MetricValues]:
    values = {}
    for key, each in run_values.of_benchmarks(profile).items():
        metric, _, benchmark = key.partition(_OF)
        values[benchmark, metric] = each
    return values


def sums_by_run(resources: Table, metric: Column, words: Iterable[Word]) -> dict[Word, dict[object, float]]:
    """The sum of the rows with each word, by run. Of a suite the rows of one run that name the same benchmark are
    repetitions, of which the median counts, as in a check."""
    amounts: dict[Word, dict[object, dict[tuple[object, ...], list[float]]]] = {}
    keys = benchmarks.columns(resources)
    named = zip(*keys, strict=True) if keys else ((number,) for number in range(resources.rows))
    runs = resources.get(_RUN) or [0] * resources.rows
    for word, run, key, value in zip(words, runs, named, metric, strict=True):
        if value is not None and not (keys and (run is None or key[0] is None)):
            amounts.setdefault(word, {}).setdefault(run, {}).setdefault(key, []).append(float(value))
    return {
        word: {run: sum(map(statistics.median, by_key.values())) for run, by_key in by_run.items()}
        for word, by_run in amounts.items()
    }


def chosen_metric(wanted: str | None, metrics: Iterable[str]) -> str:
    """The metric that was asked for, or the one that decides. NotFoundError where there is none such."""
    names = list(dict.fromkeys(metrics))
    chosen = wanted or next((name for name in run_values.PRIMARY if name in names), names[0] if names else None)
    if chosen is None or chosen not in names:
        listed = ", ".join(sorted(shown(name, _NAME) for name in names)) or "none"
        raise NotFoundError(
            f"no profile has values of {brief(wanted)}" if wanted else "the profiles have no runs with values",
            hint=f"their metrics: {listed}",
        )
    return chosen


def side_name(subject: ViewData, number: int) -> str:
    """What the user called a profile, with its version."""
    name = subject.names[number] if number < len(subject.names) else f"profile {number + 1}"
    version = subject.versions[number] if number < len(subject.versions) else None
    return shown(f"{name} ({version.short})" if version and not name.startswith(version.short) else name, _NAME)


def usable(values: Sequence[float]) -> tuple[float, ...]:
    """The finite values, ascending. Sums and differences of larger ones than these would not be numbers."""
    return tuple(sorted(value for value in values if math.isfinite(value) and abs(value) < 1e150))
