"""The things perfcore talks about: frozen, without I/O.

Times are integers: nanoseconds since 1970 UTC where the name ends in `_ns` or is `created`; dates of versions
are seconds since 1970 UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

if TYPE_CHECKING:
    from perfcore.errors import PerfError
    from perfcore.profile.table import Table

PROFILE_FORMAT = 1
EMPTY: Mapping[str, Any] = {}

ChangeKind = Literal["degradation", "optimization", "variance", "machine", "same", "cannot tell"]


@attrs.frozen(kw_only=True)
class MinorVersion:
    """One version of the code (in git a commit)."""

    id: str
    parents: tuple[str, ...] = ()
    author: str = ""
    email: str = ""
    date: int = 0
    subject: str = ""

    @property
    def short(self) -> str:
        return self.id[:10]


@attrs.frozen(kw_only=True)
class MajorVersion:
    """A named line of minor versions (in git a branch). `name` is empty for a detached head, `head` is None
    for a branch that has no version yet."""

    name: str
    head: str | None


@attrs.frozen(kw_only=True)
class Step:
    """A collector or postprocessor by name, with the options it is to run with (its Settings as JSON values)."""

    name: str
    params: Mapping[str, Any] = EMPTY


@attrs.frozen(kw_only=True)
class Job:
    """What is measured: a command, with everything that is needed to run it and to say what it was.

    `argv` is authoritative: element 0 is the program. With `shell` it is one string for the shell. `cmd`,
    `args` and `workload` are what people call its parts. `cwd` is the folder of the tree that is measured,
    `env` the variables set on top of the inherited environment. `version` is None outside a repository.
    """

    argv: tuple[str, ...]
    cmd: str
    args: str = ""
    workload: str = ""
    shell: bool = False
    cwd: Path = Path()
    env: Mapping[str, str] = EMPTY
    collector: Step = Step(name="time")
    postprocessors: tuple[Step, ...] = ()
    version: str | None = None
    dirty: bool = False

    @property
    def label(self) -> str:
        """The command as people read it, in one line."""
        return " ".join(part for part in (self.cmd, self.args, self.workload) if part)


@attrs.frozen(kw_only=True)
class Header:
    """What a profile is of. `type` is any word of `[a-z0-9][a-z0-9.-]*`; `units` maps metrics to units where a
    column does not say; `exitcode` is the worst of the measured runs."""

    type: str
    argv: tuple[str, ...] = ()
    cmd: str = ""
    args: str = ""
    workload: str = ""
    shell: bool = False
    units: Mapping[str, str] = EMPTY
    exitcode: int | None = None
    tags: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return " ".join(part for part in (self.cmd, self.args, self.workload) if part)


@attrs.frozen(kw_only=True)
class Tool:
    """A collector or postprocessor as it was used: name, version, options, and how it sampled."""

    name: str
    version: str = ""
    params: Mapping[str, Any] = EMPTY
    sampling: Mapping[str, Any] = EMPTY


@attrs.frozen(kw_only=True)
class Profile:
    """What one collector measured for one job. Tables are `resources`, `runs`, `stacks`, `frames`, `functions`,
    `snapshots`, `models`, and any other that a collector adds.

    `origin` is the version it was collected for, kept while the profile is pending; `dirty` says that the tree
    held uncommitted changes. `sources` are the ids of the profiles it was made from.
    """

    header: Header
    created: int
    collector: Tool
    postprocessors: tuple[Tool, ...] = ()
    machine: Mapping[str, Any] = EMPTY
    config_id: str = ""
    environment_id: str = ""
    sources: tuple[str, ...] = ()
    origin: str | None = None
    dirty: bool = False
    notes: tuple[str, ...] = ()
    tables: Mapping[str, Table] = EMPTY

    def table(self, name: str) -> Table | None:
        return self.tables.get(name)

    @property
    def label(self) -> str:
        return self.header.label

    def replace_tables(self, **tables: Table) -> Profile:
        """The same profile with other tables of these names."""
        return attrs.evolve(self, tables={**self.tables, **tables})


@attrs.frozen(kw_only=True, order=False)
class Entry:
    """A profile as the index of its version lists it: everything that `log` and `status` show."""

    profile: str
    created: int
    name: str
    type: str
    tables: tuple[str, ...] = ()
    cmd: str = ""
    args: str = ""
    workload: str = ""
    collector: str = ""
    postprocessors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    config_id: str = ""
    environment_id: str = ""
    tombstone: bool = False

    @property
    def label(self) -> str:
        return " ".join(part for part in (self.cmd, self.args, self.workload) if part)


@attrs.frozen(kw_only=True)
class Sample:
    """The runs of one profile or of several of the same configuration, as a check compares them.

    `version` is the full id, or None for a profile that belongs to no version; `profiles` is never empty.
    """

    version: str | None
    profiles: tuple[Profile, ...]
    dirty: bool = False

    @property
    def label(self) -> str:
        short = self.version[:10] if self.version else "pending"
        return short + ("+dirty" if self.dirty else "")


@attrs.frozen(kw_only=True)
class Pairing:
    """Two samples of one configuration. `interleaved` says that their runs were taken in turn, so that run k of
    one and run k of the other are a pair. `thresholds` maps a metric to the smallest relative change that
    matters; the key "" is the default. `comparisons` is how many pairings are compared at once: the more, the
    likelier one of them looks like a change by chance. `share` is the part of its chance of a false alarm that a check
    may spend here, less than 1 where the same runs are looked at several times while they grow. `metric` is the one
    that decides, where the user chose it. `aside` says that the baseline is on a line that was merged into the
    target's: what it tells decides nothing."""

    baseline: Sample
    target: Sample
    config_id: str
    interleaved: bool = False
    thresholds: Mapping[str, float] = EMPTY
    comparisons: int = 1
    share: float = 1.0
    metric: str | None = None
    aside: bool = False

    @property
    def label(self) -> str:
        return self.target.profiles[0].label


