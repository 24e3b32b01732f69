"""`perf plugins check`: the contract tests of a kind on an installed plugin."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from perfcore_command_plugins.command import called, state_of

from perfcore.errors import AmbiguousError, NotFoundError, PluginError, UsageError
from perfcore.hookspecs import KINDS, CommandContext
from perfcore.plugins.description import Described
from perfcore.plugins.installed import HOOK, PluginInfo
from perfcore.text import brief, printable
from perfcore_testing.kit import report, run_contract
from perfcore_testing.kit.run_contract import Law


class CheckCommand:
    """Try the laws of its kind on a plugin."""

    def app(self) -> typer.Typer:
        app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
        app.command("check")(_check)
        return app


def _check(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A name, or kind:name.", show_default=False)
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="KEY=VALUE", help="Make the plugin with this option."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Check all plugins that are installed and work.")] = False,
    law: Annotated[list[str] | None, typer.Option("--law", metavar="NAME", help="Only this law. Repeatable.")] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="How many seconds all laws may take.")] = 600,
    verbose: Annotated[bool, typer.Option("--verbose", help="The documentation of each law, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Try the laws of its kind on a plugin, and print each law with its outcome as soon as it is over. Where a name has
    several kinds, each is tried.

    The laws are the contract tests of perfcore (they need pytest), run in a process and a folder of their own.
    """
    console: CommandContext = ctx.obj
    described = _chosen(console, name, every)
    if len(described) > 1 and (as_json or option) and not every:
        listed = ", ".join(printable(f"{d.info.kind}:{d.info.name}") for d in described)
        raise AmbiguousError(
            f"{printable(name or '')} names several plugins", hint=f"for --json and --option say which: {listed}"
        )
    for plugin in described:
        if plugin.state != "ok":
            raise PluginError(state_of(plugin), plugin=str(plugin.info))
    options, documents, broken = _pairs(option or []), [], False
    for origin in (plugin.info for plugin in described):
        _try_to_make(console, origin, options)
        trial = run_contract.Trial(
            info=origin, folder=console.directory, options=options, timeout=timeout, only=tuple(law or ())
        )
        try:
            laws = _tried(console, trial, everything=verbose, silent=as_json)
        except NotFoundError:  # a law of another kind
            if not every:
                raise
            continue
        broken = report.is_broken(laws) or broken
        documents.append(report.as_json(origin, laws))
    if as_json:
        console.json({"schema": report.SCHEMA, "plugins": documents} if every else documents[0])
    if broken:
        raise typer.Exit(PluginError.exit_code)


def _chosen(console: CommandContext, name: str | None, every: bool) -> list[Described]:
    """The plugins to be checked."""
    if every == (name is not None):
        raise UsageError("name a plugin, or say --all")
    if every:
        return [plugin for plugin in console.plugins.describe() if plugin.state == "ok"]
    return called(console.plugins, name or "")


def _tried(console: CommandContext, trial: run_contract.Trial, *, everything: bool, silent: bool) -> list[Law]:
    """The outcome of every law, each printed when it is over."""

    def print_lines(lines: Sequence[tuple[str, str]]) -> None:
        console.clear_progress()
        for line, color in lines if not silent else ():
            console.line(console.paint(line, color) if color else line)

    print_lines([(printable(str(trial.info)), "bold")])
    laws = run_contract.laws(
        trial, os.environ, console.progress, lambda law: print_lines(list(report.law_lines(law, everything=everything)))
    )
    print_lines(list(report.outcome_lines(laws)))
    return laws


def _try_to_make(console: CommandContext, info: PluginInfo, options: Mapping[str, Any]) -> None:
    """UsageError for a driver that is not made of these options, before every law says so."""
    if info.kind == HOOK:
        return
    own = hasattr(console.plugins.imported(info), "contract")  # which makes the driver
    if own and not options:
        return
    try:
        console.plugins.settings(info.kind, info.name, options)
        if not KINDS[info.kind].placed and not own:
            console.plugins.make(info.kind, info.name, options)
    except UsageError as error:
        raise UsageError(
            f"{info}: {error.message}", hint=error.hint or "--option KEY=VALUE gives it options"
        ) from error


def _pairs(texts: Sequence[str]) -> dict[str, Any]:
    """Options by key; one that is given several times is a list."""
    options: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--option wants KEY=VALUE, got {brief(text)}")
        options[key] = value if key not in options else [*_listed(options[key]), value]
    return options


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
