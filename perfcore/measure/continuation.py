"""Continues an interrupted measurement: finds the incomplete profile of a job, and joins the runs of both sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfcore import environment
from perfcore.errors import FormatError, UsageError
from perfcore.measure import runner
from perfcore.measure.schedule import split_options
from perfcore.model.record import replace
from perfcore.profile.table import Table, column, concat, table
from perfcore.repository.registration import entry_of

if TYPE_CHECKING:
    from perfcore.model import Job, Profile
    from perfcore.store.pending import Pending

_TABLES = {"resources", "runs"}  # others refer to one another by row; a profile with them is measured anew


def pending_profile(pending: Sequence[Pending], job: Job, context: runner.Context) -> Pending | None:
    """The pending profile of a resolved job, complete or to be continued: of its version, options and this machine."""
    return next((kept for kept in pending if kept.profile and _continues(job, kept.profile, context)), None)


def missing_runs(profile: Profile, job: Job) -> int | None:
    """How many runs a resolved job still has to add; None where it is measured for a time instead."""
    if not profile.incomplete:
        return 0
    if job.collector.params.get("budget") is not None:
        return None
    return max(0, int(job.collector.params["repeat"]) - counted_runs(profile))


def counted_runs(profile: Profile) -> int:
    """The runs of a profile without its warm-ups."""
    return sum(not warmup for warmup in profile.tables["runs"]["warmup"])


def joined(earlier: Profile, later: Profile) -> Profile:
    """The runs of both, numbered on. UsageError where they are not comparable."""
    if (earlier.config_id, earlier.environment_id) != (later.config_id, later.environment_id):
        raise UsageError(
            f"{later.label} was interrupted under another configuration or on another machine",
            hint="measure it anew, without --continue",
        )
    first = 1 + max((int(run) for run in earlier.tables["runs"]["run"] if run is not None), default=-1)
    try:
        tables = {
            name: concat([earlier.tables[name], _numbered_on(later.tables[name], first)]) for name in sorted(_TABLES)
        }
    except FormatError as error:
        raise UsageError(f"{later.label}: {error.message}", hint="measure it anew, without --continue") from error
    codes = [code for code in (earlier.header.exitcode, later.header.exitcode) if code is not None]
    return replace(
        later,
        header=replace(later.header, exitcode=max(codes, key=abs, default=None)),  # a signal is negative
        created=earlier.created,
        notes=tuple(dict.fromkeys((*earlier.notes, *later.notes))),
        tables=tables,
    )


def _continues(job: Job, profile: Profile, context: runner.Context) -> bool:
    plain = replace(job, postprocessors=()) if profile.incomplete else job
    return (
        (profile.header.argv, profile.header.shell) == (job.argv, job.shell)
        and profile.origin == job.version
        and not (profile.dirty or job.dirty)  # uncommitted changes may be others by now
        and runner.fits(plain, entry_of(profile, id="", name="", tables=()), context)
        # The options of the schedule may change between two sessions.
        and split_options(profile.collector.params)[1] == split_options(job.collector.params)[1]
        and profile.environment_id == environment.environment_id(context.machine)
        and (not profile.incomplete or set(profile.tables) == _TABLES)
    )


def _numbered_on(source: Table, first: int) -> Table:
    """The table with its runs numbered from `first`."""
    numbers = column("run", [None if run is None else int(run) + first for run in source["run"]], dtype="i64")
    columns = [replace(numbers, spec=each.spec) if each.name == "run" else each for each in source.columns]
    return table(source.name, columns)
