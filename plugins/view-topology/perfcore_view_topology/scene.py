"""What is shown: one profile on its machine, or two beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from perfcore.errors import NotFoundError, PerfError, UsageError, nearest
from perfcore.text import clip, plural, printable
from perfcore_view_topology import words
from perfcore_view_topology.machine import LEVELS, PLURALS, listed, machine
from perfcore_view_topology.readings import NO_CPU, readings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perfcore.model import Profile, ViewData
    from perfcore_view_topology.machine import Machine
    from perfcore_view_topology.readings import Metric, Reading, Readings

SIDES = ("baseline", "target")
UNKNOWN = "unknown"
_LEVELS = {"kind": "kinds of cores", "thread": "threads", **PLURALS}
_DIVIDED = {
    "kernel": "divided among the CPUs by the kernel",
    "sampled": "each thread's counts given to the CPU where it was seen",
}
_LONG = 200
# Where fewer than one in so many numbers is a CPU, what lies between is not told.
_SPARSE = 8


@attrs.frozen
class Side:
    """A profile on its machine; the texts can be shown as they are."""

    name: str
    command: str
    machine: Machine
    readings: Readings
    basis: str = ""

    @property
    def unknown(self) -> tuple[int, ...]:
        """Where something was counted that the machine does not have, NO_CPU first."""
        return tuple(sorted(self.readings.cpus - set(self.machine.cpus)))

    def reading(self, metric: str, cpus: Iterable[int]) -> Reading | None:
        metric_readings = self.readings.metric(metric)
        return metric_readings.reading(cpus) if metric_readings else None

    def share(self, metric: str, cpus: Iterable[int]) -> float | None:
        metric_readings = self.readings.metric(metric)
        return metric_readings.share(cpus) if metric_readings else None

    @property
    def facts(self) -> tuple[str, ...]:
        """What the numbers rest on, and what the machine is."""
        cpus, levels = self.machine.cpus, self.machine.telling
        threads = plural(len(cpus), "hardware thread")
        runs = plural(self.readings.runs, "run")
        held = [f"{len(self.machine.groups(level)):,} {PLURALS[level]}" for level in reversed(levels)]
        gaps = [cpu for cpu in range(max(cpus)) if cpu not in cpus] if max(cpus) < _SPARSE * len(cpus) else []
        hidden = [f"CPU {listed(gaps)} offline or hidden"] if gaps else []
        averaging = f"mean of {runs}" if self.readings.runs > 1 else "1 run"
        return tuple(filter(None, (", ".join([threads, *held, *hidden]), averaging, self.basis)))


@attrs.frozen
class Shift:
    """What share of a metric a part of the machine had before and after."""

    part: str
    before: float
    after: float


@attrs.frozen
class Moved:
    """What share of a metric is in another part of a level than it was, and by part. Where one part only grew, nothing
    has moved, although all shares change. `grown` is the target's total over the baseline's."""

    level: str
    share: float
    shifts: tuple[Shift, ...]
    grown: float = 1.0

    @property
    def told(self) -> str:
        if round(self.share, 3) or all(shift.before == shift.after for shift in self.shifts):
            return f"{words.share(self.share)} moved"
        return f"nothing moved, there is {'more' if self.grown > 1 else 'less'} of it"

    @property
    def words(self) -> str:
        return _LEVELS.get(self.level, self.level)


@attrs.frozen
class Scene:
    """One side, or baseline and target; `metrics` are those of either."""

    sides: tuple[Side, ...]
    metrics: tuple[Metric, ...]

    @property
    def comparable(self) -> bool:
        """Whether there are two sides of one machine, so that each thread can be compared."""
        return len(self.sides) == 2 and self.sides[0].machine.cpus == self.sides[1].machine.cpus

    @property
    def title(self) -> str:
        return " → ".join(dict.fromkeys(side.command or side.name for side in self.sides))

    def metric(self, name: str | None) -> Metric:
        """The metric of this name, or the first. UsageError for one that is not there."""
        for metric in self.metrics:
            if name is None or metric.name == printable(name):
                return metric
        metric_names = [metric.name for metric in self.metrics]
        hint = "; ".join(
            filter(None, (nearest(printable(str(name)), metric_names), f"there are {', '.join(metric_names)}"))
        )
        raise UsageError(f"no CPU has a value of {printable(str(name))!r}", hint=clip(hint, _LONG))

    def scale(self, metric: str) -> tuple[float, float]:
        """The least and the largest value of a thread, and 0: colours mean the same on both sides."""
        readings = [
            reading.value
            for side in self.sides
            for cpu in (*side.machine.cpus, *side.unknown)
            if (reading := side.reading(metric, [cpu]))
        ]
        # 0 is always on the scale, or else the thread with the least would look idle.
        return min(0.0, *readings, 0.0), max(0.0, *readings, 0.0)

    def moved(self, metric: str) -> tuple[Moved, ...]:
        """What is where it was not before, level by level; nothing for what has no shares."""
        if len(self.sides) != 2:
            return ()
        telling = {level for side in self.sides for level in side.machine.telling}
        # Packages and NUMA nodes have roles on any machine; cores of one number are unrelated on another.
        telling &= set(LEVELS) if self.comparable else {"package", "numa"}
        levels = [level for level in LEVELS if level in telling and not self._as_threads(level)]
        levels += ["kind", "thread"] if self.comparable else ["kind"]
        movements = [_moved(self.sides, metric, level) for level in levels]
        return tuple(moved for moved in movements if moved is not None)

    def _as_threads(self, level: str) -> bool:
        return all(len(side.machine.groups(level)) == len(side.machine.cpus) for side in self.sides)


def scene(subject: ViewData) -> Scene:
    """The scene of one profile or of two. PerfError that says which profile cannot be shown, and why."""
    if not subject.profiles:
        raise NotFoundError("there is no profile to show")
    if len(subject.profiles) > 2:
        raise UsageError(
            f"one profile is shown, or two beside each other, and {len(subject.profiles)} are named",
            hint="perf show BASELINE TARGET topology",
        )
    names = [*subject.names, *SIDES][: len(subject.profiles)] if subject.names else SIDES[: len(subject.profiles)]
    sides = tuple(_side(profile, printable(name)) for profile, name in zip(subject.profiles, names, strict=True))
    sides = _with_units_told(sides)
    metrics = {metric.name: metric for side in reversed(sides) for metric in side.readings.metrics}
    order = dict.fromkeys(metric.name for side in sides for metric in side.readings.metrics)
    return Scene(sides, tuple(metrics[name] for name in order))


def _with_units_told(sides: tuple[Side, ...]) -> tuple[Side, ...]:
    """A metric that has another unit on the other side is another metric, and its name says so."""
    units: dict[str, set[str]] = {}
    for side in sides:
        for metric in side.readings.metrics:
            units.setdefault(metric.name, set()).add(metric.unit)

    def told(metric: Metric) -> Metric:
        several = len(units[metric.name]) > 1
        return attrs.evolve(metric, name=f"{metric.name} in {metric.unit or 'no unit'}") if several else metric

    return tuple(
        attrs.evolve(side, readings=attrs.evolve(side.readings, metrics=tuple(map(told, side.readings.metrics))))
        for side in sides
    )


def _side(profile: Profile, name: str) -> Side:
    try:
        topology, counted = machine(profile), readings(profile)
    except NotFoundError as error:
        raise PerfError(f"{clip(name, _LONG)} cannot be drawn: {error.message}", hint=error.hint) from error
    sampling = profile.collector.sampling
    basis = [_DIVIDED.get(str(sampling.get("attribution")), "")]
    basis += ["estimates, as the events took turns"] if sampling.get("multiplexed") is True else []
    return Side(
        name=clip(name, _LONG),
        command=clip(printable(profile.label).strip(), _LONG),
        machine=topology,
        readings=counted,
        basis="; ".join(filter(None, basis)),
    )


def _moved(sides: Sequence[Side], metric: str, level: str) -> Moved | None:
    parts = [_shares(side, metric, level) for side in sides]
    if any(not component for component in parts) or len({*parts[0], *parts[1]} - {UNKNOWN}) < 2:
        return None
    before, after = parts
    shifts = tuple(
        Shift(component, before.get(component, 0.0), after.get(component, 0.0)) for component in {**before, **after}
    )
    totals = [_total(side, metric) for side in sides]
    if min(totals) <= 0:
        return Moved(level, sum(max(0.0, shift.after - shift.before) for shift in shifts), shifts)
    changes = [shift.after * totals[1] - shift.before * totals[0] for shift in shifts]
    came, went = sum(max(0.0, change) for change in changes), sum(max(0.0, -change) for change in changes)
    return Moved(level, min(came, went) / min(totals), shifts, totals[1] / totals[0])


def _total(side: Side, metric: str) -> float:
    everything = side.reading(metric, (*side.machine.cpus, *side.unknown))
    return everything.value if everything else 0.0


def _shares(side: Side, metric: str, level: str) -> dict[str, float]:
    """The share of each part of a level; nothing where the machine does not know the level."""
    groups = _groups(side.machine, level)
    held = {cpu for cpus in groups.values() for cpu in cpus}
    remaining_cpus = [cpu for cpu in (*side.machine.cpus, *side.unknown) if cpu not in held]
    if not groups or side.share(metric, (*held, *remaining_cpus)) is None:
        return {}
    shares = {component: side.share(metric, cpus) or 0.0 for component, cpus in groups.items()}
    unknown = side.share(metric, remaining_cpus) if remaining_cpus else None
    return shares if not unknown else {**shares, UNKNOWN: unknown}


def _groups(found: Machine, level: str) -> dict[str, tuple[int, ...]]:
    if level == "thread":
        return {f"CPU {cpu}": (cpu,) for cpu in found.cpus}
    if level == "kind":
        return {f"{kind} cores": cpus for kind, cpus in found.by_kind().items()}
    return found.groups(level)


def cpu_label(cpu: int) -> str:
    """`CPU 3`; what was counted at no known place says so."""
    return "no CPU known" if cpu == NO_CPU else f"CPU {cpu}"
