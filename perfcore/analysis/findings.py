"""What a check has found so far: what is reported, and what is kept with the versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs

from perfcore.analysis.contracts import contract
from perfcore.analysis.history import ScannedSeries
from perfcore.analysis.pair_checks import MethodVerdicts
from perfcore.analysis.pairing import Unpaired
from perfcore.analysis.stored_results import Checked
from perfcore.model import Change

Kept: TypeAlias = Mapping[str, Mapping[Checked, Sequence[Change]]]  # by method; contracts have that of their file


@attrs.frozen(kw_only=True)
class Findings:
    """Changes in the order of their report, what could not be compared, lines that say what was looked at, how many
    comparisons or series that were, of which metrics, and the results that belong to versions."""

    changes: tuple[Change, ...] = ()
    unpaired: tuple[Unpaired, ...] = ()
    conclusions: tuple[str, ...] = ()
    compared: int = 0
    metrics: frozenset[str] = frozenset()
    kept: tuple[Kept, ...] = ()

    def and_also(self, other: Findings) -> Findings:
        return Findings(
            changes=(*self.changes, *other.changes),
            unpaired=(*self.unpaired, *other.unpaired),
            conclusions=(*self.conclusions, *other.conclusions),
            compared=self.compared + other.compared,
            metrics=self.metrics | other.metrics,
            kept=(*self.kept, *other.kept),
        )


def of_pairs(verdicts: Iterable[MethodVerdicts]) -> Kept:
    """What is kept of comparisons: those of clean versions."""
    found: dict[str, dict[Checked, list[Change]]] = {}
    for each in verdicts:
        target = each.pairing.target
        if target.version is not None and not target.dirty and not each.pairing.baseline.dirty:
            checked = Checked(version=target.version, config_id=each.pairing.config_id)
            found.setdefault(each.method, {}).setdefault(checked, []).extend(each.changes)
    return found


def of_scans(method: str, scanned: Iterable[ScannedSeries]) -> Kept:
    """What is kept of histories: for every version what changed with it, which may be nothing any more."""
    found: dict[Checked, list[Change]] = {}
    versions: dict[int, dict[str, str]] = {}
    for one in scanned:
        if id(one.line) not in versions:
            versions[id(one.line)] = {place.version.id[:10]: place.version.id for place in one.line.versions}
            for version in versions[id(one.line)].values():
                found.setdefault(Checked(version=version, config_id=one.line.config_id), [])
        for change in one.changes:
            version = versions[id(one.line)][change.target]
            found[Checked(version=version, config_id=one.line.config_id)].append(change)
    return {method: found}


def of_contracts(version: str, configs: Iterable[str], verdicts: Sequence[Change]) -> Kept:
    """What is kept of the verdicts on contracts: for every configuration of a version, which may be none any more."""
    return {
        contract.FILE: {
            Checked(version=version, config_id=config): [each for each in verdicts if each.config_id == config]
            for config in configs
        }
    }
