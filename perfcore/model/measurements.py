"""Jobs and plans to measure, and what comes of them: plain data that pickles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from perfcore.model import EMPTY
from perfcore.model.record import Record, replace

if TYPE_CHECKING:
    from perfcore.errors import PerfError
    from perfcore.model.profiles import Profile


WORKLOAD = "{workload}"
"""The position of the workload in a command."""


class Step(Record, frozen=True, kw_only=True):
    """A collector or postprocessor by name, with the options it is to run with (its Settings as JSON values)."""

    name: str
    params: Mapping[str, Any] = EMPTY


class Job(Record, frozen=True, kw_only=True):
    """What is measured: a command, with everything that is needed to run it and to say what it was.

    `argv` is authoritative: element 0 is the program. With `shell` it is one string for the shell. `cmd`,
    `args` and `workload` are what people call its parts. `cwd` is the directory it runs in, relative to the tree of
    its `version` where the plan has a source; `env` are the variables set on top of the inherited environment.
    `version` is None outside a repository. `activation` are the variables of the environment of that version, which
    `env` outweighs; they differ from version to version, so they are no part of the configuration. `params` are the
    values of parameters that stand in the command, by name.

    `workload_file` is the file of a generated workload, which takes the place of `{workload}` in `argv` while the
    command runs. Its path differs from run to run, so only its content counts for the configuration.
    """

    argv: tuple[str, ...]
    cmd: str
    args: str = ""
    workload: str = ""
    workload_file: Path | None = None
    shell: bool = False
    cwd: Path = Path()
    env: Mapping[str, str] = EMPTY
    activation: Mapping[str, str] = EMPTY
    params: Mapping[str, str] = EMPTY
    collector: Step = Step(name="time")
    postprocessors: tuple[Step, ...] = ()
    version: str | None = None
    dirty: bool = False

    @property
    def variables(self) -> Mapping[str, str]:
        """All variables that are set on top of the inherited environment."""
        return {**self.activation, **self.env}

    @property
    def label(self) -> str:
        """The command as people read it, in one line."""
        return " ".join(word for word in (self.cmd, self.args, self.workload) if word)

    @property
    def title(self) -> str:
        """The command and the version that it is measured of."""
        return self.label + (f" at {self.version[:10]}" if self.version else "")

    def with_workload(self) -> Job:
        """The job as it runs, with the path of its generated workload."""
        if self.workload_file is None:
            return self
        import shlex  # only generated workloads need it

        path = str(self.workload_file)
        text = shlex.quote(path) if self.shell else path
        return replace(self, argv=tuple(word.replace(WORKLOAD, text) for word in self.argv))


class Source(Record, frozen=True, kw_only=True):
    """Where an executor takes the trees of a plan from.

    `vcs`: the driver `vcs` around the working tree `root` exports them. `path`: `root` is the tree, as it is, of every
    job. `bundle`: `bundles` holds a tree for each version, packed by perfcore-executor-kit, and nothing else is needed.
    """

    kind: Literal["vcs", "path", "bundle"]
    root: Path | None = None
    vcs: Step | None = None
    bundles: Mapping[str, bytes] = EMPTY

    def __repr__(self) -> str:
        trees = f"<{len(self.bundles)} trees>"
        return f"Source(kind={self.kind!r}, root={self.root!r}, vcs={self.vcs!r}, bundles={trees})"


class Build(Record, frozen=True, kw_only=True):
    """The commands that build a tree, run one after the other at its root; each may take `timeout` seconds. Up to
    `cache` bytes of built trees are kept for the next command; `rebuild` uses none of them. `environment` names the
    plugin of their environment, `activation` are its variables where made. `skipped` is a build that is left out."""

    commands: tuple[str, ...] = ()
    shell: bool = False
    timeout: float = 3600
    cache: int = 0
    rebuild: bool = False
    skipped: bool = False
    environment: Step | None = None
    activation: Mapping[str, str] = EMPTY


class Requirement(Record, frozen=True, kw_only=True):
    """A plugin that a worker needs, of this distribution and version (empty: any)."""

    kind: str
    name: str
    distribution: str = ""
    version: str = ""


class Plan(Record, frozen=True, kw_only=True, eq=False):
    """Jobs that are measured in sessions; the jobs of one session are interleaved on one machine.

    `sessions` holds the positions of the jobs of each session. It is empty where all jobs share one, and None where
    the executor splits many versions by the size of their trees (`perfcore.measure.sessions`); an executor never
    splits a session. With a `source`, the executor makes the trees of the jobs' versions and builds them; without,
    each job's `cwd` is a directory that exists. `schedule` holds options of the schedule that outweigh those of the
    jobs' collectors. After `seconds` no block begins but the first that counts. Each `checkpoint` seconds, the runs
    finished so far are given as profiles marked incomplete; None: never.

    `requires` are plugins that a worker needs, and `wishes` what the machine should be (`cpus`, `memory_gib`, `system`,
    `arch`, `host`, `environment_id`); a wish that is not met is a note in the log. `context` is an offer to executors
    in the submitting process (`perfcore.measure.runner.Context`): it neither travels nor makes two plans differ.
    """

    jobs: tuple[Job, ...]
    schedule: Mapping[str, Any] = EMPTY
    sessions: tuple[tuple[int, ...], ...] | None = ()
    source: Source | None = None
    build: Build = Build()
    requires: tuple[Requirement, ...] = ()
    wishes: Mapping[str, Any] = EMPTY
    seconds: float | None = None
    checkpoint: float | None = None
    context: Any = None

    def _travelling(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "context"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._travelling() == other._travelling()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Plan({', '.join(f'{name}={value!r}' for name, value in self._travelling().items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Plan, **self._travelling()), ()


class Attempt(Record, frozen=True, kw_only=True):
    """One try to measure a job: the machine, when it began (ns since 1970 UTC), and why it failed, if it did."""

    worker: str
    started: int
    error: str = ""


class Measured(Record, frozen=True, kw_only=True):
    """What came of one job of a plan: a profile, or the error that ended it.

    A profile marked `incomplete` holds the runs finished so far; more may follow. `retry` says that another try may
    succeed, as after the loss of a worker, `no_tree` that the tree of the version could not be exported or built, and
    `log` is what the builds and the worker reported.
    """

    job: Job
    profile: Profile | None = None
    error: PerfError | None = None
    retry: bool = False
    no_tree: bool = False
    attempts: tuple[Attempt, ...] = ()
    log: str = ""
