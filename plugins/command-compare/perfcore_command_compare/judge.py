"""The verdict on two samples, by the check that the configuration names for them."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
from perfcore_check_kit import method_rules, pair_checks, pairing, thresholds

from perfcore.errors import PluginError, UsageError
from perfcore.hookspecs import CHECK
from perfcore.model import Change, Pairing, Unpaired
from perfcore.model.record import replace
from perfcore.plugins.drivers import Phases
from perfcore.text import printable
from perfcore_command_compare import suites
from perfcore_command_compare.batches import Samples
from perfcore_command_compare.host import Host

# 1 %: smaller differences appear between builds of the same source, by the layout of code and environment in memory
# (Mytkowicz, Diwan, Hauswirth, Sweeney: Producing wrong data without doing anything obviously wrong, ASPLOS 2009).
DEFAULT_THRESHOLD = 0.01
# Of a benchmark of a suite: the pairs that decide 1 % take four times as many, and every benchmark needs them.
SUITE_THRESHOLD = 0.02


@attrs.define
class Judge:
    """Decides on one metric: that of the request, or the primary metric that the check names at the first look."""

    host: Host
    metric: str | None
    threshold: float | None
    unpaired: tuple[Unpaired, ...] = ()
    _thresholds: dict[str, float] = attrs.field(init=False)
    _check: Phases | None = None
    _is_suite: bool = False

    def __attrs_post_init__(self) -> None:
        repository = self.host.repository
        self._thresholds = {} if repository is None else thresholds.thresholds_of(repository)

    @property
    def smallest(self) -> float:
        """The smallest relative change that matters in the metric that decides."""
        if self.threshold is not None:
            return self.threshold
        default = SUITE_THRESHOLD if self._is_suite else DEFAULT_THRESHOLD
        return self._thresholds.get(self.metric or "", self._thresholds.get("", default))

    def __call__(self, samples: Samples, share: float) -> tuple[Sequence[Change], float]:
        """The changes of all metrics, those that decide first, and the smallest change that matters. `unpaired` are the
        benchmarks that only one side has."""
        pair = replace(pairing.of_profiles(None, *samples), share=share, metric=self.metric)
        if self._check is None:
            self._check = _configured_check(self.host, pair)
        self._is_suite = suites.is_suite(pair)
        if self._is_suite:
            pair = replace(pair, thresholds=self._thresholds)
            changes, self.unpaired = suites.judged(self._check, pair, self.smallest)
            return changes, self.smallest
        if self.metric is None:
            changes = self._check.call("compare", pairing=pair)
            self.metric = next((change.metric for change in changes if change.primary), None)
        if self.metric is None:
            return (), self.smallest
        thresholds = {**self._thresholds, self.metric: self.smallest}
        pair = replace(pair, metric=self.metric, thresholds=thresholds)
        return self._sorted(self._check.call("compare", pairing=pair)), self.smallest

    def _sorted(self, changes: Sequence[Change]) -> list[Change]:
        totals = [change for change in changes if change.metric == self.metric and not change.resource]
        if not totals:
            metrics = ", ".join(printable(change.metric) for change in changes)
            raise UsageError(f"the metric {printable(str(self.metric))!r} was not measured", hint=f"there is {metrics}")
        return [totals[0], *(change for change in changes if change is not totals[0])]


def _configured_check(host: Host, pair: Pairing) -> Phases:
    """The first check that the configuration names for these samples."""
    if host.repository is not None:
        name = pair_checks.methods(host.repository, pair)[0]
    else:
        rules, default = method_rules.read(host.config.get("check.rules")), str(host.config.get("check.name"))
        name = method_rules.methods(rules, pair_checks.facts_of(pair), str(host.config.get("check.apply")), default)[0]
    plugin, driver = host.plugins.make(CHECK, name, host.options("check", name))
    if not hasattr(driver, "compare"):
        raise PluginError(
            f"{plugin} does not compare two samples", hint="let check.name or check.rules name one that does: pair"
        )
    return host.plugins.phases(plugin, driver)
