"""`perf remote`: list, add and remove remotes, and keep them in order."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson, seconds
from perfcore.text import align, plural, printable, quantity
from perfcore_command_remote import remotes, upkeep

Name = Annotated[str, typer.Argument(metavar="NAME", help="Such as origin.", show_default=False)]

_URL_HELP = "Of a git repository, a folder, or a bucket: s3://, gs:// or az:// with perfcore-storage-object."


def new_app() -> typer.Typer:
    """A new Typer app with the commands."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(remote)
    app.command()(add)
    app.command()(remove)
    app.command("rm", hidden=True)(remove)  # as in git
    app.command()(gc)
    return app


def remote(
    ctx: typer.Context,
    as_json: AsJson = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", hidden=True)] = False,  # as in git; URLs are always shown
) -> None:
    """Name places to push to and pull from, or list them: a git repository by its URL, a folder, or a bucket.

    A bucket is named as s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or az://CONTAINER/FOLDER, and takes
    perfcore-storage-object. The remotes of a git repository can be used by their names there.
    """
    if ctx.invoked_subcommand is not None:
        return
    console: Console = ctx.obj
    repository = console.repository
    rows = [remotes.remote(repository, name, url) for name, url in sorted(remotes.configured(repository).items())]
    names = {row.name for row in rows}
    others = [
        remotes.remote(repository, name, url, of_vcs=True)
        for name, url in sorted(remotes.of_vcs(repository).items())
        if name not in names
    ]
    if as_json:
        console.json({"schema": 1, "remotes": [{"name": row.name, "url": row.shown} for row in (*rows, *others)]})
        return
    cells = [(row.name, row.shown, "") for row in rows] + [
        (row.name, row.shown, f"(of {repository.vcs_name})") for row in others
    ]
    console.write("".join(f"{line.rstrip()}\n" for line in align(cells)))
    if not cells:
        console.say("there are no remotes: perf remote add NAME URL")


def add(
    ctx: typer.Context,
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help=_URL_HELP, show_default=False)],
) -> None:
    """Keep a place under a name. Nothing is sent."""
    console: Console = ctx.obj
    added = remotes.add(console.repository, name, url)
    console.say(f"{added.name} is {added.shown}")


def remove(ctx: typer.Context, name: Name) -> None:
    """Forget a place. Nothing changes there."""
    console: Console = ctx.obj
    remotes.remove(console.repository, name)
    console.say(f"{printable(name)} is forgotten")


def gc(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[REMOTE]", help="Default: the only one, or origin.", show_default=False),
    ] = None,
    expire: Annotated[
        str | None,
        typer.Option(
            "--expire",
            metavar="TIME",
            help="Take profiles off that were made longer ago, such as 180d, and have no tag. Clones keep theirs.",
        ),
    ] = None,
    grace: Annotated[
        str | None,
        typer.Option(
            "--grace",
            metavar="TIME",
            help="Keep objects used within this time, such as 30d (default: gc.grace, two weeks).",
        ),
    ] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Nobody else pushes or pulls now: allow times under a day.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove what nothing on a remote refers to.

    What somebody used within its grace stays. With --expire, old profiles are taken off first, and a push does
    not bring them back. In git, the history of the ref begins anew, so that the server can forget what was removed.
    """
    console: Console = ctx.obj
    place = remotes.named(console.repository, name)
    remotes.check_place(console.repository, place)
    result = upkeep.collect(
        console.repository,
        place.name,
        expire=seconds("--expire", expire),
        grace=seconds("--grace", grace),
        alone=alone,
        dry_run=dry_run,
        listener=console,
    )
    console.clear_progress()
    if as_json:
        console.json(result.as_json())
        return
    for version, entry in result.expired if dry_run else ():
        console.line(f"{version[:10]}  {printable(entry.label)}")
    for key in result.garbage.removed if dry_run else ():
        console.line(key)
    verb = "would remove" if dry_run else "removed"
    if expire is not None:
        versions = {version for version, _ in result.expired}
        console.say(
            f"{verb} {plural(len(result.expired), 'profile')} of {plural(len(versions), 'version')} of {place.name}"
        )
    size = f"({quantity(result.garbage.bytes, 'B')})"
    objects = f"{plural(len(result.garbage.removed), 'object')} of {place.name} {size}"
    console.say(f"{verb} {objects}, {result.garbage.kept:,} kept")
