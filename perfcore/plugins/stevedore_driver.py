"""One driver by name from stevedore's cache of entry points. No other module knows stevedore."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from perfcore.hookspecs import KINDS
from perfcore.plugins import installed
from perfcore.plugins.installed import PluginInfo


def forget_installed() -> None:
    """Look anew at what is installed: for a process in which that changes, as in tests."""
    from stevedore import ExtensionManager

    importlib.invalidate_caches()
    ExtensionManager.ENTRY_POINT_CACHE.clear()
    installed.announced_as.cache_clear()


def find_driver(kind: str, name: str) -> PluginInfo | None:
    """What stevedore finds and can load; None for all other outcomes, which `Plugins.find` explains."""
    from stevedore.driver import DriverManager

    try:
        # 5.10 deprecates the option, and its DriverManager does not pass on the callback that should replace it.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The warn_on_missing_entrypoint option", DeprecationWarning)
            manager: DriverManager[Any] = DriverManager(
                KINDS[kind].group, name, on_load_failure_callback=_reraise, warn_on_missing_entrypoint=False
            )
    except (Exception, SystemExit):  # the plugin's own: it is imported again, and then its failure is told
        return None
    extensions = list(manager)
    return installed.announced_as(kind, extensions[0].entry_point) if len(extensions) == 1 else None


def _reraise(manager: object, point: object, error: BaseException) -> None:
    raise error
