"""`perf add`: register profiles."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from perfcore.cli.console import Console
from perfcore.errors import PerfError, UsageError
from perfcore.text import plural, printable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def add(
    ctx: typer.Context,
    profiles: Annotated[
        Optional[list[str]], typer.Argument(metavar="PROFILE...", help="0@p, 0@p-3@p, a name, a file.")
    ] = None,
    version: Annotated[
        Optional[str], typer.Option("--version", "-v", metavar="REV", help="The version they belong to.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", "-a", help="Every pending profile, each with the version it was measured for.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the file.")] = False,
) -> None:
    """Register profiles with a version (default: the one that is checked out).

    A profile of another version is refused. The file of a registered profile is removed when the index is durable.
    """
    console: Console = ctx.obj
    repository = console.repository
    if every == bool(profiles):
        raise UsageError("name the profiles, or say --all")
    target = repository.version(version) if version else None
    if every:
        from perfcore.store.lookup import pending_refs

        waiting = pending_refs(repository.pending())
        refs = [r for r in waiting if not (r.pending and r.pending.profile and r.pending.profile.dirty)]
        if dirty := len(waiting) - len(refs):
            console.say(f"{plural(dirty, 'profile')} of uncommitted changes left out")
        if not refs:
            console.say("nothing to register")
    else:
        refs = list({r.name: r for name in profiles or () for r in console.find(name, unregistered=True)}.values())
    from perfcore.repository.registration import register_many

    failed: PerfError | None = None
    measured = [ref.pending.profile if every and ref.pending else None for ref in refs]
    targets = [target or (profile.origin if profile else None) for profile in measured]
    registered = register_many(repository, zip(refs, targets, strict=True), keep=keep)
    for ref, result in zip(refs, registered, strict=True):
        if isinstance(result, PerfError):
            if failed is not None or len(refs) > 1:
                console.say(f"perf: {ref.title}: {result}")
            failed = result
            continue
        registered_version, entry = result
        console.line(f"{entry.profile} registered for {registered_version[:10]}: {printable(entry.name)}")
    if failed is not None:
        raise failed
