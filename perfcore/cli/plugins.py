"""`perf plugins`: what is installed, whether it works and keeps the laws of its kind; and new ones."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from perfcore.cli.console import Console
from perfcore.cli.extensions import ExtensibleGroup
from perfcore.cli.options import help_of
from perfcore.cli.verbs import VERBS
from perfcore.config.settings import options_of
from perfcore.errors import AmbiguousError, NotFoundError, PluginError, UsageError, nearest
from perfcore.hookspecs import KINDS
from perfcore.plugins.description import Described
from perfcore.plugins.installed import GROUPS, HOOK, Found
from perfcore.text import align, brief, printable

app = typer.Typer(
    cls=ExtensibleGroup,
    no_args_is_help=True,
    help="What is installed, and whether it works.",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)
SCHEMA = 1
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("list")
def list_(
    ctx: typer.Context,
    kind: Annotated[Optional[str], typer.Argument(metavar="[KIND]", help="Only this kind.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """List plugins by kind. Each is imported; one that cannot be used says why."""
    console: Console = ctx.obj
    if kind is not None and kind not in GROUPS:
        raise UsageError(f"there is no kind {kind!r}", hint=nearest(kind, GROUPS) or ", ".join(GROUPS))
    found = list(console.plugins.describe([kind] if kind else ()))
    if as_json:
        console.json({"schema": SCHEMA, "plugins": [_as_json(described) for described in found]})
        return
    rows = [_row(console, described) for described in found]
    console.write("".join(f"{line}\n" for line in align(rows)))
    if not rows:
        console.say("no plugin is installed")


@app.command("show")
def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or kind:name.")],
    as_json: AsJson = False,
) -> None:
    """Show one plugin: where it comes from, what it does, its options."""
    console: Console = ctx.obj
    found = _called(list(console.plugins.describe()), name)
    if as_json:
        console.json({"schema": SCHEMA, "plugins": [_as_json(described) for described in found]})
        return
    for described in found:
        _print(console, described)


@app.command("new")
def new(
    ctx: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Such as collector, view, hook: `perf plugins list`.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="What users are going to type, such as my-wall.")],
    directory: Annotated[
        Optional[Path],
        typer.Option("--dir", metavar="PATH", help="The folder to be made (default: one named like the distribution)."),
    ] = None,
) -> None:
    """Write a new plugin: a distribution that works and passes its tests, to be changed."""
    from perfcore_testing.kit import scaffold
    from perfcore_testing.kit.names import named

    console: Console = ctx.obj
    plugin = named(kind, name)
    for found in console.plugins.found(plugin.kind):
        if found.name == plugin.name:
            raise UsageError(
                f"{found} is installed already", hint="two of one kind and name are an error: take another"
            )
    if plugin.kind == "command" and name in VERBS:
        raise UsageError(f"`perf {name}` is perfcore's own, take another name")
    folder = console.directory / (directory or Path(plugin.distribution))
    made = scaffold.files(plugin)
    scaffold.write(folder, made)
    shown = printable(str(folder))
    for path in made:
        console.line(f"{shown}/{path}")
    editable = shlex.quote(f"{shown}[test]")
    console.say(f"next: pip install -e {editable} && perf plugins check {scaffold.first(plugin)}")


@app.command("check")
def check(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or kind:name.")],
    option: Annotated[
        Optional[list[str]],
        typer.Option("--option", "-o", metavar="KEY=VALUE", help="Make the plugin with this option."),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="How many seconds all laws may take.")] = 600,
    verbose: Annotated[bool, typer.Option("--verbose", help="What each law says, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Try every law of its kind on a plugin, and tell which it keeps. Where a name has several kinds, each is tried.

    The laws are the contract tests of perfcore (they need pytest), run in a process and a folder of their own.
    """
    from perfcore_testing.kit import report, run_contract

    console: Console = ctx.obj
    described = _called(list(console.plugins.describe()), name)
    if len(described) > 1 and (as_json or option):
        listed = ", ".join(printable(f"{d.found.kind}:{d.found.name}") for d in described)
        raise AmbiguousError(
            f"{printable(name)} names several plugins", hint=f"for --json and --option say which: {listed}"
        )
    for each in described:
        if each.state != "ok":
            raise PluginError(_state(each), plugin=str(each.found))
    broken = False
    for found in (each.found for each in described):
        _try_to_make(console, found, _pairs(option or []))
        wanted = run_contract.Trial(
            found=found, folder=console.directory, options=_pairs(option or []), timeout=timeout
        )
        laws = run_contract.laws(wanted, os.environ, console.progress)
        console.clear_progress()
        if as_json:
            console.json(report.as_json(found, laws))
        else:
            for line, color in report.lines(found, laws, everything=verbose):
                console.line(console.paint(line, color) if color else line)
        broken = report.is_broken(laws) or broken
    if broken:
        raise typer.Exit(PluginError.exit_code)


def _try_to_make(console: Console, found: Found, options: Mapping[str, Any]) -> None:
    """UsageError for a driver that is not made of these options, before every law says so."""
    if found.kind == HOOK:
        return
    try:
        console.plugins.settings(found.kind, found.name, options)
        if not KINDS[found.kind].placed and not hasattr(console.plugins.load(found.kind, found.name)[1], "contract"):
            console.plugins.make(found.kind, found.name, options)
    except UsageError as error:
        raise UsageError(
            f"{found}: {error.message}", hint=error.hint or "--option KEY=VALUE gives it options"
        ) from error


def _called(every: Sequence[Described], name: str) -> list[Described]:
    """The plugins of a name, or of kind:name. NotFoundError where there is none."""
    kind, _, plain = name.rpartition(":")
    exact = [d for d in every if name in (d.found.name, f"{d.found.kind}:{d.found.name}")]
    found = exact or [d for d in every if d.found.name == plain and d.found.kind == kind]
    if not found:
        raise NotFoundError(
            f"there is no plugin '{printable(name)}'", hint=nearest(plain, [d.found.name for d in every])
        )
    return found


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


def _row(console: Console, described: Described) -> tuple[str, ...]:
    found = described.found
    text = printable(described.help) if described.state == "ok" else console.paint(_state(described), "red")
    return found.kind, printable(found.name), _origin(described), text


def _print(console: Console, described: Described) -> None:
    found = described.found
    console.line(console.paint(f"{found.kind} {printable(found.name)}", "bold"))
    if described.help:
        console.line(f"  {printable(described.help)}")
    console.line(f"  from {_origin(described)} ({printable(found.target)}), {_state(described)}")
    for option in options_of(described.settings) if described.settings else ():
        console.line(f"  {option.flag:<20} {printable(help_of(option))}")


def _state(described: Described) -> str:
    return printable(f"{described.state}: {described.reason}" if described.reason else described.state)


def _origin(described: Described) -> str:
    return printable(f"{described.found.distribution} {described.found.version}")


def _as_json(described: Described) -> dict[str, Any]:
    found = described.found
    options = [
        {
            "name": option.name,
            "type": option.type.__name__.lower(),
            "many": option.many,
            "default": None if option.required else option.default,
            "required": option.required,
            "help": option.info.help,
            "unit": option.info.unit,
            "identity": option.info.identity,
            "choices": list(option.info.choices),
            "environment": option.info.env,
        }
        for option in (options_of(described.settings) if described.settings else ())
    ]
    return {
        "kind": found.kind,
        "name": found.name,
        "distribution": found.distribution,
        "version": found.version,
        "target": found.target,
        "state": described.state,
        "reason": described.reason,
        "help": described.help,
        "options": options,
    }
