"""`perf tag`: give profiles names."""

from __future__ import annotations

from typing import Annotated

import typer

from perfcore.cli.console import Console
from perfcore.errors import NotFoundError, UsageError, nearest
from perfcore.text import align, printable
from perfcore_command_store.tags import change_tag, check_tag, tag_list


def new_app() -> typer.Typer:
    """A new Typer app with the command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command()(tag)
    return app


def tag(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[TAG]", help="The tag.", show_default=False)] = None,
    profile: Annotated[
        str | None, typer.Argument(metavar="[PROFILE]", help="0@i, REV:0@i, a name.", show_default=False)
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", "-d", help="Remove the tag.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="List the tags as JSON.")] = False,
) -> None:
    """Tag a registered profile, or list all tags. Commands accept a tag in place of a profile."""
    console: Console = ctx.obj
    if name is None:
        _list(console, as_json)
        return
    if not delete:
        check_tag(name)  # before the profile is looked up, whose absence would be the lesser error
    elif profile is None:
        known = {tag for tag, _, _ in tag_list(console.repository).tags}
        if name not in known:
            raise NotFoundError(f"there is no tag '{printable(name)}'", hint=nearest(name, known, alike=0.65))
    named = profile or (name if delete else "0@i")
    refs = console.find(named)
    if len(refs) != 1:
        raise UsageError(f"{printable(named)} names {len(refs)} profiles; name one")
    entry = change_tag(console.repository, name, refs[0], delete=delete)
    console.line(f"{entry.profile} of {refs[0].version}: {', '.join(map(printable, entry.tags)) or 'no tags'}")


def _list(console: Console, as_json: bool) -> None:
    tags = tag_list(console.repository)
    if as_json:
        console.json(tags.as_json())
        return
    cells = [
        (printable(tag), entry.profile[:10], version[:10], printable(entry.label)) for tag, version, entry in tags.tags
    ]
    console.write("".join(f"{line}\n" for line in align(cells)))
    if not cells:
        console.say("there are no tags")
