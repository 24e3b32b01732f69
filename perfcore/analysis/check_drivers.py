"""The check of a name with its configured options, and what its stored calibrations say."""

from __future__ import annotations

from collections.abc import Container, Iterator

from perfcore.errors import PluginError
from perfcore.hookspecs import CHECK, Check
from perfcore.plugins.drivers import guard
from perfcore.plugins.installed import PluginInfo, requirement
from perfcore.repository.repository import Repository


def calibrated(repository: Repository, config_ids: Container[str]) -> Iterator[str]:
    """What stored calibrations found for these configurations, in lines; nothing without the check `calibration`."""
    if not repository.plugins.is_announced("check", "calibration"):
        return
    plugin, driver = make(repository, "calibration", "perf status")
    if hasattr(driver, "calibrated"):
        with guard(plugin, "calibrated"):
            yield from driver.calibrated(repository, config_ids)


def make(repository: Repository, name: str, needed_by: str) -> tuple[PluginInfo, Check]:
    """The check of this name with its configured options. PluginError names the distribution of a missing one."""
    plugins = repository.plugins
    try:
        return plugins.make(CHECK, name, repository.plugin_options("check", name))
    except PluginError as error:
        if plugins.is_announced("check", name):  # disabled or broken: its own error says more
            raise
        raise PluginError(
            f"perfcore-check-{name} is not installed, and {needed_by} needs it",
            hint=f"pip install {requirement(f'perfcore-check-{name}')}",
        ) from error
