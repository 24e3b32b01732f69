"""The aggregate `sum`: several profiles of one type as one, values added up."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
from perfcore_table_kit.grouping import Number, group, together

from perfcore.model.record import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfcore_table_kit.grouping import Key

    from perfcore.model import Profile
    from perfcore.profile.table import Table

__all__ = ["Sum"]


@attrs.frozen
class _Total:
    """The sum of `count` profiles so far, with the metadata of the first one."""

    profile: Profile
    count: int
    environments: frozenset[str]

    @classmethod
    def of(cls, profile: Profile, tables: Mapping[str, Table]) -> _Total:
        return cls(replace(profile, tables=tables), 1, frozenset([profile.environment_id]))


class Sum:
    """Adds up the amounts of rows of the same stack or of equal dimensions.

    Profiles without an amount do not count in its sum. The result has no order in time.
    """

    def start(self) -> _Total | None:
        return None

    def add(self, state: _Total | None, profile: Profile) -> _Total:
        if state is None:
            return _Total.of(profile, _summed([profile]))
        return self.merge(state, _Total.of(profile, profile.tables))

    def merge(self, state: _Total | None, other: _Total | None) -> _Total:
        if state is None or other is None:
            total = state or other
            assert total is not None
            return total
        first, second = state.profile, other.profile
        joined = replace(
            first,
            # The newest and the larger of each, which do not depend on the order: sums of parts can be merged in any.
            created=max(first.created, second.created),
            dirty=first.dirty or second.dirty,
            tables=_summed([first, second]),
        )
        return _Total(joined, state.count + other.count, state.environments | other.environments)

    def finish(self, state: _Total) -> Profile:
        return replace(
            state.profile,
            # A sum of runs is of no configuration: it must not be compared with a single one.
            config_id="",
            environment_id=state.profile.environment_id if len(state.environments) == 1 else "",
            notes=(*state.profile.notes, f"the sum of {state.count} profiles"),
        )

    def aggregate(self, profiles: Sequence[Profile]) -> Profile:
        """All at once, for scripts that have them."""
        state = self.add(self.start(), profiles[0])
        return self.finish(functools.reduce(self.add, profiles[1:], state))


def _summed(profiles: Sequence[Profile]) -> dict[str, Table]:
    groups = group(profiles)

    def added(metric: str, key: Key) -> Number | None:
        return together(groups.amounts[metric].get(key, ()))

    return groups.tables([(metric, added) for metric in groups.metrics])
