"""`perf plugins`: the installed plugins, and whether they work. `perfcore-testing` adds `new` and `check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from perfcore_command_kit.extensible_group import ExtensibleGroup

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson, help_of
from perfcore.config.settings import options_of
from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.hookspecs import API
from perfcore.plugins.description import Described
from perfcore.plugins.installed import GROUPS, unknown_groups
from perfcore.text import align, fitted, printable

if TYPE_CHECKING:
    from perfcore.plugins.registry import Plugins

SCHEMA = 1


def new_app() -> typer.Typer:
    """A new Typer app with the commands, beside which other plugins add theirs."""
    app = typer.Typer(
        cls=ExtensibleGroup,
        no_args_is_help=True,
        help="List the installed plugins and verify that they work.",
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.command("list")(list_)
    app.command("show")(show)
    return app


def list_(
    ctx: typer.Context,
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="Only this kind.", show_default=False)] = None,
    times: Annotated[
        bool, typer.Option("--times", help="How long each import took; shared modules count for the first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List plugins by kind. Imports each one, and says why one cannot be used."""
    console: Console = ctx.obj
    if kind is not None and kind not in GROUPS:
        raise UsageError(f"there is no kind {kind!r}", hint=nearest(kind, GROUPS) or ", ".join(GROUPS))
    plugins = list(console.plugins.describe([kind] if kind else ()))
    groups = unknown_groups()
    if as_json:
        listed = [_as_json(described) for described in plugins]
        unknown = [{**group._asdict(), "nearest": group.nearest} for group in groups]
        console.json({"schema": SCHEMA, "api": API, "plugins": listed, "unknown_groups": unknown})
        return
    for group in groups:
        console.warn(str(group))
    rows = [_row(console, described, times) for described in plugins]
    # Why a plugin cannot be used is never cut; what it is for, `perf plugins show` says in full.
    columns = console.width if all(described.state == "ok" for described in plugins) else None
    console.write(
        "".join(f"{line}\n" for line in align(fitted(rows, columns, cut=(len(rows[0]) - 1,) if rows else ())))
    )
    if not rows:
        console.say("no plugin is installed")


def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or kind:name.")],
    as_json: AsJson = False,
) -> None:
    """Show one plugin: where it comes from, what it does, its options."""
    console: Console = ctx.obj
    matches = called(console.plugins, name)
    if as_json:
        console.json({"schema": SCHEMA, "plugins": [_as_json(described) for described in matches]})
        return
    for described in matches:
        _print(console, described)


def called(plugins: Plugins, name: str) -> list[Described]:
    """The plugins of a name, or of kind:name; no other is imported. NotFoundError where there is none."""
    matches = list(plugins.describe(name=name))
    if not matches:
        names = [described.info.name for described in plugins.describe()]
        close = nearest(name.rpartition(":")[2], names, alike=0.65)
        hint = close or "one of your own is installed first: pip install -e FOLDER"
        raise NotFoundError(f"there is no plugin '{printable(name)}'", hint=hint)
    return matches


def _row(console: Console, described: Described, times: bool) -> tuple[str, ...]:
    info = described.info
    text = printable(described.help) if described.state == "ok" else console.paint(state_of(described), "red")
    seconds = (f"{described.seconds * 1000:.1f} ms",) if times else ()
    return info.kind, printable(info.name), _origin(described), *seconds, text


def _print(console: Console, described: Described) -> None:
    info = described.info
    console.line(console.paint(f"{info.kind} {printable(info.name)}", "bold"))
    if described.help:
        console.line(f"  {printable(described.help)}")
    console.line(f"  from {_origin(described)} ({printable(info.target)}), {state_of(described)}")
    for option in options_of(described.settings) if described.settings else ():
        console.line(f"  {option.flag:<20} {printable(help_of(option))}")


def state_of(described: Described) -> str:
    return printable(f"{described.state}: {described.reason}" if described.reason else described.state)


def _origin(described: Described) -> str:
    return printable(f"{described.info.distribution} {described.info.version}")


def _as_json(described: Described) -> dict[str, Any]:
    info = described.info
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
        "kind": info.kind,
        "name": info.name,
        "distribution": info.distribution,
        "version": info.version,
        "target": info.target,
        "state": described.state,
        "reason": described.reason,
        "help": described.help,
        "full_name": info.full_name,
        "import_seconds": round(described.seconds, 6),
        "options": options,
    }
