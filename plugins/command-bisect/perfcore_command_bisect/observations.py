"""What profiles say of the one amount that is asked about: a metric, or a function's share of it, run by run."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING

import attrs
import msgspec
from perfcore_check_kit import labels, run_values

from perfcore.errors import NotFoundError, PerfError, nearest
from perfcore.model import Profile
from perfcore.profile import benchmarks
from perfcore.profile.stacks import NOWHERE, Stacks, has_stacks, references
from perfcore.text import printable
from perfcore_command_bisect.journal import Journal, Reading

if TYPE_CHECKING:
    from perfcore.repository import Repository


@attrs.frozen
class Amount:
    """One amount for each measured run."""

    metric: str
    unit: str
    better: str
    values: tuple[float, ...]


def read(profile: Profile, metric: str = "", function: str = "") -> Amount:
    """Of a metric (the one that decides for none), or of what a function took of it with all it called; of a suite that
    of the benchmark of this name. NotFoundError where the profile has no such metric, benchmark or no stacks; a
    function that was not seen took nothing."""
    if benchmarks.is_suite(profile):
        return read(_benchmark(profile, function), metric)
    metric_values = run_values.of_profile(profile)
    chosen = metric or run_values.primary(metric_values)
    if chosen is None or chosen not in metric_values:
        raise NotFoundError(
            f"{printable(profile.label)} has no metric {printable(metric) or 'at all'}",
            hint=nearest(metric, metric_values)
            or (f"there are {', '.join(map(printable, metric_values))}" if metric_values else None),
        )
    values_of_run = metric_values[chosen]
    values = _of_function(profile, chosen, function) if function else values_of_run.values
    return Amount(chosen, values_of_run.unit, values_of_run.better, values)


def _benchmark(profile: Profile, name: str) -> Profile:
    parts = benchmarks.split(profile)
    full_name = labels.whole_name(name, parts) if name else ""
    if full_name not in parts:
        raise NotFoundError(
            f"{printable(profile.label)} has no benchmark {printable(name)!r}"
            if name
            else f"{printable(profile.label)} is a suite of {len(parts)} benchmarks, and none is named",
            hint=nearest(name, parts) or "--benchmark NAME; perf history lists them",
        )
    return parts[full_name]


def earlier_readings(repository: Repository, asked: Journal) -> list[Reading]:
    """What profiles that exist already say of the versions of a bisection."""
    readings, skipped = [], set()
    mine = {reading.session for reading in asked.readings}
    for version in asked.versions:
        for entry in repository.readable_entries(version):
            alike = (entry.config_id, entry.environment_id) == (asked.config_id, asked.environment_id)
            if not alike or entry.profile in skipped:
                continue
            skipped.add(entry.profile)
            with contextlib.suppress(PerfError):
                profile = repository.store.load(entry.profile)
                taken_in = session(profile) or entry.profile
                values = read(profile, asked.metric, asked.function).values
                if values and taken_in not in mine:
                    readings.append(Reading(version, values, taken_in, apart=True, stored=True))
    # An earlier session tells its offset only if it holds an end and another version of this row.
    with_ends = {r.session for r in readings if r.version in (asked.versions[0], asked.versions[-1])}
    others = {r.session for r in readings if r.version not in (asked.versions[0], asked.versions[-1])}
    return [msgspec.structs.replace(r, apart=r.session not in with_ends & others) for r in readings]


def functions(profile: Profile) -> list[str]:
    """The names of the functions or the benchmarks that a profile knows."""
    if benchmarks.is_suite(profile):
        return sorted(benchmarks.split(profile))
    return sorted(set(Stacks.of(profile.tables).names)) if has_stacks(profile.tables) else []


def session(profile: Profile) -> str | None:
    """The session that the measured runs of a profile were taken in; None where it does not say, or in several."""
    runs = profile.table("runs")
    if runs is None or "session" not in runs.names:
        return None
    sessions = {value for value in runs["session"] if value is not None}
    return str(sessions.pop()) if len(sessions) == 1 else None


def _of_function(profile: Profile, metric: str, function: str) -> tuple[float, ...]:
    if not has_stacks(profile.tables):
        raise NotFoundError(
            f"the profile of {printable(profile.label)} by {profile.collector.name} has no stacks, so "
            "functions cannot be measured",
            hint="measure with a collector that samples them: --collector sample",
        )
    resources = profile.tables["resources"]
    stacks = Stacks.of(profile.tables)
    rows = references(resources, "stack", profile.tables)
    # Once per stack, however often the function is on it: recursion counts once.
    inside: dict[int, bool] = {NOWHERE: False}
    sums: dict[object, float] = dict.fromkeys(_measured(profile), 0.0)
    column = resources.get("run")
    runs = [None] * resources.rows if column is None else list(column)
    # Without a list of runs only those with rows are known: a run without a single sample is lost.
    if not sums:
        sums = dict.fromkeys(runs, 0.0)
    for run, stack, value in zip(runs, rows, resources[metric], strict=True):
        if stack not in inside:
            inside[stack] = any(f != NOWHERE and stacks.names[f] == function for f in stacks.path(stack))
        if inside[stack] and run in sums and isinstance(value, int | float):
            sums[run] += value
    return tuple(amount for amount in sums.values() if math.isfinite(amount))


def _measured(profile: Profile) -> list[object]:
    """The runs that count, where the profile and its rows say which there were."""
    runs, resources = profile.table("runs"), profile.tables["resources"]
    if runs is None or resources.get("run") is None or not {"run", "warmup"} <= set(runs.names):
        return []
    return [run for run, warmup in zip(runs["run"], runs["warmup"], strict=True) if not warmup]
