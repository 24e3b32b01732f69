"""`--dry-run` of `collect` and `run`: the versions, the runs and the expected time."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore.cli.console import Console
from perfcore.measure.collect_result import SCHEMA
from perfcore.measure.dry_run import PlannedJob, planned
from perfcore.measure.request import MeasureRequest
from perfcore.repository.repository import Repository
from perfcore.text import align, plural, printable, quantity


def show(console: Console, repository: Repository, request: MeasureRequest, *, as_json: bool) -> None:
    """A line for each job of each version, and the sums."""
    jobs = planned(repository, request)
    if as_json:
        console.json({"schema": SCHEMA, "jobs": [_as_json(each) for each in jobs], "seconds": _total(jobs)})
        return
    any_time = any(each.seconds is not None for each in jobs)
    rows = [
        (
            (each.job.version or "")[:10],
            printable(each.job.collector.name),
            _runs(each),
            *([_time(each.seconds)] if any_time else []),
            printable(each.job.label),
        )
        for each in jobs
    ]
    console.write("".join(f"{line.strip()}\n" for line in align(rows)))
    if not jobs:
        console.line("nothing to measure")
        return
    versions = plural(len({each.job.version for each in jobs}), "version")
    total = _total(jobs)
    time = f"{_time(total)} without builds" if total is not None else "no stored run says how long all of it takes"
    console.line(f"{plural(len(jobs), 'job')} of {versions}: {time}")


def _as_json(planned_job: PlannedJob) -> dict[str, object]:
    job, schedule = planned_job.job, planned_job.schedule
    return {
        "version": job.version,
        "collector": job.collector.name,
        "command": job.label,
        "argv": list(job.argv),
        "runs": None if schedule["budget"] is not None else schedule["repeat"],
        "warmup": schedule["warmup"],
        "seconds": planned_job.seconds,
    }


def _runs(planned_job: PlannedJob) -> str:
    schedule = planned_job.schedule
    warmup = f" + {schedule['warmup']}" if schedule["warmup"] else ""
    if schedule["budget"] is not None:
        return f"for {quantity(schedule['budget'], 's')}{warmup}"
    return f"{schedule['repeat']}{warmup} runs" if warmup else plural(schedule["repeat"], "run")


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f"about {quantity(seconds, 's')}"


def _total(jobs: Sequence[PlannedJob]) -> float | None:
    """None where one is not known."""
    times = [each.seconds for each in jobs if each.seconds is not None]
    return sum(times) if len(times) == len(jobs) else None
