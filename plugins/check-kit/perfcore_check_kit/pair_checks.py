"""Two versions compared by the checks that the configuration names for them."""

from __future__ import annotations

import collections
import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from perfcore.analysis import verdict_text
from perfcore.errors import PluginError
from perfcore.hookspecs import CHECK
from perfcore.model import EMPTY, Change, Pairing, Series
from perfcore.model.record import replace
from perfcore.plugins.drivers import Phases
from perfcore.repository.repository import Repository
from perfcore_check_kit import method_rules, series, slow_sessions
from perfcore_check_kit.method_rules import Facts
from perfcore_check_kit.series import ConfigHistory
from perfcore_check_kit.thresholds import combined

CHANGED = ("degradation", "optimization")
_NEWEST = 64  # versions: their sessions tell a standard deviation to within a tenth


class MethodVerdicts(msgspec.Struct, frozen=True):
    """The verdicts of one method on a pairing."""

    pairing: Pairing
    method: str
    changes: tuple[Change, ...]


def run_checks(
    repository: Repository,
    pairs: Sequence[Pairing],
    *,
    method: str | None = None,
    metric: str | None = None,
    thresholds: Mapping[str, float] = EMPTY,
    lines: Sequence[ConfigHistory] = (),
    comparisons: int = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, text: None,
) -> list[MethodVerdicts]:
    """The verdicts on all pairings, by one method, or by those that the rules of the configuration name. What is
    aside decides nothing. `thresholds` are beside those that are configured; `metric` decides instead of the primary
    one. `lines` are those of a branch that was walked already, which the history of its versions is taken from.
    `comparisons` are made at once, if more than these."""
    drivers = {method: _driver(repository, method)} if method else {}
    verdicts: list[MethodVerdicts] = []

    @functools.cache
    def history(config_id: str) -> Sequence[Series]:
        versions = [pair.target.version or pair.baseline.version for pair in pairs if pair.config_id == config_id]
        return _newest(repository, config_id, versions[-1], lines) if versions[-1] else ()

    most = max(len(pairs), comparisons)
    for index, pairing in enumerate(pairs):
        progress(index, len(pairs), pairing.label)
        smallest = combined(pairing.thresholds, thresholds)
        # The more pairs, the likelier one of them looks like a change by chance: a check has to be surer.
        read = functools.partial(_of, history, pairing)
        question = replace(pairing, comparisons=most, thresholds=smallest, history=read, metric=metric)
        for name in (method,) if method else methods(repository, pairing):
            if name not in drivers:
                drivers[name] = _driver(repository, name)
            changes = drivers[name].call("compare", pairing=question)
            if pairing.benchmark:
                changes = [of_benchmark(change, pairing.benchmark) for change in changes]
            if pairing.aside:  # the baseline is another parent of a merge, which decides nothing
                changes = [replace(change, primary=False) for change in changes]
            verdicts.append(MethodVerdicts(pairing, name, tuple(changes)))
    return _told_apart(verdicts)


def _told_apart(verdicts: Sequence[MethodVerdicts]) -> list[MethodVerdicts]:
    """The verdicts, each with its machine where several have measured the same two versions: it is one question, with
    one id, and may have two answers."""
    machines: dict[object, set[str]] = collections.defaultdict(set)
    for verdict in verdicts:
        machines[_question(verdict.pairing)].add(_machine(verdict.pairing))
    return [
        msgspec.structs.replace(verdict, changes=tuple(_on(_machine(verdict.pairing), verdict.changes)))
        if len(machines[_question(verdict.pairing)]) > 1
        else verdict
        for verdict in verdicts
    ]


def _question(pairing: Pairing) -> object:
    return pairing.config_id, pairing.baseline.version, pairing.target.version


def _machine(pairing: Pairing) -> str:
    return pairing.target.profiles[0].environment_id


def _on(machine: str, changes: Iterable[Change]) -> Iterator[Change]:
    name = f"on {verdict_text.environment(machine)}"
    for change in changes:
        yield replace(change, reason=": ".join(filter(None, (change.reason, name))), environments=(machine,))


def compares_versions(repository: Repository) -> bool:
    """Whether the configured check of two versions is installed."""
    return str(repository.trusted("check.name")) in repository.plugins.names("check")


def placed(change: Change, pair: Pairing, following: Mapping[str, str]) -> Change:
    """The change with the versions that it may have come with: from the one that follows the baseline."""
    before, after = pair.baseline.version or "", pair.target.version or ""
    if change.kind not in CHANGED or not after:
        return change
    earliest = following.get(before) or after
    where = f"came between {earliest[:10]} and {after[:10]}" if earliest != after else ""
    evidence = "; ".join(filter(None, (change.evidence, where)))
    return replace(change, earliest=earliest, latest=after, evidence=evidence)


def _newest(repository: Repository, config_id: str, head: str, known: Sequence[ConfigHistory]) -> list[Series]:
    """The series of one configuration over the newest measured versions of a branch, as a calm machine measured them:
    how much sessions differ while it is slow tells nothing of others."""
    lines = series.newest(known, head, _NEWEST) or series.config_histories(repository, head, _NEWEST)
    return [
        of_metric
        for line in lines
        if line.config_id == config_id
        for of_metric in series.metrics(repository, slow_sessions.calm(repository, line))
    ]


def _of(history: Callable[[str], Sequence[Series]], pairing: Pairing) -> Sequence[Series]:
    return [series for series in history(pairing.config_id) if series.resource == pairing.benchmark]


def of_benchmark(change: Change, benchmark: str) -> Change:
    """The change with the benchmark as its resource, and an id that no other benchmark of the suite has."""
    id = hashlib.sha1(f"{change.id}\0{benchmark}".encode(), usedforsecurity=False).hexdigest()
    return replace(change, resource=benchmark, id=id)


def methods(repository: Repository, pairing: Pairing) -> tuple[str, ...]:
    """The checks for a pairing, as configured."""
    return chosen(repository, facts_of(pairing), str(repository.trusted("check.name")))


def facts_of(pairing: Pairing) -> Facts:
    """The properties of a pairing that rules match."""
    profile = pairing.target.profiles[0]
    return Facts(
        profile.header.type, pairing.label, profile.collector.name, tuple(tool.name for tool in profile.postprocessors)
    )


def chosen(repository: Repository, facts: Facts, default: str) -> tuple[str, ...]:
    """The checks for profiles with these properties."""
    configured = method_rules.read(repository.trusted("check.rules"))
    return method_rules.methods(configured, facts, str(repository.config.get("check.apply")), default)


def _driver(repository: Repository, name: str) -> Phases:
    plugins = repository.plugins
    plugin, driver = plugins.make(CHECK, name, repository.plugin_options("check", name))
    if not hasattr(driver, "compare"):
        raise PluginError(f"{plugin} does not compare two versions", hint="perf check all looks at histories")
    return plugins.phases(plugin, driver)
