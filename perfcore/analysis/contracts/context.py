"""What contracts are judged by: one command of a version, with all that is known of it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import attrs

from perfcore.analysis import pairing as pairings
from perfcore.analysis.contracts import contract as contracts
from perfcore.analysis.pair_checks import run_checks
from perfcore.analysis.pairing import Unpaired
from perfcore.analysis.series import ConfigHistory
from perfcore.model import Change, ChangeKind, Pairing, Series
from perfcore.repository.repository import Repository


@attrs.frozen(kw_only=True)
class Case:
    """A command in one environment: what it took by metric, and what the check found of it."""

    repository: Repository
    version: str
    line: ConfigHistory
    known: Mapping[str, Series]
    changes: tuple[Change, ...]

    def metric(self, name: str) -> str:
        """What a metric of a sentence is called here."""
        return contracts.metric_of(name, self.known)

    def is_better_higher(self, metric: str) -> bool:
        """Whether it gets worse where it falls."""
        return metric in self.known and self.known[metric].better == "higher"

    @functools.cached_property
    def before(self) -> Pairing | Unpaired:
        """The version against the one before it."""
        return self._mine(pairings.of_version(self.repository, self.version, self.line.config_id))

    def since(self, release: str) -> Pairing | Unpaired:
        """The version against an earlier one."""
        return self._mine(pairings.of_release(self.repository, self.version, release))

    def compared(self, pair: Pairing, metric: str, threshold: float) -> Change | None:
        """What the check says of a metric where a change by this share matters; None where neither side has it."""
        (found, *_) = run_checks(self.repository, [pair], thresholds={metric: threshold})
        return next((change for change in found.changes if change.metric == metric), None)

    def _mine(self, pairs: Iterable[Pairing | Unpaired]) -> Pairing | Unpaired:
        mine = [pair for pair in pairs if pair.config_id == self.line.config_id]
        environment = self.line.versions[0].environment
        here = (p for p in mine if isinstance(p, Pairing) and p.target.profiles[0].environment_id == environment)
        return next(here, next(pair for pair in mine if isinstance(pair, Unpaired) or pair is mine[-1]))


def verdict(kind: ChangeKind, evidence: str, **facts: object) -> Change:
    """A verdict that has no name yet."""
    return Change(id="", kind=kind, metric="", evidence=evidence, **facts)  # type: ignore[arg-type]
