"""What was counted on each CPU, over the runs of a profile: events, and what is computed from them."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, TypeAlias

import attrs

from perfcore.errors import NotFoundError
from perfcore.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from perfcore.model import Profile
    from perfcore.profile.table import Column, Table

Number: TypeAlias = int | float
Counts: TypeAlias = "Mapping[int, Mapping[int, Number]]"
"""By CPU and run. What is not there was not counted, which is not 0."""

NO_CPU = -1
"""Stands for the CPU of what was counted at no known place."""
_NUMBERS = ("i64", "u64", "f64")
# Far above the rounding of a division and far below any real difference of two formulas.
_NEAR = 1e-9


@attrs.frozen
class Reading:
    """What one run counted or computed: in the middle, and at least and at most."""

    value: float
    least: float
    most: float
    runs: int


@attrs.frozen(kw_only=True)
class Metric:
    """An event, or what is computed from events. The texts can be shown as they are."""

    name: str
    unit: str
    about: str = ""
    estimate: bool = False

    def cpus(self) -> frozenset[int]:
        """Where there is a value; NO_CPU where there is one of no known place."""
        raise NotImplementedError

    def reading(self, cpus: Iterable[int]) -> Reading | None:
        """Of these CPUs together; None where there is none, or where no sum makes sense."""
        raise NotImplementedError

    def share(self, cpus: Iterable[int]) -> float | None:
        """Of everything that was counted in all runs; None for what has no sum."""
        return None


@attrs.frozen(kw_only=True)
class Event(Metric):
    """What was counted. A reading is the mean of the runs, so that the readings of CPUs add up to that of all."""

    counts: Counts
    total: Number

    def cpus(self) -> frozenset[int]:
        return frozenset(self.counts)

    def reading(self, cpus: Iterable[int]) -> Reading | None:
        return _reading(_by_run(self.counts, cpus).values(), _mean)

    def share(self, cpus: Iterable[int]) -> float | None:
        cpu_counts = [by_run for cpu in cpus if (by_run := self.counts.get(cpu))]
        if not cpu_counts or not self.total or not math.isfinite(self.total):
            return None
        return sum(value for by_run in cpu_counts for value in by_run.values()) / self.total


@attrs.frozen(kw_only=True)
class Ratio(Metric):
    """Computed from sums: `scale` times one over the other, of all runs."""

    above: Counts
    below: Counts
    scale: float

    def cpus(self) -> frozenset[int]:
        return frozenset(cpu for cpu in self.above if cpu in self.below and self.reading([cpu]))

    def reading(self, cpus: Iterable[int]) -> Reading | None:
        cpus = [cpu for cpu in cpus if cpu in self.above and cpu in self.below]
        above, below = _by_run(self.above, cpus), _by_run(self.below, cpus)
        runs = [run for run in above if below.get(run)]
        per_run = _finite(self.scale * above[run] / below[run] for run in runs)
        # Without a run whose ratio is no number, the whole would be of fewer runs than it says.
        if len(per_run) < len(runs) or not runs:
            return None
        under = sum(below[run] for run in runs)
        # The ratio of sums, not the mean of ratios: a run that counted little says little.
        overall = self.scale * sum(above[run] for run in runs) / under if under else math.nan
        return Reading(overall, min(per_run), max(per_run), len(per_run)) if math.isfinite(overall) else None


@attrs.frozen(kw_only=True)
class Stored(Metric):
    """Computed by the collector in a way that is not known here: what it says of a CPU, and nothing of several."""

    values: Counts

    def cpus(self) -> frozenset[int]:
        return frozenset(self.values)

    def reading(self, cpus: Iterable[int]) -> Reading | None:
        cpus = list(cpus)
        return _reading(self.values.get(cpus[0], {}).values(), statistics.median) if len(cpus) == 1 else None


@attrs.frozen
class Formula:
    """How a collector computes a metric: `scale` times an event over another."""

    name: str
    above: str
    below: str
    about: str
    scale: float = 1.0


def _mpki(name: str, event: str) -> Formula:
    return Formula(f"{name}_mpki", event, "PAPI_TOT_INS", "misses per 1,000 instructions", 1000.0)


# Several of one name: which one a collector used depends on the events that the processor can count.
FORMULAS = (
    Formula("ipc", "PAPI_TOT_INS", "PAPI_TOT_CYC", "instructions per cycle"),
    Formula("branch_miss_rate", "PAPI_BR_MSP", "PAPI_BR_INS", "mispredicted share of branches"),
    Formula("branch_miss_rate", "PAPI_BR_MSP", "PAPI_BR_CN", "mispredicted share of conditional branches"),
    _mpki("branch", "PAPI_BR_MSP"),
    _mpki("l1d", "PAPI_L1_DCM"),
    _mpki("l2", "PAPI_L2_TCM"),
    _mpki("l3", "PAPI_L3_TCM"),
    _mpki("dtlb", "PAPI_TLB_DM"),
    Formula("l1d_miss_rate", "PAPI_L1_DCM", "PAPI_L1_DCA", "missing share of accesses"),
    Formula("l1d_miss_rate", "PAPI_L1_DCM", "PAPI_LST_INS", "misses per load or store"),
    Formula("l2_miss_rate", "PAPI_L2_TCM", "PAPI_L2_TCA", "missing share of accesses"),
    Formula("l3_miss_rate", "PAPI_L3_TCM", "PAPI_L3_TCA", "missing share of accesses"),
    Formula("stall_rate", "PAPI_RES_STL", "PAPI_TOT_CYC", "stalled share of cycles"),
)
"""Each is used only where it gives what the profile says."""


@attrs.frozen
class Readings:
    """The metrics of a profile by CPU; `whole` is what it says of all CPUs together only."""

    metrics: tuple[Metric, ...]
    whole: tuple[tuple[str, float], ...]
    runs: int

    @property
    def cpus(self) -> frozenset[int]:
        return frozenset(cpu for metric in self.metrics for cpu in metric.cpus())

    def metric(self, name: str) -> Metric | None:
        return next((metric for metric in self.metrics if metric.name == name), None)


def readings(profile: Profile) -> Readings:
    """What was counted on each CPU. NotFoundError where it was not counted by CPU."""
    resources = profile.table("resources")
    cpu_column = resources.get("cpu") if resources is not None else None
    if resources is None or cpu_column is None or cpu_column.dtype not in ("i64", "u64") or cpu_column.role == "value":
        raise NotFoundError(
            "the profile does not say on which CPU it was counted: its resources have no column `cpu`",
            hint="`perf collect papi` counts by CPU, unless it is told --total",
        )
    runs = _runs(resources, _warmups(profile))
    events = tuple(
        Event(
            name=printable(column.name),
            unit=printable(column.unit or profile.header.units.get(column.name, "")),
            counts=counts,
            total=sum(value for by_run in counts.values() for value in by_run.values()),
        )
        for column in resources.values()
        if column.dtype in _NUMBERS and (counts := _counted(column, cpu_column, runs))
    )
    derived, machine_ratios = _derived(profile, {event.name: event for event in events}, set(runs))
    metrics = tuple(metric for metric in (*events, *derived) if metric.cpus() - {NO_CPU})
    if not metrics:
        raise NotFoundError(
            "the profile holds no value of any CPU",
            hint="`perf show PROFILE table` shows what it holds; `perf collect papi` counts by CPU",
        )
    return Readings(metrics, machine_ratios, len({run for run in runs if run is not None}))


def _warmups(profile: Profile) -> set[int]:
    runs = profile.table("runs")
    if runs is None or "run" not in runs.names or "warmup" not in runs.names:
        return set()
    return {run for run, warm in zip(runs["run"], runs["warmup"], strict=True) if warm and isinstance(run, int)}


def _runs(resources: Table, warmups: set[int]) -> list[int | None]:
    """The run of each row; None for one that does not count."""
    column = resources.get("run")
    if column is None or column.dtype not in ("i64", "u64"):
        return [0] * resources.rows
    return [run if isinstance(run, int) and run not in warmups else None for run in column]


def _counted(column: Column, where: Column, runs: list[int | None]) -> Counts:
    counts: dict[int, dict[int, Number]] = {}
    for value, cpu, run in zip(column, where, runs, strict=True):
        if run is None or not isinstance(value, int | float) or not math.isfinite(value):
            continue
        cpu_number = cpu if isinstance(cpu, int) and cpu >= 0 else NO_CPU
        by_run = counts.setdefault(cpu_number, {})
        by_run[run] = by_run.get(run, 0) + value
    return counts


def _derived(
    profile: Profile, events: Mapping[str, Event], runs: set[int | None]
) -> tuple[list[Metric], tuple[tuple[str, float], ...]]:
    """(metrics of CPUs, what is told of all together only)."""
    table = profile.table("derived")
    if table is None or not {"run", "cpu", "metric", "value"} <= set(table.names):
        return [], ()
    values: dict[str, dict[int, dict[int, Number]]] = {}
    estimates: set[str] = set()
    for row in table.iter_rows():
        run, cpu, name, value = (row[key] for key in ("run", "cpu", "metric", "value"))
        if run not in runs or not isinstance(name, str) or not isinstance(value, int | float):
            continue
        if isinstance(run, int) and math.isfinite(value):
            cpu_number = cpu if isinstance(cpu, int) and cpu >= 0 else NO_CPU
            values.setdefault(name, {}).setdefault(cpu_number, {})[run] = value
            estimates |= {name} if row.get("estimate") else set()
    metrics: list[Metric] = []
    machine_ratios = []
    for name, stored in values.items():
        if ratio := _ratio(name, stored, events, name in estimates):
            metrics.append(ratio)
        elif by_cpu := {cpu: runs for cpu, runs in stored.items() if cpu != NO_CPU}:
            metrics.append(Stored(name=printable(name), unit="", estimate=name in estimates, values=by_cpu))
        else:
            machine_ratios.append((printable(name), statistics.median(stored[NO_CPU].values())))
    return metrics, tuple(machine_ratios)


def _ratio(name: str, stored: Counts, events: Mapping[str, Event], estimate: bool) -> Ratio | None:
    """The metric by the first formula of its name that gives what is stored."""
    for formula in FORMULAS:
        above, below = events.get(formula.above), events.get(formula.below)
        if formula.name != name or above is None or below is None:
            continue
        if _gives(formula, above.counts, below.counts, stored):
            return Ratio(
                name=name,
                unit="",
                about=formula.about,
                estimate=estimate,
                above=above.counts,
                below=below.counts,
                scale=formula.scale,
            )
    return None


def _gives(formula: Formula, above: Counts, below: Counts, stored: Counts) -> bool:
    for cpu, by_run in stored.items():
        cpus = [cpu] if cpu != NO_CPU else list(above)
        tops, bottoms = _by_run(above, cpus), _by_run(below, cpus)
        for run, value in by_run.items():
            under = bottoms.get(run)
            if not under or not math.isclose(formula.scale * tops.get(run, 0) / under, value, rel_tol=_NEAR):
                return False
    return True


def _by_run(counts: Counts, cpus: Iterable[int]) -> dict[int, Number]:
    """What these CPUs counted together in each run in which one of them did."""
    totals: dict[int, Number] = {}
    for cpu in cpus:
        for run, value in counts.get(cpu, {}).items():
            totals[run] = totals.get(run, 0) + value
    return totals


def _reading(values: Iterable[Number], middle: Callable[[list[float]], float]) -> Reading | None:
    finite_values = _finite(values)
    value = middle(finite_values) if finite_values else math.nan
    return Reading(value, min(finite_values), max(finite_values), len(finite_values)) if math.isfinite(value) else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _finite(values: Iterable[Number]) -> list[float]:
    return [float(value) for value in values if math.isfinite(value)]
