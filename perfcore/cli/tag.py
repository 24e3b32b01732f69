"""`perf tag`: give profiles names."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from perfcore.cli.console import Console
from perfcore.errors import UsageError
from perfcore.model import is_tag
from perfcore.text import align, printable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
SCHEMA = 1


@app.command()
def tag(
    ctx: typer.Context,
    name: Annotated[Optional[str], typer.Argument(metavar="[TAG]", help="The tag.", show_default=False)] = None,
    profile: Annotated[
        Optional[str], typer.Argument(metavar="[PROFILE]", help="0@i, REV:0@i, a name.", show_default=False)
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", "-d", help="Take the tag off.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="List the tags as JSON.")] = False,
) -> None:
    """Tag a registered profile, or list all tags. A tag names a profile wherever one is wanted."""
    console: Console = ctx.obj
    repository = console.repository
    if name is None:
        _list(console, as_json)
        return
    if not delete and not is_tag(name):
        raise UsageError(f"{name!r} is no tag: no blanks, '@', ':' or slashes, and no hyphen in front")
    ref = console.find_one(profile or (name if delete else "0@i"))
    if ref.entry is None or ref.version is None:
        raise UsageError("only registered profiles can be tagged", hint="`perf add` registers")
    for version, entry in () if delete else repository.everywhere():
        if name in entry.tags and (version, entry.profile) != (ref.version, ref.entry.profile):
            raise UsageError(
                f"{name} is a tag of {entry.profile[:10]} at {version[:10]} already",
                hint=f"take it off first: perf tag --delete {name}",
            )
    entry = repository.tag(ref.version, ref.entry, add=() if delete else (name,), remove=(name,) if delete else ())
    console.line(f"{entry.profile} of {ref.version}: {', '.join(map(printable, entry.tags)) or 'no tags'}")


def _list(console: Console, as_json: bool) -> None:
    tagged = [(tag, entry, version) for version, entry in console.repository.everywhere() for tag in entry.tags]
    tagged.sort(key=lambda row: (row[0], row[2], row[1].profile))
    if as_json:
        rows = [{"tag": tag, "profile": entry.profile, "version": version} for tag, entry, version in tagged]
        console.json({"schema": SCHEMA, "tags": rows})
        return
    cells = [
        (printable(tag), entry.profile[:10], version[:10], printable(entry.label)) for tag, entry, version in tagged
    ]
    console.write("".join(f"{line}\n" for line in align(cells)))
    if not cells:
        console.say("there are no tags")
