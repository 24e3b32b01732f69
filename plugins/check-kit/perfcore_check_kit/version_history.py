"""The stored history as a check sees it that judges a version: its commands, their values, and comparisons."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from perfcore.model import Change, Pairing, Series, Unpaired
from perfcore.model.record import Record
from perfcore.repository.repository import Repository
from perfcore_check_kit import pairing as pairings
from perfcore_check_kit import series as series_of
from perfcore_check_kit.benchmark_pairs import expanded
from perfcore_check_kit.pair_checks import run_checks
from perfcore_check_kit.series import ConfigHistory


class VersionHistory(Record, frozen=True, kw_only=True):
    """The input of `judge` of a check. `changes` are the verdicts of the configured checks on the judged version;
    `repository` gives everything that is not here."""

    repository: Repository
    changes: tuple[Change, ...] = ()

    def commands(self, version: str) -> list[MeasuredCommand]:
        """Every command that a version was measured with, one for each environment and benchmark of a suite."""
        info = self.repository.vcs.get_minor_version_info(version)
        return [
            MeasuredCommand(
                repository=self.repository,
                version=version,
                line=line,
                benchmark=benchmark,
                series={series.metric: series for series in some},
                changes=tuple(
                    c for c in self.changes if c.config_id == line.config_id and benchmark in ("", c.resource)
                ),
                pairs=pairs,
            )
            for line in series_of.of_version(self.repository, info)
            for pairs in [functools.cache(functools.partial(self._pairs, version, line.config_id))]
            for benchmark, some in groupby(series_of.metrics(self.repository, line), key=attrgetter("resource"))
        ]

    def _pairs(self, version: str, config_id: str, release: str = "") -> list[Pairing | Unpaired]:
        """A version against the nearest ancestor, or an earlier version: a pair for each benchmark of a suite."""
        if release:
            pairs = pairings.of_release(self.repository, version, release)
        else:
            pairs = pairings.of_version(self.repository, version, config_id)
        renamed = self.repository.config.get("benchmarks.renamed")
        return [pair for pair in expanded(pairs, renamed) if pair.config_id == config_id]

    def labels(self) -> set[str]:
        """Every command that any version was measured with."""
        return {entry.label for _, entry in self.repository.everywhere()}


class MeasuredCommand(Record, frozen=True, kw_only=True, dict=True):  # for the cached property
    """A command at one version in one environment: its series by metric, each of this version alone, and the verdicts
    of the checks on it."""

    repository: Repository
    version: str
    line: ConfigHistory
    series: Mapping[str, Series]
    changes: tuple[Change, ...]
    pairs: Callable[..., Sequence[Pairing | Unpaired]]  # split once for all benchmarks of a suite
    benchmark: str = ""

    @property
    def label(self) -> str:
        return f"{self.line.label} {self.benchmark}".rstrip()

    @property
    def config_id(self) -> str:
        return self.line.config_id

    @functools.cached_property
    def before(self) -> Pairing | Unpaired:
        """The version against the nearest ancestor that was measured with the command."""
        return self._own(self.pairs())

    def since(self, release: str) -> Pairing | Unpaired:
        """The version against an earlier one, by its full id."""
        return self._own(self.pairs(release))

    def compare(self, pair: Pairing, metric: str, threshold: float) -> Change | None:
        """The configured check's verdict on a metric, `threshold` being the smallest relative change that matters; None
        where neither side has the metric."""
        # The rules may name several methods: the first one decides.
        (verdicts, *_) = run_checks(self.repository, [pair], thresholds={metric: threshold})
        return next((change for change in verdicts.changes if change.metric == metric), None)

    def _own(self, pairs: Iterable[Pairing | Unpaired]) -> Pairing | Unpaired:
        """The pair of this environment, or the reason why there is none."""
        candidates = [pair for pair in pairs if pair.benchmark in ("", self.benchmark)]
        environment = self.line.versions[0].environment
        for pair in candidates:
            if isinstance(pair, Pairing) and pair.target.profiles[0].environment_id == environment:
                return pair
        return next((pair for pair in candidates if isinstance(pair, Unpaired)), candidates[-1])
