"""`perf postprocess`: a new profile of an old one."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from perfcore_command_kit.plugin_options import HANDS_ON, run_plugin_command, split_plugin

from perfcore.cli.console import Console
from perfcore.errors import UsageError
from perfcore.store.lookup import sources
from perfcore_command_derive.derivation import derive


def new_app() -> typer.Typer:
    """A new Typer app with the one command, which hands the options of a plugin on to it."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(context_settings=HANDS_ON)(postprocess)
    return app


def postprocess(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROFILE... POSTPROCESSOR [OPTIONS]", help="Profiles, a postprocessor, its options."),
    ] = None,
) -> None:
    """Apply a postprocessor to profiles; each result becomes a pending profile of the same version."""
    console: Console = ctx.obj
    postprocessor, options = split_plugin(words or [], console.plugins, "postprocessor", None)

    def transform(
        profiles: Annotated[list[str] | None, typer.Argument(metavar="PROFILE...", show_default=False)] = None,
        *,
        values: dict[str, Any],
    ) -> None:
        if not profiles:
            raise UsageError("say which profile", hint="`perf status` lists them")
        repository = console.history.repository
        for ref in [ref for name in profiles for ref in console.find(name)]:
            profile = repository.load(ref)
            derived = derive(repository, profile, postprocessor, values, origin=ref.version, sources=sources([ref]))
            saved = repository.save(derived)
            console.say(f"{ref.name} -> {saved.name}")

    run_plugin_command(
        console.plugins, "postprocessor", postprocessor, options, transform, f"perf postprocess {postprocessor}"
    )
