"""Plugins explained: whether each would work, and whose code an exception comes from."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Literal

from perfcore.errors import PluginError, UntrustedError
from perfcore.named_tuple import NamedTuple
from perfcore.plugins import installed, local
from perfcore.plugins.drivers import check_driver, settings_of
from perfcore.plugins.installed import HOOK, PluginInfo
from perfcore.plugins.observers import check_observer

if TYPE_CHECKING:
    from perfcore.plugins.registry import Plugins

CORE = "perfcore"  # the package


class Described(NamedTuple):
    """A plugin for `perf plugins`: `state` is what would happen if it were used, `seconds` the time of its import.
    Modules that several plugins need count for the first of them."""

    info: PluginInfo
    state: Literal["ok", "disabled", "broken", "conflict", "untrusted"]
    reason: str = ""
    help: str = ""
    settings: type[Any] | None = None
    seconds: float = 0.0


def describe(plugins: Plugins, info: PluginInfo) -> Described:
    if plugins.is_disabled(info):
        return Described(info=info, state="disabled")
    rivals = [f for f in plugins.infos(info.kind) if f.name == info.name and f != info]
    if info.kind != HOOK and rivals:
        listed = ", ".join(f"{rival.distribution} {rival.version}" for rival in rivals)
        return Described(info=info, state="conflict", reason=f"also brought by {listed}")
    start = time.perf_counter()
    try:
        plugin = plugins.imported(info)
        seconds = time.perf_counter() - start
        (check_observer if info.kind == HOOK else check_driver)(info, plugin)
    except UntrustedError as error:
        return Described(info=info, state="untrusted", reason=f"{error.message} ({error.hint})")
    except PluginError as error:
        hint = f" ({error.hint})" if error.hint and info.kind == HOOK else ""
        return Described(info=info, state="broken", reason=error.message + hint)
    settings = None if info.kind == HOOK else settings_of(plugin)
    return Described(info=info, state="ok", help=installed.first_line(plugin), settings=settings, seconds=seconds)


def owner_of(error: BaseException) -> str | None:
    """The distribution in whose code an exception was raised, if that is not perfcore's own."""
    trace, packages = error.__traceback__, []
    while trace is not None:
        packages.append(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        trace = trace.tb_next
    local_modules = [package for package in packages if package.startswith(local.PREFIX) and package in sys.modules]
    if local_modules:
        return str(sys.modules[local_modules[-1]].__file__)
    owners = {f.target.partition(":")[0].partition(".")[0]: f for kind in installed.announced().values() for f in kind}
    theirs = [owners[package] for package in reversed(packages) if package in owners and package != CORE]
    return f"{theirs[0].distribution} {theirs[0].version}" if theirs else None
