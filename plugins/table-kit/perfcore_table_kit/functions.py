"""Amounts by function: what it took itself, and with all it called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from perfcore.model.record import Record
from perfcore.profile.stacks import NOWHERE, Stacks, references
from perfcore.profile.table import Table

Number: TypeAlias = int | float


class Function(Record, frozen=True):
    """A function of a profile with stacks. `own` is what its own code took, `total` what it took with all that
    it called; a function that calls itself counts once in each stack."""

    name: str
    file: str
    own: Number
    total: Number


def by_function(tables: Mapping[str, Table], metric: str) -> list[Function]:
    """The functions of a profile with stacks, in the order of `functions`. FormatError where the stacks lead
    nowhere, KeyError where `resources` has no column of this name."""
    stacks = Stacks.of(tables)
    resources = tables["resources"]
    self_amounts = _amounts(stacks, references(resources, "stack", tables), resources[metric])
    mine: list[Number] = [0] * len(stacks.names)
    total: list[Number] = [0] * len(stacks.names)
    for stack, amount in enumerate(self_amounts):
        if amount == 0:
            continue
        path = stacks.path(stack)
        if path[-1] != NOWHERE:
            mine[path[-1]] += amount
        for function in set(path) - {NOWHERE}:
            total[function] += amount
    return [
        Function(name, file, *amounts)
        for name, file, *amounts in zip(stacks.names, stacks.files, mine, total, strict=True)
    ]


def _amounts(stacks: Stacks, rows: Sequence[int], values: object) -> list[Number]:
    """What each stack took itself."""
    amounts: list[Number] = [0] * len(stacks)
    for stack, value in zip(rows, values, strict=True):  # type: ignore[call-overload]
        if stack != NOWHERE and value is not None:
            amounts[stack] += value
    return amounts
