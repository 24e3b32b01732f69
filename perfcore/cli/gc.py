"""`perf gc`: remove what nothing refers to."""

from __future__ import annotations

import time
from typing import Annotated, Optional

import typer

from perfcore.cli.console import Console
from perfcore.config.settings import parse_seconds
from perfcore.errors import UsageError
from perfcore.store.gc import collect_garbage
from perfcore.text import plural, quantity

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
SCHEMA = 1


@app.command()
def gc(
    ctx: typer.Context,
    grace: Annotated[
        Optional[str],
        typer.Option(
            "--grace",
            metavar="TIME",
            help="Keep what was used this recently, such as 12h or 30d (default: gc.grace, two weeks).",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only say what would be removed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Remove objects that no version, pending profile or note refers to, once their grace is over."""
    console: Console = ctx.obj
    repository = console.repository
    try:
        seconds = parse_seconds(grace) if grace is not None else float(repository.config.get("gc.grace"))
    except ValueError as error:
        raise UsageError(str(error)) from error
    before = time.time_ns() - int(seconds * 1e9)
    swept = collect_garbage(repository.store, older_than=before, dry_run=dry_run)
    prune = getattr(repository.store.storage, "prune", None)
    if prune is not None and not dry_run:
        prune(min(before, time.time_ns() - 3_600_000_000_000))
    if as_json:
        removed = {"removed": list(swept.removed), "bytes": swept.bytes, "kept": swept.kept}
        console.json({"schema": SCHEMA, "dry_run": dry_run, **removed})
        return
    for key in swept.removed if dry_run else ():
        console.line(key)
    verb = "would remove" if dry_run else "removed"
    console.say(f"{verb} {plural(len(swept.removed), 'object')} ({quantity(swept.bytes, 'B')}), {swept.kept:,} kept")
