"""The driver: which amounts are scaled, by what, and the profile with them in the place of the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.model.record import replace
from perfcore.settings import option
from perfcore.text import printable
from perfcore_postprocess_normalizer import conversion, proportion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.model import Header, Profile
    from perfcore.profile.table import Column, Table

_TABLE = "resources"
_NUMBERS = ("i64", "u64", "f64")


@attrs.frozen
class NormalizerSettings:
    """What amounts are scaled to."""

    to: str | None = option(
        None,
        help="Divide by the maximum or the total. Default: the maximum, unless --unit converts.",
        identity=True,
        choices=tuple(proportion.WHOLES),
    )
    per: str = option(
        "whole",
        help="The maximum or total of each snapshot, of each run or of all rows.",
        identity=True,
        choices=("whole", "run", "snapshot"),
    )
    unit: str = option(
        "1", help="1 or % for proportions; another unit, such as ms, converts amounts to it.", identity=True
    )
    metric: tuple[str, ...] = option(
        (), help="Only this metric. Repeatable. Default: all that can be scaled.", identity=True
    )


class Normalizer:
    """Scales amounts by their maximum or total, or converts them to another unit."""

    Settings = NormalizerSettings
    contract = "perfcore_postprocess_normalizer.contract:NormalizerContract"

    def __init__(self, settings: NormalizerSettings | None = None) -> None:
        self.settings = settings or NormalizerSettings()
        self._converts = self.settings.unit not in proportion.UNITS
        if self._converts and (self.settings.to is not None or self.settings.per != "whole"):
            idle = "--per" if self.settings.to is None else "--to"
            message = f"{idle} makes proportions, which are in 1 or %, not in {printable(self.settings.unit)!r}"
            raise UsageError(f"normalizer: {message}", hint="to convert, say only --unit, and --metric")

    def before(self, profile: Profile) -> None:
        """NotFoundError where there are no amounts."""
        table = profile.tables.get(_TABLE)
        if table is None:
            raise NotFoundError(f"normalizer: the profile has no table {_TABLE!r}")
        if not _amounts(table):
            raise NotFoundError(f"normalizer: table {_TABLE!r} has no value column of numbers")

    def postprocess(self, profile: Profile) -> Profile:
        """The profile with scaled amounts, and a note where there was nothing to scale by."""
        table, settings = profile.tables[_TABLE], self.settings
        chosen = _chosen(table, settings.metric)
        notes: list[str] = []
        if self._converts:
            scaled = conversion.to_unit(chosen, settings.unit, profile.header.units, partly=not settings.metric)
        else:
            scaled, notes = proportion.to_whole(table, chosen, settings.to or "max", settings.per, settings.unit)
        return replace(
            profile,
            header=_header(profile, scaled),
            tables={**profile.tables, _TABLE: table.with_columns(*scaled)},
            notes=(*profile.notes, *notes),
        )

    def after(self, profile: Profile) -> None:
        """Nothing was begun that has to be ended."""


def _amounts(table: Table) -> list[Column]:
    return [column for column in table.values() if column.dtype in _NUMBERS]


def _chosen(table: Table, names: Sequence[str]) -> list[Column]:
    """The columns of amounts of these names, or all."""
    amounts = {column.name: column for column in _amounts(table)}
    for name in names:
        if name not in amounts:
            printable_name, metric_names = printable(name), list(map(printable, amounts))
            near, has = nearest(printable_name, metric_names), f"it has {', '.join(metric_names)}"
            message = f"normalizer: table {_TABLE!r} has no metric {printable_name!r}"
            raise UsageError(message, hint=f"{near} {has}" if near else has)
    return [amounts[name] for name in dict.fromkeys(names or amounts)]


def _header(profile: Profile, scaled: Sequence[Column]) -> Header:
    """The header with the new units of these columns, but for names that columns of other tables rely on."""
    others = [table for name, table in profile.tables.items() if name != _TABLE]
    # The header's units are those of any table: a changed one would change what the others say.
    relied = {column.name for table in others for column in table.columns if not column.unit}
    new = {column.name: column.unit for column in scaled if column.name not in relied}
    units = {name: new.get(name, unit) for name, unit in profile.header.units.items()}
    return replace(profile.header, units=units)
