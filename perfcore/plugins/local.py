"""Plugins without a distribution: a class or function in a Python file that the configuration names.

    plugins:
      own:
        collector:
          mine: tools/plugins.py:Mine
        hook:
          collector.collect:pin: tools/plugins.py:pin

They have the same rights as installed ones. The file is read when the plugin is used, and the bytes that were read are
run if the user has trusted exactly them; what Python has compiled beside it is never looked at.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from perfcore import files
from perfcore.config.layers import MAX_BYTES, Config, Layer, LayerName, digest
from perfcore.config.trust import Trust
from perfcore.errors import PerfError, PluginError, UntrustedError, UsageError, nearest
from perfcore.named_tuple import NamedTuple
from perfcore.plugins.installed import GROUPS, PluginInfo, brief
from perfcore.text import printable

KEY = "plugins.own"
PREFIX = "perfcore_own_"
_USERS: tuple[LayerName, ...] = ("user", "command line", "defaults")
# Trust is kept by digest: without this, a file of commands that is trusted could also be run as plugin code.
_SALT = b"a plugin of perfcore\0"


class LocalPlugin(NamedTuple):
    """One of them, as a layer of the configuration names it; nothing of its file is run yet."""

    kind: str
    name: str
    path: Path
    attribute: str
    shown_path: str
    layer: Layer

    def info(self, trust: Trust) -> PluginInfo:
        """Its distribution is its file, its version a hash of the content; unknown before the layer is trusted."""
        version = "?"
        if trust.covers(self.layer):
            try:
                version = digest(_SALT + self.read())[:10]
            except PerfError:
                version = "?"
        return PluginInfo(
            kind=self.kind,
            name=self.name,
            target=f"{self.shown_path}:{self.attribute}",
            distribution=self.shown_path,
            version=version,
        )

    def read(self) -> bytes:
        """The file's bytes. PerfError where it cannot be read."""
        return files.read(self.path, MAX_BYTES).data

    def is_trusted(self, data: bytes, trust: Trust) -> bool:
        """Whether these bytes may be run."""
        return self.layer.name in _USERS or trust.holds(trust_digest(data))


def trust_digest(data: bytes) -> str:
    """By what the content of a file of plugins is trusted: it is no other file's digest."""
    return digest(_SALT + data)


def named_in(config: Config, folders: Mapping[LayerName, Path]) -> tuple[LocalPlugin, ...]:
    """The plugins that the layers name, the stronger layer's where two have one of a name. Their paths are relative
    to the folder of the layer. UsageError for what is no name of a plugin."""
    plugins = {
        (plugin.kind, plugin.name): plugin
        for layer in config.layers
        if layer.name in folders
        for plugin in _of_layer(layer, folders[layer.name])
    }
    return tuple(plugins.values())


def imported(plugin: LocalPlugin, trust: Trust) -> Any:
    """The class or function. UntrustedError unless the user has trusted the layer and the file as it is now."""
    who = str(plugin.info(trust))
    trust.require(plugin.layer)
    try:
        data = plugin.read()
    except PerfError as error:
        raise PluginError(str(error), plugin=who, phase="loading", hint=f"see `{KEY}`") from error
    if not plugin.is_trusted(data, trust):
        raise UntrustedError(
            f"{who} is in {printable(str(plugin.path))}, which you have not trusted as it is now",
            hint="read it, then say `perf config trust`",
        )
    module = _run(plugin, data, who)
    try:
        return getattr(module, plugin.attribute)
    except AttributeError as error:
        raise PluginError(f"{plugin.shown_path} has no {plugin.attribute}", plugin=who, phase="loading") from error


def _of_layer(layer: Layer, folder: Path) -> Iterator[LocalPlugin]:
    section = layer.values.get("plugins")
    kinds = section.get("own") if isinstance(section, Mapping) else None
    source = f"{printable(str(layer.path or layer.name))}: {KEY}"
    if kinds is None:
        return
    if not isinstance(kinds, Mapping):
        raise UsageError(f"{source} wants kinds, and below each names with their files")
    for kind, names in kinds.items():
        if kind not in GROUPS:
            hint = nearest(str(kind), GROUPS) or ", ".join(GROUPS)
            raise UsageError(f"{source}: there is no kind '{printable(str(kind))}'", hint=hint)
        if not isinstance(names, Mapping):
            raise UsageError(f"{source}.{kind} wants names, each with its file: mine: tools/plugins.py:Mine")
        for name, target in names.items():
            yield _local_plugin(str(kind), str(name), target, source, layer, folder)


def _local_plugin(kind: str, name: str, target: object, source: str, layer: Layer, folder: Path) -> LocalPlugin:
    path, _, attribute = str(target).rpartition(":")
    if not isinstance(target, str) or not path.endswith(".py") or not attribute.isidentifier() or "\0" in path:
        raise UsageError(
            f"{source}.{kind}: '{printable(name)}' wants a file and what is in it, such as tools/plugins.py:Mine"
        )
    return LocalPlugin(
        kind=kind, name=name, path=folder / path, attribute=attribute, shown_path=printable(path), layer=layer
    )


def _run(plugin: LocalPlugin, data: bytes, who: str) -> types.ModuleType:
    """The module that these bytes make, once in a process."""
    name = PREFIX + trust_digest(data)
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    module = types.ModuleType(name)
    module.__file__ = str(plugin.path)
    sys.modules[name] = module  # before it runs, as import does: dataclasses look their module up there
    try:
        exec(compile(data, str(plugin.path), "exec", dont_inherit=True), vars(module))  # no __future__ of ours
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginError(
            f"cannot be run: {brief(error)}{_line(error, plugin)}",
            plugin=who,
            phase="loading",
            hint="run again with --debug for the traceback",
        ) from error
    return module


def _line(error: BaseException, plugin: LocalPlugin) -> str:
    """Where in the file it went wrong."""
    trace, line = error.__traceback__, getattr(error, "lineno", None)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(plugin.path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line} of {printable(str(plugin.path))})" if line else ""
