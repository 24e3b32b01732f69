"""The phases of a driver as calls that observers can wrap, made by pluggy. No other module knows pluggy."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perfcore.hookspecs import KINDS, Kind
from perfcore.plugins.guard import guard
from perfcore.plugins.installed import PluginInfo
from perfcore.plugins.observers import wrapper

if TYPE_CHECKING:
    from perfcore.plugins.registry import Plugins

PROJECT = "perfcore"


class Phases:
    """Calls the wrapped phases of one driver through pluggy, with exactly one active implementation."""

    def __init__(self, plugins: Plugins, info: PluginInfo, driver: Any) -> None:
        self.info = info
        kind = KINDS[info.kind]
        self._manager = _manager(kind)
        self._manager.register(driver)
        for method in kind.wrapped:
            for observer, function in plugins.observing(f"{kind.name}.{method}"):
                wrapped = wrapper(observer, function, getattr(kind.protocol, method), plugins.warn)
                self._manager.register(SimpleNamespace(**{method: wrapped}))

    def call(self, method: str, **arguments: Any) -> Any:
        """One phase. What the driver raises that is not a PerfError becomes a PluginError naming the phase."""
        hook = getattr(self._manager.hook, f"{self.info.kind}_{method}")
        with guard(self.info, method):
            return hook(**arguments)


def refusals(kind: Kind[Any], driver: Any) -> Iterator[str]:
    """Why pluggy refuses a driver as one of this kind."""
    import pluggy

    try:
        _manager(kind).register(driver)
    except pluggy.PluginValidationError as error:
        yield " ".join(str(error).split())


@functools.cache
def _manager_class() -> type[Any]:
    """A pluggy manager for whom method `m` of a driver of kind `k` implements the specification `k_m`."""
    import pluggy

    class Manager(pluggy.PluginManager):
        kind: Kind[Any]

        def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
            if name not in self.kind.methods or not callable(getattr(plugin, name)):
                return None
            return {
                "wrapper": isinstance(plugin, SimpleNamespace),
                "hookwrapper": False,
                "optionalhook": False,
                "tryfirst": False,
                "trylast": False,
                "specname": f"{self.kind.name}_{name}",
            }

        def parse_hookspec_opts(self, module_or_class: object, name: str) -> Any:
            if not name.startswith(f"{self.kind.name}_"):
                return None
            return {"firstresult": True, "historic": False, "warn_on_impl": None, "warn_on_impl_args": None}

    return Manager


def _manager(kind: Kind[Any]) -> Any:
    manager = _manager_class()(PROJECT)
    manager.kind = kind
    manager.add_hookspecs(
        SimpleNamespace(**{f"{kind.name}_{method}": getattr(kind.protocol, method) for method in kind.methods})
    )
    return manager