@attrs.frozen(kw_only=True)
class Series:
    """One metric of one resource over the versions of a branch, oldest first: `values[i]` are the runs that
    were measured for `versions[i]` in the environment `environments[i]`. `comparisons` is how many series are looked at
    at once: the more, the likelier one of them looks like a change by chance. `threshold` is the smallest relative
    change that matters, None where nobody said. `sessions[i]` says in which sessions the runs of `values[i]` were
    measured: in their order each session, empty where it is not known, and how many of the runs are of it. It is left
    out altogether where no session measured several versions."""

    config_id: str
    metric: str
    unit: str
    resource: str
    versions: tuple[str, ...]
    environments: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    better: Literal["lower", "higher"] = "lower"
    label: str = ""
    comparisons: int = 1
    threshold: float | None = None
    sessions: tuple[tuple[tuple[str, int], ...], ...] = ()


@attrs.frozen(kw_only=True)
class Change:
    """What a check says of one metric. A `variance` is another noise around the same level, `machine` a change of
    what measured and not of the code. `ratio` is target over baseline with the interval `low` to `high` at the
    level `confidence`; `p_value` is that of the test, where there was one. `evidence` says in words what the
    verdict rests on; `needed` is how many interleaved pairs would tell, where that can be said of a `cannot tell`.
    `id` stays the same when later data move the estimate.

    `baseline` and `target` are the beginnings of the ids of the last version before the change and of the first
    that shows it. In a history the change may have come with any version from `earliest` to `latest`, and `undone`
    is the version that took it back, if one did; all three are full ids. `contract` is the sentence that this is
    the verdict on, a broken one being a degradation; then `baseline_value` is what was allowed."""

    id: str
    kind: ChangeKind
    metric: str
    unit: str = ""
    resource: str = ""
    config_id: str = ""
    label: str = ""
    baseline: str = ""
    target: str = ""
    baseline_value: float | None = None
    target_value: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    p_value: float | None = None
    primary: bool = True
    evidence: str = ""
    earliest: str = ""
    latest: str = ""
    undone: str = ""
    contract: str = ""
    needed: int | None = None


@attrs.frozen(kw_only=True)
class Plan:
    """Jobs that are measured together, in turn, on one machine: an executor never splits a plan.

    `schedule` holds options of the schedule that outweigh those of the jobs' collectors. `context` is what the
    submitting process offers an executor that works in it (`perfcore.jobs.runner.Context`); others ignore it.
    """

    jobs: tuple[Job, ...]
    schedule: Mapping[str, Any] = EMPTY
    context: Any = None


@attrs.frozen(kw_only=True)
class Measured:
    """What came of one job of a plan: a profile, or the error that ended it."""

    job: Job
    profile: Profile | None = None
    error: PerfError | None = None


@attrs.frozen(kw_only=True)
class Subject:
    """What a view shows: profiles with their versions, changes, and the source of a version through the VCS.

    `names[i]` is what the user called `profiles[i]`. `source(version, path)` gives a file's bytes or None.
    """

    profiles: tuple[Profile, ...]
    names: tuple[str, ...] = ()
    versions: tuple[MinorVersion | None, ...] = ()
    changes: tuple[Change, ...] = ()
    source: Callable[[str, str], bytes | None] | None = None
