"""`perf plugins`: what is installed, and whether it works."""

from __future__ import annotations

from typing import Annotated, Any, Optional

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import help_of
from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.installed import GROUPS
from perfcore.plugins import Described
from perfcore.settings import options_of
from perfcore.text import align, printable

app = typer.Typer(
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
    kind, _, plain = name.rpartition(":")
    every = list(console.plugins.describe())
    found = [
        d for d in every if d.found.name in (plain, name) and (not kind or d.found.kind == kind or d.found.name == name)
    ]
    if not found:
        raise NotFoundError(f"there is no plugin {name!r}", hint=nearest(plain, [d.found.name for d in every]))
    if as_json:
        console.json({"schema": SCHEMA, "plugins": [_as_json(described) for described in found]})
        return
    for described in found:
        _print(console, described)


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
