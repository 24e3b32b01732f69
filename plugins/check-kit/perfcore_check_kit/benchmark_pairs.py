"""Suites of benchmarks in comparisons: each benchmark is compared with itself."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from perfcore.model import EMPTY, Pairing, Profile, Sample, Unpaired
from perfcore.model.record import replace
from perfcore.profile import benchmarks


def expanded(pairs: Iterable[Pairing | Unpaired], renamed: Mapping[str, str] = EMPTY) -> Iterator[Pairing | Unpaired]:
    """The same with a pairing for each benchmark in the place of a suite's. `renamed` has new names of benchmarks by
    their old ones."""
    for pair in pairs:
        if isinstance(pair, Pairing) and any(map(benchmarks.is_suite, pair.baseline.profiles + pair.target.profiles)):
            yield from _each(pair, renamed)
        else:
            yield pair


def _each(pair: Pairing, renamed: Mapping[str, str]) -> Iterator[Pairing | Unpaired]:
    before, after = _split(pair.baseline, renamed), _split(pair.target, renamed)
    shared = [name for name in after if name in before]
    suite = [replace(pair, baseline=before[name], target=after[name], benchmark=name) for name in shared]
    read_suite = functools.partial(tuple, suite)
    yield from (replace(part, suite=read_suite) for part in suite)
    for name in filter(lambda name: name not in before, after):
        yield _unpaired(pair, name, "target", f"{pair.baseline.label} has no such benchmark")
    for name in before:
        if name not in after:  # a gate must not pass because a benchmark is gone
            yield _unpaired(pair, name, "baseline", f"it was measured in {pair.baseline.label}, and is no longer")


def _split(sample: Sample, renamed: Mapping[str, str]) -> dict[str, Sample]:
    parts: dict[str, list[Profile]] = {}
    for profile in sample.profiles:
        if benchmarks.is_suite(profile):
            for name, part in benchmarks.split(profile).items():
                parts.setdefault(renamed.get(name, name), []).append(part)
    return {name: replace(sample, profiles=tuple(profiles)) for name, profiles in parts.items()}


def _unpaired(pair: Pairing, benchmark: str, side: Literal["baseline", "target"], reason: str) -> Unpaired:
    return Unpaired(
        label=f"{pair.label} {benchmark}",
        config_id=pair.config_id,
        version=pair.target.version or "pending",
        reason=reason,
        benchmark=benchmark,
        side=side,
    )
