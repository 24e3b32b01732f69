"""Two versions compared by all that is stored of both, with the checks that the configuration names for them.

Nothing is measured, and no observer is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from perfcore.analysis import pairing as pairings
from perfcore.analysis.benchmark_pairs import expanded
from perfcore.analysis.pair_checks import run_checks
from perfcore.analysis.pairing import Unpaired
from perfcore.analysis.run_values import is_judged
from perfcore.model import Change, MinorVersion, Pairing

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository


@attrs.frozen(kw_only=True)
class Comparison:
    """What differs between two versions: a verdict for every metric of each configuration that both were measured in.
    `unpaired` is what only one of them has."""

    baseline: MinorVersion
    target: MinorVersion
    changes: tuple[Change, ...]
    unpaired: tuple[Unpaired, ...]

    @property
    def primary(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.primary)


def compare(repository: Repository, baseline: MinorVersion, target: MinorVersion) -> Comparison:
    """The comparison of two versions, as `perf compare A B` makes it."""
    renamed = repository.config.get("benchmarks.renamed")
    pairs = list(expanded(pairings.of_versions(repository, baseline.id, target.id), renamed))
    verdicts = run_checks(repository, [pair for pair in pairs if isinstance(pair, Pairing)])
    return Comparison(
        baseline=baseline,
        target=target,
        changes=tuple(change for verdict in verdicts for change in judged(verdict.changes)),
        unpaired=tuple(pair for pair in pairs if isinstance(pair, Unpaired)),
    )


def judged(changes: Sequence[Change]) -> list[Change]:
    """Without the times of which a better one was measured."""
    measured = {change.metric for change in changes}
    return [change for change in changes if is_judged(change.metric, measured, set())]
