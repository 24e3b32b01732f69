"""The smallest changes that matter, by metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository


def thresholds_of(repository: Repository) -> dict[str, float]:
    """The smallest changes that matter, by metric, as configured; the key "" is the default."""
    configured = {str(key): float(value) for key, value in repository.config.get("check.thresholds").items()}
    default = repository.config.get("check.threshold")
    return configured if default is None else {"": float(default), **configured}


def combined(configured: Mapping[str, float], given: Mapping[str, float]) -> Mapping[str, float]:
    """The thresholds of the configuration with those of a command line, of which one for every metric outweighs
    all that is configured."""
    return given if "" in given else {**configured, **given}
