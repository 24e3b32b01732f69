"""Profiles: what was measured, with what, and the tables of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perfcore.model import EMPTY
from perfcore.model.record import Record, replace

if TYPE_CHECKING:
    from perfcore.profile.table import Table


class Header(Record, frozen=True, kw_only=True):
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
        return " ".join(word for word in (self.cmd, self.args, self.workload) if word)


class Tool(Record, frozen=True, kw_only=True):
    """A collector or postprocessor as it was used: name, version, options, and how it sampled."""

    name: str
    version: str = ""
    params: Mapping[str, Any] = EMPTY
    sampling: Mapping[str, Any] = EMPTY


class Profile(Record, frozen=True, kw_only=True):
    """What one collector measured for one job. Tables are `resources`, `runs`, `stacks`, `frames`, `functions`,
    `snapshots`, `models`, and any other that a collector adds.

    `origin` is the version it was collected for, kept while the profile is pending; `dirty` says that the tree
    held uncommitted changes. `sources` are the ids of the profiles it was made from. `incomplete` says that runs are
    missing, because the measurement is under way or was interrupted.
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
    incomplete: bool = False
    notes: tuple[str, ...] = ()
    tables: Mapping[str, Table] = EMPTY

    def table(self, name: str) -> Table | None:
        return self.tables.get(name)

    @property
    def label(self) -> str:
        return self.header.label

    @property
    def measured_runs(self) -> int | None:
        """How many runs the amounts are of, where the profile says so."""
        runs = self.table("runs")
        return None if runs is None or "warmup" not in runs.names else sum(not warmup for warmup in runs["warmup"])

    def replace_tables(self, **tables: Table) -> Profile:
        """The same profile with other tables of these names."""
        return replace(self, tables={**self.tables, **tables})
