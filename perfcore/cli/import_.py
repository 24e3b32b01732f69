"""`perf import`: profiles from other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import attrs
import typer

from perfcore.cli.console import Console
from perfcore.errors import UsageError, VersionError
from perfcore.model import Profile
from perfcore.repository import Repository

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

    `perf import perun DIR` takes over a whole Perun instance: DIR is its .perf folder; every profile is
    registered with its version.
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
        profile, _ = repository.read_file(place, format_name)
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
    from perfcore.profile.perun import read_instance

    taken = unknown = 0
    for version, _name, profile in read_instance(folder):
        try:
            repository.vcs.check_minor_version_validity(version)
        except VersionError as error:
            console.warn(f"{error} (its profiles are left out)")
            unknown += 1
            continue
        _keep(console, repository, profile, version, True)
        taken += 1
    console.say(f"took over {taken} profiles" + (f", {unknown} belong to unknown versions" if unknown else ""))
