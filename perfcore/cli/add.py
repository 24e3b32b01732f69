"""`perf add`: register profiles."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from perfcore.cli.console import Console
from perfcore.errors import PerfError, UsageError
from perfcore.text import plural, printable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
_INCOMPLETE = "left out as incomplete: the command that measured them adds the missing runs with --continue"


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
        bool, typer.Option("--all", "-a", help="Every complete pending profile, with the version it was measured for.")
    ] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the file.")] = False,
) -> None:
    """Register profiles with a version (default: the one that is checked out).

    A profile of another version is refused. The file of a registered profile is removed when the index is durable.
    """
    from perfcore.repository.registration import register_many
    from perfcore.store.lookup import pending_refs

    console: Console = ctx.obj
    repository = console.repository
    if every == bool(profiles):
        raise UsageError("name the profiles, or say --all")
    target = repository.version(version) if version else None
    if every:
        refs = pending_refs(repository.pending())
        for state, text in (("dirty", "of uncommitted changes left out"), ("incomplete", _INCOMPLETE)):
            kept = [ref for ref in refs if not (ref.pending and getattr(ref.pending.profile, state, False))]
            if count := len(refs) - len(kept):
                console.say(f"{plural(count, 'profile')} {text}")
            refs = kept
        if not refs:
            console.say("nothing to register")
    else:
        refs = list({r.name: r for name in profiles or () for r in console.find(name, unregistered=True)}.values())
    failures: list[PerfError] = []
    measured = [ref.pending.profile if every and ref.pending else None for ref in refs]
    targets = [target or (profile.origin if profile else None) for profile in measured]
    for ref, result in zip(refs, register_many(repository, zip(refs, targets, strict=True), keep=keep), strict=True):
        if isinstance(result, PerfError):
            if len(refs) > 1:
                console.say(f"perf: {ref.title}: {result}")
            failures.append(result)
            continue
        registered_version, entry = result
        console.line(f"{entry.profile} registered for {registered_version[:10]}: {printable(entry.name)}")
        if getattr(ref.pending and ref.pending.profile, "incomplete", False):
            console.say(f"{printable(entry.name)} is incomplete, but counts as measured; to take it off: perf rm")
    if failures:
        text = f"{len(failures)} of {len(refs)} profiles not registered"
        raise failures[0] if len(refs) == 1 else type(failures[-1])(text, hint=failures[-1].hint)
