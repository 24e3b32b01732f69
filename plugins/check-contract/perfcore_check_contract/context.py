"""The metrics of a measured command as contracts name them, and verdicts before they have a name."""

from __future__ import annotations

from perfcore_check_kit.version_history import MeasuredCommand

from perfcore.model import Change, ChangeKind
from perfcore_check_contract.contract import metric_of


def metric_name(command: MeasuredCommand, alias: str) -> str:
    """The name of a metric of a sentence in the profiles of a command."""
    return metric_of(alias, command.series)


def is_better_higher(command: MeasuredCommand, metric: str) -> bool:
    """Whether a fall of the metric is a regression."""
    return metric in command.series and command.series[metric].better == "higher"


def verdict(kind: ChangeKind, evidence: str, **facts: object) -> Change:
    """A verdict that has no id and no sentence yet."""
    return Change(id="", kind=kind, metric="", evidence=evidence, **facts)  # type: ignore[arg-type]
