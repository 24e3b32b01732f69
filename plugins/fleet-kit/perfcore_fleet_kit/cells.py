"""Cells in a profile of a fleet: the samples of one host in one box, as replicates for a comparison of shares.

A profile goes wherever profiles go, and hosts have names that may not: cells are numbered, and neither their host nor
their time is kept. Functions that take little in both releases decide nothing and have no rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfcore.model import Profile
from perfcore.profile.stacks import NOWHERE, Stacks, references
from perfcore.profile.table import Table, column, table
from perfcore_fleet_kit.shares import Cell, Sample

CELLS, FUNCTIONS = "cells", "cell_functions"
MOST = 2_000  # cells of a profile: more of them change no interval
_LEAST = 0.001  # of all samples, a tenth of the smallest difference that matters


def cell_tables(sample: Sample, tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables `cells` and `cell_functions` of a sample, for a profile with these tables."""
    functions = tables["functions"]
    rows: dict[str, int] = {}
    for row, (name, file) in enumerate(zip(functions["name"], functions["file"], strict=True)):
        rows.setdefault(function_name(str(name), str(file)), row)
    least = _LEAST * sample.total
    chosen = {name: row for name, row in rows.items() if sample.amount(name) > least}
    cells = [cell for _, cell in sorted(sample.cells.items())]
    triples = [
        (number, chosen[name], amount)
        for number, cell in enumerate(cells)
        for name, amount in sorted(cell.exclusive.items())
        if name in chosen
    ]
    numbers, of_function, amounts = zip(*triples, strict=True) if triples else ((), (), ())
    return {
        CELLS: table(CELLS, [column("samples", [cell.total for cell in cells], dtype="i64")]),
        FUNCTIONS: table(
            FUNCTIONS,
            [
                column("cell", numbers, dtype="i64"),
                column("function", of_function, dtype="i64"),
                column("samples", amounts, dtype="i64"),
            ],
        ),
    }


def folded(sample: Sample) -> Sample:
    """At most `MOST` cells: those of a host that follow each other are added, and then hosts."""
    keys = sorted(sample.cells)
    if len(keys) <= MOST:
        return sample
    result = Sample(neighbours=sample.neighbours, problems=sample.problems)
    for position, key in enumerate(keys):
        cell = result.cells.setdefault(("", position * MOST // len(keys)), Cell())
        cell.total += sample.cells[key].total
        for name, amount in sample.cells[key].exclusive.items():
            cell.exclusive[name] = cell.exclusive.get(name, 0) + amount
    return result


def has_cells(profiles: Sequence[Profile]) -> bool:
    """Whether all profiles have cells."""
    return all(CELLS in profile.tables and FUNCTIONS in profile.tables for profile in profiles)


def sample_of_profiles(profiles: Sequence[Profile]) -> Sample:
    """The cells of profiles, with the functions that call each other. FormatError where their stacks lead nowhere."""
    sample = Sample()
    for number, profile in enumerate(profiles):
        functions = profile.tables["functions"]
        names = [
            function_name(str(name), str(file)) for name, file in zip(functions["name"], functions["file"], strict=True)
        ]
        cells = [Cell(max(0, int(total or 0))) for total in profile.tables[CELLS]["samples"]]
        rows = profile.tables[FUNCTIONS]
        of_function = references(rows, "function", profile.tables)
        for cell, function, amount in zip(rows["cell"], of_function, rows["samples"], strict=True):
            if isinstance(cell, int) and 0 <= cell < len(cells) and function != NOWHERE:
                exclusive = cells[cell].exclusive
                exclusive[names[function]] = exclusive.get(names[function], 0) + max(0, int(amount or 0))
        sample.cells.update(((f"{number}", at), cell) for at, cell in enumerate(cells) if cell.total)
        _note_calls(Stacks.of(profile.tables), names, sample.neighbours)
    return sample


def function_name(name: str, file: str) -> str:
    """A function in a comparison: its file and name, as lines move with every edit."""
    return f"{file}:{name}" if file else name


def _note_calls(stacks: Stacks, names: Sequence[str], neighbours: dict[str, set[str]]) -> None:
    of_stack = [NOWHERE if frame == NOWHERE else stacks.function[frame] for frame in stacks.frame]
    pairs = {
        (of_stack[parent], function) for parent, function in zip(stacks.parent, of_stack, strict=True) if parent >= 0
    }
    for caller, callee in pairs:
        if NOWHERE not in (caller, callee) and caller != callee:
            neighbours.setdefault(names[caller], set()).add(names[callee])
            neighbours.setdefault(names[callee], set()).add(names[caller])
