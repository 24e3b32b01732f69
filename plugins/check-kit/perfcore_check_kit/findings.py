"""The findings of a check before they are a result: those to report, and those to store with the versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from perfcore.analysis.stored_results import Checked
from perfcore.model import EMPTY, Change

if TYPE_CHECKING:
    from perfcore.model import Judgement, Unpaired
    from perfcore_check_kit.history import ScannedSeries
    from perfcore_check_kit.pair_checks import MethodVerdicts

MethodResults: TypeAlias = Mapping[str, Mapping[Checked, Sequence[Change]]]  # by method, or source of a judgement


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Changes in the order of their report, targets without a baseline, lines that say what was checked, how many
    comparisons or series that were, of which metrics and benchmarks, the results that belong to versions, and full ids
    of versions by their first ten characters."""

    changes: tuple[Change, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    conclusions: tuple[str, ...] = ()
    compared: int = 0
    metrics: frozenset[str] = frozenset()
    benchmarks: frozenset[str] = frozenset()
    results: tuple[MethodResults, ...] = ()
    versions: Mapping[str, str] = EMPTY

    def merge(self, other: Findings) -> Findings:
        return Findings(
            changes=(*self.changes, *other.changes),
            unpaired=(*self.unpaired, *other.unpaired),
            conclusions=(*self.conclusions, *other.conclusions),
            compared=self.compared + other.compared,
            metrics=self.metrics | other.metrics,
            benchmarks=self.benchmarks | other.benchmarks,
            results=(*self.results, *other.results),
            versions={**self.versions, **other.versions},
        )


def of_pairs(verdicts: Iterable[MethodVerdicts]) -> MethodResults:
    """The results of comparisons to store: those of clean versions."""
    results: dict[str, dict[Checked, list[Change]]] = {}
    for verdict in verdicts:
        target = verdict.pairing.target
        if target.version is not None and not target.dirty and not verdict.pairing.baseline.dirty:
            checked = Checked(version=target.version, config_id=verdict.pairing.config_id)
            results.setdefault(verdict.method, {}).setdefault(checked, []).extend(verdict.changes)
    return results


def of_scans(method: str, scanned: Iterable[ScannedSeries]) -> MethodResults:
    """The results of histories to store: for every version its changes, if any."""
    results: dict[Checked, list[Change]] = {}
    versions: dict[int, dict[str, str]] = {}
    for series in scanned:
        line = series.line
        if id(line) not in versions:  # once for a line: all its metrics have the same versions
            versions[id(line)] = {measured.version.id[:10]: measured.version.id for measured in line.versions}
            for version in versions[id(line)].values():
                results.setdefault(Checked(version=version, config_id=line.config_id), [])  # it may have had some
        for change in series.changes:
            results[Checked(version=versions[id(line)][change.target], config_id=line.config_id)].append(change)
    return {method: results}


def of_judgement(version: str, configs: Iterable[str], judgement: Judgement) -> MethodResults:
    """The verdicts of a judge to store: for every configuration of a version, none included."""
    return {
        judgement.source: {
            Checked(version=version, config_id=config): [
                verdict for verdict in judgement.verdicts if verdict.config_id == config
            ]
            for config in configs
        }
    }
