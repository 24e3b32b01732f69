"""Commands that hand what they do not know on to a plugin: `perf show 0@p table --head 5`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import typer

from perfcore.cli.options import invoke, with_options
from perfcore.config.settings import options_of
from perfcore.errors import UsageError, nearest
from perfcore.plugins.drivers import settings_of
from perfcore.plugins.registry import Plugins
from perfcore.text import printable

HANDS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
"""Settings of a verb that hands what it does not know on to a plugin, as it is."""


def split_plugin(words: Sequence[str], plugins: Plugins, kind: str, default: str | None) -> tuple[str, list[str]]:
    """(plugin, the other words) of a command line such as `show 0@p table --head 5`. The word after an option
    may be its value, and names no plugin."""
    names = plugins.names(kind)
    for position, word in enumerate(words):
        if plugins.has(kind, word) and not (
            position and words[position - 1].startswith("-") and "=" not in words[position - 1]
        ):
            return word, [*words[:position], *words[position + 1 :]]
    if default is None:
        close = next(filter(None, (nearest(word, names) for word in reversed(words))), None)
        listed = f"there are {', '.join(names)}" if names else f"no {kind} is installed"
        named = [printable(word) for word in words if not word.startswith("-")]
        wrong = f": none of these is one: {', '.join(named)}" if named else ""
        raise UsageError(f"say which {kind}{wrong}", hint=close or listed)
    return default, list(words)


def run_plugin_command(
    plugins: Plugins, kind: str, name: str, words: Sequence[str], function: Callable[..., Any], prog: str
) -> Any:
    """Parse the rest of a command line with the options of a plugin behind those of the function, which gets the
    plugin's as `values`, and call it."""
    info, driver = plugins.load(kind, name)
    settings = settings_of(driver)
    inner = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    doc = (inspect.getdoc(driver) or "").strip()
    inner.command(help=doc, context_settings={"help_option_names": ["-h", "--help"]})(
        with_options(function, options_of(settings) if settings else (), info)
    )
    return invoke(typer.main.get_command(inner), words, prog)
