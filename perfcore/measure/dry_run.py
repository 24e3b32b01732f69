"""What a request would measure, and for how long: nothing is built, run or saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from perfcore.errors import PerfError
from perfcore.measure.collection import Collection, Progress, with_shares
from perfcore.measure.execution import resolve, runner_context
from perfcore.measure.request import MeasureRequest
from perfcore.model import Job, Plan, Profile
from perfcore.model.listener import SilentListener
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref, pending_refs


@attrs.frozen
class PlannedJob:
    """A job with the options of its schedule resolved, and the seconds that its runs are expected to take: None where
    no profile of the command is stored."""

    job: Job
    seconds: float | None

    @property
    def schedule(self) -> Mapping[str, Any]:
        """The options of the schedule, those of the collector among them."""
        return self.job.collector.params


def planned(repository: Repository, request: MeasureRequest) -> tuple[PlannedJob, ...]:
    """The jobs of a request that have something to measure, the oldest version first."""
    silent = Progress(SilentListener())
    # Nothing runs, so options that the user has not trusted yet are only read.
    context = replace(runner_context(repository, silent), options=repository.config.plugin_options)
    requested = Collection(repository, request, silent, context)
    resolved = resolve(Plan(jobs=requested.jobs(), schedule=request.schedule), context).jobs
    jobs = with_shares([target.submitted for target in requested.targets(resolved)])
    durations = _durations(repository, {(job.label, job.collector.name) for job in jobs})
    return tuple(PlannedJob(job, _expected(job, durations.get((job.label, job.collector.name)))) for job in jobs)


def _expected(job: Job, run: float | None) -> float | None:
    params = job.collector.params
    if params["budget"] is not None:
        return float(params["budget"] + params["warmup"] * (run or 0))
    return None if run is None else (params["repeat"] + params["warmup"]) * run


def _durations(repository: Repository, commands: set[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """The seconds of a run by (label, collector), from the newest profile of each, registered or pending."""
    stored = [(e.created, (e.label, e.collector), Ref("index", 0, v, e)) for v, e in repository.everywhere()]
    pending = [(p, ref) for ref in pending_refs(repository.pending()) if ref.pending and (p := ref.pending.profile)]
    stored += [(profile.created, (profile.label, profile.collector.name), ref) for profile, ref in pending]
    durations, newest = {}, {key: ref for _, key, ref in sorted(stored, key=lambda each: each[0]) if key in commands}
    for key, ref in newest.items():
        try:
            profile = repository.load(ref)
        except PerfError:  # damaged: `perf fsck` names it, and an estimate needs no error
            continue
        if (seconds := run_seconds(profile)) is not None:
            durations[key] = seconds
    return durations


def run_seconds(profile: Profile) -> float | None:
    """The seconds of a run with all that belongs to it, from the start of the first run of a session to that of its
    last one. None for less than two runs of each session."""
    runs = profile.tables.get("runs")
    if runs is None:
        return None
    sessions: dict[str, list[tuple[int, int, int]]] = {}
    columns: Any = (runs["session"], runs["started"], runs["block"], runs["position"])
    for session, *start in zip(*columns, strict=True):
        sessions.setdefault(session, []).append((start[0], start[1], start[2]))
    estimates = [_seconds_of(sorted(starts)) for starts in sessions.values() if len(starts) > 1]
    return sum(estimates) / len(estimates) if estimates else None


def _seconds_of(starts: Sequence[tuple[int, int, int]]) -> float:
    """From (nanoseconds, block, position), the earliest first. The runs of other jobs are in between: every other block
    goes backwards, so the first and the last position of a job tell how many jobs took turns."""
    positions = [position for _, _, position in starts]
    jobs = min(positions) + max(positions) + 1
    (first, first_block, first_position), (last, last_block, last_position) = starts[0], starts[-1]
    turns = (last_block - first_block) * jobs + last_position - first_position
    return (last - first) / 1e9 / max(1, turns)
