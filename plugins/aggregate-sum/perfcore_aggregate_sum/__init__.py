"""The aggregate `sum`: several profiles of one type as one, amounts added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from perfcore.profile.grouping import Number, group, together

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.profile.grouping import Key

__all__ = ["Sum"]


class Sum:
    """Adds up the amounts of rows that are about the same: of one stack, or of equal dimensions.

    An amount that is missing in some profiles is the sum of the others; the order of rows in time is given up.
    """

    def aggregate(self, profiles: Sequence[Profile]) -> Profile:
        groups = group(profiles)

        def added(metric: str, key: Key) -> Number | None:
            return together(groups.amounts[metric].get(key, ()))

        first = profiles[0]
        return attrs.evolve(
            first,
            created=max(profile.created for profile in profiles),
            dirty=any(profile.dirty for profile in profiles),
            # A sum of runs is of no configuration: it must not be compared with a single one.
            config_id="",
            environment_id=first.environment_id if len({p.environment_id for p in profiles}) == 1 else "",
            notes=(*first.notes, f"the sum of {len(profiles)} profiles"),
            tables=groups.tables([(metric, added) for metric in groups.metrics]),
        )
