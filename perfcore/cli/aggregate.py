"""`perf aggregate`: several profiles as one."""

from __future__ import annotations

import time
from typing import Annotated, Any, Optional

import attrs
import typer

from perfcore.cli.console import Console
from perfcore.cli.options import run_plugin_command, split_plugin
from perfcore.errors import UsageError
from perfcore.plugins.guard import guard
from perfcore.store.lookup import sources

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
DEFAULT = "sum"


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    }
)
def aggregate(
    ctx: typer.Context,
    words: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="PROFILE... [AGGREGATE] [OPTIONS]", help="Profiles, a way to join them (default: sum), its options."
        ),
    ] = None,
) -> None:
    """Join several profiles into one, which becomes pending.

    It belongs to their version if they all are of one.
    """
    console: Console = ctx.obj
    name, rest = split_plugin(words or [], console.plugins, "aggregate", DEFAULT)

    def join(
        profiles: Annotated[Optional[list[str]], typer.Argument(metavar="PROFILE...", show_default=False)] = None,
        *,
        values: dict[str, Any],
    ) -> None:
        repository = console.repository
        refs = [ref for word in profiles or () for ref in console.find(word)]
        if not refs:
            raise UsageError("say which profiles", hint="`perf status` lists them: 0@p-3@p are the first four pending")
        loaded = [repository.load(ref) for ref in refs]
        found, driver = console.plugins.make(
            "aggregate", name, {**repository.plugin_options("aggregate", name), **values}
        )
        with guard(found, "aggregate"):
            made = driver.aggregate(loaded)
        origins = {profile.origin or ref.version for profile, ref in zip(loaded, refs, strict=True)}
        saved = repository.save(
            attrs.evolve(
                made, created=time.time_ns(), origin=origins.pop() if len(origins) == 1 else None, sources=sources(refs)
            )
        )
        console.line(saved.name)

    run_plugin_command(console.plugins, "aggregate", name, rest, join, f"perf aggregate {name}")
