"""When each job is run: repeats, warm-up, budget, and the order in which several jobs take turns.

Jobs of one plan are interleaved in blocks, every other block backwards (A B, B A, ...), so that a machine that
drifts disturbs all of them alike. Measured one after the other instead, identical programs differ "significantly"
in 13 to 43 of 100 comparisons on a shared machine; interleaved in 0 to 7.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from perfcore.config.settings import OptionInfo as Info
from perfcore.config.settings import structure
from perfcore.model.record import Record
from perfcore.named_tuple import NamedTuple

LEAST_RUNS = 3  # for any budget: the median of three outlives an outlier, and more would overrun short budgets by far
_ANY_NUMBER = 10_000_000  # of runs


class Schedule(Record, frozen=True, kw_only=True):
    """How often and in which order. The same options for every collector."""

    # A signed-rank test reaches p < 0.05 with 6 pairs, p < 0.01 with 8: ten leave room for two disturbed runs.
    repeat: Annotated[int, Info("The number of measured runs.", minimum=1, maximum=_ANY_NUMBER, flags=("-r",))] = 10
    # The first run reads program and data from the disk, later ones from the page cache.
    warmup: Annotated[int, Info("The number of warm-up runs, which do not count.", minimum=0, maximum=1_000_000)] = 1
    budget: Annotated[
        float | None,
        Info(
            "Measure for this long, preparing included, instead of a number of runs; at most --repeat runs if given.",
            unit="s",
            minimum=0.001,
            flags=("-t",),
        ),
    ] = None
    order: Annotated[
        str, Info("The order of the runs of several jobs.", choices=("interleaved", "blocks", "random"))
    ] = "interleaved"
    retry_disturbed: Annotated[
        int, Info("The number of disturbed runs of a job to repeat.", minimum=0, maximum=1_000_000)
    ] = 0
    cpu: Annotated[str | None, Info("The CPUs to run on, such as 1, or 0-3,5.", metavar="LIST")] = None

    @property
    def cpus(self) -> frozenset[int]:
        """Their numbers; empty for any. UsageError for what is no list of CPUs that this process may use."""
        if self.cpu is None:
            return frozenset()
        from perfcore.measure import affinity  # most commands pin nothing

        return affinity.cpus(self.cpu)

    def pinned(self) -> contextlib.AbstractContextManager[None]:
        """What is started meanwhile runs on these CPUs."""
        if self.cpu is None:
            return contextlib.nullcontext()
        from perfcore.measure import affinity

        return affinity.pinned(self.cpus)


class Turn(NamedTuple):
    """One run to be taken: of which job (by number), in which block, at which place of it; and how many follow."""

    job: int
    block: int
    position: int
    warmup: bool
    following: int = 0


SCHEDULE_KEYS = Schedule.__struct_fields__


def split_options(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(options of the schedule, options of the collector) of what a user wrote for a collector."""
    names = {key: key.replace("-", "_") for key in values}
    scheduled = {names[key]: value for key, value in values.items() if names[key] in SCHEDULE_KEYS}
    return scheduled, {key: value for key, value in values.items() if names[key] not in SCHEDULE_KEYS}


def make(*layers: Mapping[str, Any], where: str) -> Schedule:
    """The schedule of several mappings, the later the stronger: a budget takes the place of an earlier number of runs,
    and the other way round. One mapping that has both means both."""
    values: dict[str, Any] = {}
    for layer in layers:
        if ("repeat" in layer) != (layer.get("budget") is not None):
            values |= {"budget": None} if "repeat" in layer else {"repeat": _ANY_NUMBER}
        values.update(layer)
    return structure(Schedule, values, where=where)


def turns(schedules: list[Schedule], clock: Callable[[], float]) -> Iterator[Turn]:
    """Every run of a plan in order, `schedules[i]` being that of job i. `clock` gives seconds, for budgets."""
    block = max((s.warmup for s in schedules), default=0)
    for index in range(block):
        warming = [i for i, s in enumerate(schedules) if index < s.warmup]
        yield from _block(warming, index, "interleaved", warmup=True)
    if any(s.order == "blocks" for s in schedules):
        for i in range(len(schedules)):
            for turn in _series([i], schedules, clock, first=block):
                block = turn.block + 1
                yield turn
    else:
        yield from _series(list(range(len(schedules))), schedules, clock, first=block)


def again(jobs: list[int], block: int) -> Iterator[Turn]:
    """One block more, of all jobs that share it, so that its runs still are pairs."""
    return _block(jobs, block, "interleaved", warmup=False)


def _series(jobs: list[int], schedules: list[Schedule], clock: Callable[[], float], *, first: int) -> Iterator[Turn]:
    start, done = clock(), 0
    while active := [i for i in jobs if _wanted(schedules[i], done, clock() - start, len(jobs))]:
        alone = schedules[active[0]] if len(active) == 1 else None
        if alone and alone.budget is None:
            runs = range(done, alone.repeat)
            yield from (Turn(active[0], first + run, 0, False, alone.repeat - run - 1) for run in runs)
            return
        yield from _block(active, first + done, schedules[jobs[0]].order, warmup=False)
        done += 1


def _wanted(schedule: Schedule, done: int, elapsed: float, sharing: int) -> bool:
    # A budget is one job's, and `sharing` take turns.
    in_time = schedule.budget is None or done < LEAST_RUNS or elapsed < schedule.budget * sharing
    return in_time and done < schedule.repeat


def _block(jobs: list[int], block: int, order: str, *, warmup: bool) -> Iterator[Turn]:
    if order == "random":
        import random

        jobs = random.Random(block).sample(jobs, len(jobs))  # seeded: one plan has one order, wherever it is measured
    elif block % 2:
        jobs = jobs[::-1]  # A B, B A: a drift that is a straight line cancels
    for position, job in enumerate(jobs):
        yield Turn(job, block, position, warmup)
