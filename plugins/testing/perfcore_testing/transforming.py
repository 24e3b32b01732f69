"""What postprocessors, diffs and aggregates have in common: profiles in, a new profile out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.errors import PerfError
from perfcore.model import Profile
from perfcore_testing import hostile, profiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from perfcore.profile.table import ColumnSpec

SAMPLES = sorted(profiles.SAMPLES)


def attempted(make: Callable[[], Profile]) -> Profile | PerfError:
    """The new profile, or the error that refused to make one; any other error is let through."""
    try:
        result = make()
    except PerfError as error:
        return error
    assert isinstance(result, Profile), f"{result!r} is no profile"
    return result


def same(one: Profile | PerfError, other: Profile | PerfError) -> bool:
    """Two equal profiles, or two refusals in the same words. A NaN equals itself here."""
    if isinstance(one, PerfError) or isinstance(other, PerfError):
        return str(one) == str(other)
    return one == other


def survives_storing(result: Profile | PerfError) -> bool:
    """A store gives the profile back as it is; a refusal can be told in print."""
    if isinstance(result, PerfError):
        return bool(str(result)) and hostile.unsafe(str(result) + (result.hint or "")) == set()
    stored = profiles.stored(result)
    return profiles.stored(stored) == stored and _shape(stored) == _shape(result)


def _shape(profile: Profile) -> dict[str, tuple[int, tuple[ColumnSpec, ...]]]:
    """What the tables are, without the texts: those that are no Unicode are stored with escapes."""
    return {
        name: (table.rows, tuple(column.spec for column in table.columns)) for name, table in profile.tables.items()
    }


def totals(profile: Profile, table: str = "resources") -> Mapping[str, int]:
    """The sums of the value columns of whole numbers; what is missing counts nothing."""
    selected = profile.table(table)
    values = () if selected is None else selected.values()
    return {
        column.name: sum(int(value) for value in column if value is not None)
        for column in values
        if column.dtype in ("i64", "u64")
    }
