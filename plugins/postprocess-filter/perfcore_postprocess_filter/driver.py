"""The driver: which rows are chosen, and the profile with only these or without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from perfcore_table_kit.expression import matching, parse
from perfcore_table_kit.wildcards import matcher

from perfcore.errors import FormatError, NotFoundError, UsageError, nearest
from perfcore.model.record import replace
from perfcore.profile.stacks import referring
from perfcore.settings import option
from perfcore.text import printable
from perfcore_postprocess_filter import ranking, stacks
from perfcore_postprocess_filter.pruning import pruned
from perfcore_postprocess_filter.selection import flagged, raised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfcore.model import Profile
    from perfcore.profile.table import Table

# Other tables name their rows by number or by key: without one, what refers to it would be of another, or of none.
_REFERRED_TO = ("runs", "snapshots", "stacks", "frames", "functions")
# `translate` turns a million flags around in one call.
_SWAPPED = bytes.maketrans(b"\0\1", b"\1\0")


@attrs.frozen
class FilterSettings:
    """Which rows are chosen: those that meet every condition, and of these the top or a share of a metric."""

    expression: str | None = option(
        None,
        help="Matching rows: amount >= 20 and uid like 'parse%'; <20 compares the main value.",
        identity=True,
        metavar="EXPRESSION",
    )
    stack: str | None = option(
        None,
        help="Rows with a function on their stack whose name or file matches, such as 'parse%'.",
        identity=True,
        metavar="PATTERN",
    )
    top: int | None = option(None, help="The N rows with the largest amounts.", identity=True, minimum=1)
    share: float | None = option(
        None, help="The largest rows that together have X % of the metric.", identity=True, minimum=0, maximum=100
    )
    over: float | None = option(
        None, help="Rows that each have more than X % of the metric.", identity=True, minimum=0, maximum=100
    )
    by: str | None = option(
        None, help="The metric of --top, --share, --over. Default: the main value.", identity=True, metavar="METRIC"
    )
    per: str = option(
        "whole",
        help="Apply --top, --share, --over to each snapshot, to each run or to all rows.",
        identity=True,
        choices=("whole", "run", "snapshot"),
    )
    drop: bool = option(False, help="Drop the chosen rows and keep the others.", identity=True)
    table: str = option("resources", help="The table to filter.", identity=True)


class Filter:
    """Keeps or drops rows of a profile: by an expression, by stack, or by the largest amounts of a metric."""

    Settings = FilterSettings
    contract = "perfcore_postprocess_filter.contract:FilterContract"

    def __init__(self, settings: FilterSettings | None = None) -> None:
        self.settings = settings or FilterSettings()
        _check(self.settings)
        self._expression = None if self.settings.expression is None else parse(self.settings.expression)

    def before(self, profile: Profile) -> None:
        """NotFoundError where the table is missing."""
        name = self.settings.table
        if name not in profile.tables:
            table_names = sorted(map(printable, profile.tables))
            near, has = nearest(printable(name), table_names), f"it has {', '.join(table_names) or 'none'}"
            message = f"filter: the profile has no table {printable(name)!r}"
            raise NotFoundError(message, hint=f"{near} {has}" if near else has)

    def postprocess(self, profile: Profile) -> Profile:
        """The profile with fewer rows in one table, without the stacks that only the others had, and a note."""
        name = self.settings.table
        table = profile.tables[name]
        filtered = flagged(table, self._flags(profile, table))
        notes = [f"filter: {filtered.rows:,} of {table.rows:,} rows of {printable(name)!r} are kept"]
        tables = {**profile.tables, name: filtered}
        if filtered is not table and "stack" in referring(table):
            try:
                tables = pruned(tables)
            except FormatError as error:
                notes.append(f"filter: all stacks are kept: {error}")
        return replace(profile, tables=tables, notes=(*profile.notes, *notes))

    def after(self, profile: Profile) -> None:
        """Nothing was begun that has to be ended."""

    def _flags(self, profile: Profile, table: Table) -> bytearray:
        """A flag for each row that is kept."""
        flags = raised(self._chosen(profile, table), table.rows)
        return flags.translate(_SWAPPED) if self.settings.drop else flags

    def _chosen(self, profile: Profile, table: Table) -> Sequence[int]:
        rows: Sequence[int] = range(table.rows)
        if self._expression is not None:
            rows = matching(self._expression, _with_units(table, profile.header.units))
        if self.settings.stack is not None:
            rows = stacks.passing(profile.tables, table, rows, matcher(self.settings.stack))
        return ranking.largest(table, rows, self.settings)


def _check(settings: FilterSettings) -> None:
    """UsageError for options that say nothing together; before anything is measured."""
    ranks = [f"--{name}" for name in ranking.asked(settings)]
    if not ranks and settings.expression is None and settings.stack is None:
        raise UsageError("filter: no option chooses rows", hint="for example --expression '>= 20' or --top 10")
    if len(ranks) > 1:
        raise UsageError(f"filter: {' and '.join(ranks)} cannot go together", hint="filter twice, one after the other")
    if not ranks and (settings.by is not None or settings.per != "whole"):
        idle = "--per" if settings.by is None else "--by"
        raise UsageError(f"filter: {idle} has no effect without --top, --share or --over")
    if settings.table in _REFERRED_TO:
        message = f"rows of {settings.table!r} are what other tables refer to, and stay"
        raise UsageError(f"filter: {message}", hint="choose rows of 'resources' instead")


def _with_units(table: Table, units: Mapping[str, str]) -> Table:
    """The table with the units that the profile's header says where a column does not."""
    lacking = [column for column in table.columns if not column.unit and column.name in units]
    return table.with_columns(
        *(replace(column, spec=replace(column.spec, unit=units[column.name])) for column in lacking)
    )
