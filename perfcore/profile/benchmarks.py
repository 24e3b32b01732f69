"""Suites of benchmarks: rows that name their benchmark, each of which is a series of its own."""

from __future__ import annotations

import fnmatch
import functools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from perfcore.model.record import replace
from perfcore.profile.recording import RUN
from perfcore.profile.table import Column, Table, TableBuilder, Value, from_buffer

if TYPE_CHECKING:
    from perfcore.model import Profile

_SPECIAL = frozenset(',[]="')  # characters of the notation: a text with one of them is quoted


def columns(resources: Table) -> tuple[Column, ...]:
    """The columns that name a row's benchmark, its name first; none where the table holds no suite."""
    return tuple(column for column in resources.columns if column.role == "benchmark")


def name(words: Sequence[Value], parameters: Sequence[str]) -> str:
    """A benchmark as people write it: `parse`, `parse[4]`, `parse[n=4,mode=fast]`. The first word is its name, the
    others are the values of these parameters; those it does not have are None."""
    given = [(key, _word(word)) for key, word in zip(parameters, words[1:], strict=True) if word is not None]
    if not given:
        return str(words[0])
    return f"{words[0]}[{given[0][1] if len(given) == 1 else ','.join(f'{key}={word}' for key, word in given)}]"


def matches(name: str, pattern: str) -> bool:
    """Whether a benchmark is chosen by `-k`: its name holds the pattern, or is like it with `*` and `?`."""
    return pattern in name or fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


def is_suite(profile: Profile) -> bool:
    resources = profile.table("resources")
    return resources is not None and bool(columns(resources))


def split(profile: Profile) -> dict[str, Profile]:
    """The benchmarks of a suite, in the order of their first rows, each as a profile of its own with a row for each
    run: the median of the values of that run, because they share the process and are not independent. Rows without
    a benchmark or a run count for none."""
    resources = profile.table("resources")
    assert resources is not None, "only a suite is split"
    parts = {}
    for benchmark, medians in medians_of_runs(resources):
        specs = [replace(metric.spec, dtype="f64") for metric, _ in medians]
        builder = TableBuilder(resources.name, [RUN, *specs])
        for run in medians[0][1] if medians else ():
            builder.add(run=run, **{metric.name: by_run[run] for metric, by_run in medians})
        parts[benchmark] = profile.replace_tables(resources=builder.build())
    return parts


def medians_of_runs(resources: Table) -> Iterator[tuple[str, list[tuple[Column, dict[Value, float | None]]]]]:
    """(benchmark, its metrics with the median of each run) of a suite, as `split` has them in tables. Metrics of which
    the benchmark has no value are left out: a suite may measure time here and memory there."""
    keys, run = columns(resources), resources.get("run")
    contents = tuple(None if column is None else column.__reduce__()[1] for column in (run, *keys))
    metrics = [(metric, _numbers(metric)) for metric in resources.values()]
    for benchmark, by_run in _rows(contents, resources.rows):
        medians = [
            (m, {run: cells[at[0]] if len(at) == 1 else _median([cells[i] for i in at]) for run, at in by_run.items()})
            for m, cells in metrics
        ]
        yield benchmark, [(m, values) for m, values in medians if any(v is not None for v in values.values())]


@functools.lru_cache(maxsize=1)  # profiles of one history mostly have the same rows
def _rows(contents: tuple[Any, ...], count: int) -> list[tuple[str, dict[Value, list[int]]]]:
    """(benchmark, its rows by run), from the contents of the column of runs, if there is one, and of the keys."""
    run, *keys = (content and from_buffer(*content) for content in contents)
    rows: dict[tuple[Value, ...], dict[Value, list[int]]] = {}
    for index, words, number in zip(range(count), zip(*keys, strict=True), run or [0] * count, strict=True):
        if words[0] is not None and number is not None:
            rows.setdefault(words, {}).setdefault(number, []).append(index)
    return [(name(words, [key.name for key in keys[1:]]), by_run) for words, by_run in rows.items()]


def _numbers(cells: Column) -> list[float | None]:
    if cells.dtype == "f64" and cells.valid is None and all(map(math.isfinite, cells.data)):
        return list(cells.data)
    return [float(cell) if isinstance(cell, int | float) and math.isfinite(cell) else None for cell in cells]


def _median(numbers: Iterable[float | None]) -> float | None:
    return median(finite) if (finite := [number for number in numbers if number is not None]) else None


def _word(word: Value) -> str:
    text = str(word)
    return json.dumps(text, ensure_ascii=False) if not _SPECIAL.isdisjoint(text) else text
