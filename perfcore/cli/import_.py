"""`perf import`: profiles from other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import attrs
import typer

from perfcore.cli.console import Console
from perfcore.errors import FormatError, UsageError, VersionError
from perfcore.model import Profile
from perfcore.repository.repository import Repository
from perfcore.text import plural, printable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command("import")
def import_(
    ctx: typer.Context,
    words: Annotated[
        list[str], typer.Argument(metavar="[FORMAT] FILE...", help="A format (default: found out) and files.")
    ],
    version: Annotated[
        Optional[str],
        typer.Option("--version", "-v", metavar="REV", help="The version they were measured for."),
    ] = None,
    register: Annotated[bool, typer.Option("--add", "-a", help="Register them at once.")] = False,
) -> None:
    """Read profiles from files; they become pending.

    `perf import perun DIR` takes over a whole Perun instance: DIR is its folder `.perun`, or the one around it.
    What was registered is registered with its version, what was pending becomes pending.
    """
    console: Console = ctx.obj
    repository = console.repository
    known = console.plugins.names("format")
    format_name = words[0] if words[0] in known and len(words) > 1 else None
    paths = [Path(word) for word in (words[1:] if format_name else words)]
    target = repository.version(version) if version else None
    for path in paths:
        place = path if path.is_absolute() else repository.cwd / path
        if place.is_dir():
            if format_name != "perun":
                raise UsageError(f"{path} is a folder", hint="a Perun instance is read by `perf import perun DIR`")
            _import_instance(console, repository, place)
            continue
        profile = repository.read_file(place, format_name)
        _keep(console, repository, profile, target, register)


def _keep(console: Console, repository: Repository, profile: Profile, target: str | None, register: bool) -> None:
    saved = repository.save(attrs.evolve(profile, origin=target or profile.origin))
    if not register:
        console.line(saved.name)
        return
    from perfcore.store.lookup import Ref

    where, entry = repository.register(Ref(kind="pending", pending=saved), target or profile.origin)
    console.line(f"{entry.profile} registered for {where[:10]}: {entry.name}")


def _import_instance(console: Console, repository: Repository, folder: Path) -> None:
    """Take over what can be read; whatever is left out is told, and makes the command fail in the end."""
    from perfcore_format_perun.reader import read_instance

    taken = left = 0
    for found in read_instance(folder):
        try:
            if isinstance(found, FormatError):
                raise found
            if found.version is not None:
                repository.vcs.check_minor_version_validity(found.version)
            _keep(console, repository, found.profile, found.version, not found.pending)
            taken += 1
        except (FormatError, VersionError) as error:
            console.warn(f"{error} (left out)")
            left += 1
    console.say(f"took over {plural(taken, 'profile')}")
    if left:
        raise FormatError(f"{plural(left, 'thing')} in {printable(str(folder))} could not be taken over: see above")
