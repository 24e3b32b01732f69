"""What a collector forgot: rows, a declared column, the type of a column. `perf plugins check` finds it, too, but not
everybody runs that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.errors import ColumnError, PluginError
from perfcore.model.record import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from perfcore.model import Measured
    from perfcore.profile.table import Column, Table

_ALIKE = 0.6  # of names of columns, as difflib has it: `wal` for `wall` is 0.86
_NUMBERS = ("i64", "u64", "f64")


def with_oversights(answer: Measured) -> Measured:
    """The answer whose error names the collector, or whose profile has a note for each oversight."""
    name = answer.job.collector.name
    if isinstance(answer.error, ColumnError):
        error = PluginError(
            answer.error.message,
            plugin=f"collector {name}",
            phase="collect",
            hint=f"its author finds more by `perf plugins check collector:{name}`",
        )
        return replace(answer, error=error)
    profile = answer.profile
    if profile is None or profile.incomplete or not (notes := tuple(_oversights(profile.tables["resources"], name))):
        return answer
    return replace(answer, profile=replace(profile, notes=(*profile.notes, *notes)))


def _oversights(resources: Table, name: str) -> Iterator[str]:
    if not resources.rows:
        yield f"the collector {name} wrote no row, so the profile is empty"
        return
    columns = resources.columns
    if not any(column.role == "value" for column in columns):
        yield f"the collector {name} wrote no amount: none of its columns has role='value'"
    for position, column in enumerate(columns):
        # A column that was not declared has no unit, and stands behind those that were.
        if column.unit and _is_empty(column):
            undeclared = [later.name for later in columns[position:] if not later.unit and later.dtype in _NUMBERS]
            for written in _alike(column.name, undeclared):
                yield f"the collector {name} wrote no {column.name!r}, but {written!r}, which it did not declare"


def _alike(name: str, others: Sequence[str]) -> Sequence[str]:
    """The nearest of the others that is near, if any."""
    near = [other for other in others if 2 * _common(name, other) >= _ALIKE * (len(name) + len(other))]
    if not near:  # as of a small program, whose peak memory is not known: the import takes longer than all this
        return ()
    import difflib

    return difflib.get_close_matches(name, near, n=1, cutoff=_ALIKE)


def _common(name: str, other: str) -> int:
    """Letters that both have: no fewer than stand in the same order, which are those that difflib counts."""
    return sum(min(name.count(letter), other.count(letter)) for letter in set(name))


def _is_empty(column: Column) -> bool:
    return column.valid is not None and not any(column.valid)
