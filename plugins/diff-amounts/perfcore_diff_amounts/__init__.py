"""The diff `amounts`: target minus baseline, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore_table_kit.grouping import Number, difference, group

from perfcore.model.record import replace
from perfcore.profile.table import ColumnSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfcore_table_kit.grouping import Key

    from perfcore.model import Profile

__all__ = ["Amounts"]


class Amounts:
    """Subtracts the amounts of the baseline from those of the target, by stack or by equal dimensions.

    The result also has both amounts, as `baseline X` and `target X`; a value is missing if that profile has no such
    row. Equal rows stay, with a difference of 0.
    """

    def diff(self, baseline: Profile, target: Profile) -> Profile:
        groups = group((baseline, target))

        def side(metric: str, at: int) -> Callable[[str, Key], Number | None]:
            sums = groups.amounts[metric]
            return lambda _, key: sums[key][at] if key in sums else None

        def changed(metric: str, key: Key) -> Number | None:
            return difference(*groups.amounts[metric].get(key, (None, None)))

        columns: list[tuple[ColumnSpec, Callable[[str, Key], Number | None]]] = []
        for metric in groups.metrics:
            columns.append((metric, changed))
            for at, name in enumerate(("baseline", "target")):
                # A dimension and no value: totals, flame graphs and checks take the difference, not all three.
                target_spec = ColumnSpec(f"{name} {metric.name}", metric.dtype, metric.unit)
                columns.append((target_spec, side(metric.name, at)))
        return replace(
            target,
            dirty=baseline.dirty or target.dirty,
            # Comparable with nothing: a difference is no measurement of the target's configuration.
            config_id="",
            notes=(*target.notes, "amounts are differences: target minus baseline"),
            tables=groups.tables(columns),
        )
