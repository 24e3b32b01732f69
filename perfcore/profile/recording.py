"""What a collector writes into while it measures: a session for a job, and a run within it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from perfcore.errors import FormatError
from perfcore.model import Job
from perfcore.model.record import Record
from perfcore.profile.table import ColumnSpec, Table, TableBuilder, Value

if TYPE_CHECKING:
    from perfcore.plugins.registry import Plugins
    from perfcore.profile.stacks import StackBuilder

RUN = ColumnSpec("run", "i64", role="order")
RUNS = (
    ColumnSpec("run", "i64", role="order"),
    ColumnSpec("session", "str"),
    ColumnSpec("block", "i64", role="order"),
    ColumnSpec("position", "i64", role="order"),
    ColumnSpec("started", "i64", "ns", "order"),
    ColumnSpec("warmup", "bool"),
    ColumnSpec("disturbed", "bool"),
    ColumnSpec("exit", "i64"),
)


class Session:
    """One job under one collector, from `before` to `after`.

    `workspace` is a private directory that is removed afterwards, `plugins` are those that the measuring command has.
    `state` is the collector's own. Rows of `tables["resources"]` are written through `Run.rows`, call stacks through
    `stacks`; other tables by `table()`. `sampling` describes the method and is stored, `notes` are stored and shown.
    """

    def __init__(self, job: Job, *, columns: Sequence[ColumnSpec] = (), state: Any = None) -> None:
        self.job = job
        self.state = state
        self.workspace: Path | None = None
        self.plugins: Plugins | None = None
        self.profile_type = job.collector.name.rpartition(":")[2]  # the short name of the plugin
        self.sampling: dict[str, Any] = {}
        self.notes: list[str] = []
        self.tables: dict[str, TableBuilder] = {"resources": TableBuilder("resources", (RUN, *columns))}

    def table(self, name: str, specs: Sequence[ColumnSpec] = ()) -> TableBuilder:
        """The table of this name, made with these columns when it is asked for first."""
        if name not in self.tables:
            self.tables[name] = TableBuilder(name, specs)
        return self.tables[name]

    @functools.cached_property
    def stacks(self) -> StackBuilder:
        """The call stacks of the profile: `stacks.add(frames)` gives the number of a stack, outermost frame first, for
        a column `stack` of the resources. Its tables are part of the profile once this was used."""
        # Most collectors have no stacks, and a command that measures loads as little as it can.
        from perfcore.profile.stacks import StackBuilder

        return StackBuilder()

    def build_tables(self, *, copy: bool = False) -> dict[str, Table]:
        """All tables as they are so far, those of `stacks` included; as a copy where more rows are to follow."""
        built = {name: builder.snapshot() if copy else builder.build() for name, builder in self.tables.items()}
        stacks = self.stacks.tables() if "stacks" in self.__dict__ else {}
        for name in stacks.keys() & built.keys():
            raise FormatError(f"the collector wrote table {name!r} twice: by `session.stacks` and by `session.table`")
        return built | stacks

    def note(self, text: str) -> None:
        """Something the reader of the profile should know; said once."""
        if text not in self.notes:
            self.notes.append(text)


class Rows:
    """The rows of one run: each gets the run's number in the column `run`."""

    def __init__(self, table: TableBuilder, run: int) -> None:
        self.table = table
        self._run = run

    def add(self, **values: Value) -> None:
        """One resource."""
        self.table.add(run=self._run, **values)

    def extend(self, columns: Mapping[str, Sequence[Value]]) -> None:
        """Many resources, as columns of one length."""
        rows = len(next(iter(columns.values()), ()))
        self.table.extend({"run": [self._run] * rows, **columns})


class Run:
    """One execution that is being measured. The collector sets `exitcode` (negative: the signal that ended it),
    `disturbed` when the machine got in the way, and writes rows; a warm-up's rows are not kept.

    Runs with the same `block` were taken in turn with those of the other jobs of the plan, `position` is the
    place within the block. So many runs as `following` come next and nothing before them: a collector may take them
    along, set `started`, and give each when it is asked for, or some at once by `take_along`.
    """

    following = 0
    along: tuple[Sequence[int], Sequence[bool]] = (), ()

    def __init__(
        self, session: Session, *, index: int, block: int, position: int, started: int, warmup: bool = False
    ) -> None:
        self.index = index
        self.block = block
        self.position = position
        self.started = started
        self.warmup = warmup
        self.exitcode: int | None = None
        self.disturbed = False
        table = TableBuilder("warmup") if warmup else session.tables["resources"]
        self.rows = Rows(table, index)

    def take_along(
        self, started: Sequence[int], disturbed: Sequence[bool], columns: Mapping[str, Sequence[Value]]
    ) -> None:
        """The next runs, which ended as this one and are not asked for any more, with a row for each."""
        if len(started) > self.following:
            raise FormatError(f"{len(started)} runs were taken along where {self.following} follow")
        first = self.index + 1
        self.rows.table.extend({"run": range(first, first + len(started)), **columns})
        self.along = started, disturbed


class Outcome(Record, frozen=True, kw_only=True):
    """How a session ended, told to `after`: `error` is what stopped it, None when every run was taken."""

    status: Literal["ok", "failed", "interrupted"]
    runs: int
    error: BaseException | None = None
