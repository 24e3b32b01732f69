"""`perf push` and `perf pull`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from perfcore.cli.console import Console
from perfcore.cli.options import AsJson, Last, Since, Until
from perfcore.errors import FormatError, PerfError, UsageError
from perfcore.store.index import UPGRADE
from perfcore.text import align, brief, clip, plural, printable, quantity
from perfcore_command_remote import remotes, sharing
from perfcore_command_remote.chosen import versions_of
from perfcore_command_remote.leaving import Leaving
from perfcore_command_remote.rules import Rules
from perfcore_command_remote.transfer import Transferred

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository

RemoteName = Annotated[
    str | None,
    typer.Argument(metavar="[REMOTE]", help="Default: the only one, or origin.", show_default=False),
]
Revisions = Annotated[
    list[str] | None,
    typer.Argument(metavar="[REV]...", help="Only these versions, or those of A..B.", show_default=False),
]
Full = Annotated[
    bool, typer.Option("--full", help="Compare everything, and mend what is damaged or missing on the receiving side.")
]
_FETCH = """Bring the profiles of a remote here, with their tags, checks and acceptances.

This is `perf pull` by another name, with the same arguments and options: both join what comes with what is here.
Unlike in git there is nothing to be merged afterwards, and the files of the working tree stay as they are.
What comes is data, and nothing of it runs.
"""
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only print what would be brought.")]
_LISTED = 10  # profiles: a terminal of 24 lines keeps the conclusion in sight
_NAMED = 2  # texts of a kind, so that a row is a line
_COLUMNS = 26
_NONE = "no version is meant"  # as by v2..v1


def new_push() -> typer.Typer:
    """A new Typer app with `perf push`."""
    return _app(push)


def new_pull() -> typer.Typer:
    """A new Typer app with `perf pull`."""
    return _app(pull)


def new_fetch() -> typer.Typer:
    """A new Typer app with `perf fetch`."""
    return _app(pull, _FETCH)


def _app(command: Callable[..., None], text: str | None = None) -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(help=text)(command)
    return app


def push(
    ctx: typer.Context,
    remote: RemoteName = None,
    revisions: Revisions = None,
    last: Last = None,
    since: Since = None,
    until: Until = None,
    full: Full = False,
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing before the first push.")] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the registered profiles to a remote, with their tags, checks and acceptances.

    Histories are joined: nothing that is there is lost, and it does not matter who pushes first. Profiles say on which
    machine and with which command they were measured: before the first push to a remote this is listed, and
    `sharing.omit` and `sharing.replace` of the configuration leave out or replace parts of it.
    """
    console: Console = ctx.obj
    _check_remote(console.repository, "push", remote, revisions)
    versions = versions_of(console.repository, revisions, last, since, until)
    look = sharing.first_look(console.repository, remote, versions=versions, full=full, listener=console)
    if look is not None and any(look.rows()):
        first = sharing.is_first(console.repository, remote)
        _tell(console, look, remotes.named(console.repository, remote).name, first=first)
        if not dry_run:
            on_terminal = sys.stdin.isatty() and sys.stderr.isatty()
            if on_terminal and not yes and not console.confirm("push this?"):
                raise PerfError("nothing was pushed", hint="--yes pushes without a question")
            sharing.agree(console.repository, remote)
    _transfer(ctx.obj, sharing.push, "pushed", "to", remote, (revisions, last, since, until), full, dry_run, as_json)


def pull(
    ctx: typer.Context,
    remote: RemoteName = None,
    revisions: Revisions = None,
    last: Last = None,
    since: Since = None,
    until: Until = None,
    full: Full = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Bring the profiles of a remote here, with their tags, checks and acceptances.

    Histories are joined: nothing that is here is lost. What comes is data, and nothing of it runs.
    """
    _check_remote(ctx.obj.repository, ctx.info_name or "pull", remote, revisions)
    _transfer(ctx.obj, sharing.pull, "pulled", "from", remote, (revisions, last, since, until), full, dry_run, as_json)


def _check_remote(repository: Repository, verb: str, name: str | None, revisions: list[str] | None) -> None:
    """UsageError for versions, or for a folder, in the place of the remote."""
    if name is None or remotes.is_known(repository, name):
        return
    if _is_folder(repository, name):
        raise UsageError(
            f"{printable(name)} is a folder, and no name of a remote",
            hint=f"perf remote add NAME {printable(name)}",
        )
    if not _is_revision(repository, name):
        return
    words = " ".join(map(printable, (name, *(revisions or ()))))
    raise UsageError(
        f"{printable(name)} names versions, and no remote: the remote stands in front of them",
        hint=f"perf {verb} {_default(repository)} {words}",
    )


def _default(repository: Repository) -> str:
    """The default remote for a hint; a word in its place where there is none."""
    try:
        return remotes.default(repository)
    except UsageError:
        return "REMOTE"


def _is_folder(repository: Repository, name: str) -> bool:
    """Whether a path is meant, and no version: `..` is all versions of the branch."""
    if name.startswith(("/", "./", "../")):
        return True
    return name not in ("", "..") and (repository.cwd / name).is_dir() and not _is_version(repository, name)


def _is_revision(repository: Repository, name: str) -> bool:
    return ".." in name or _is_version(repository, name)


def _is_version(repository: Repository, name: str) -> bool:
    with contextlib.suppress(PerfError):
        return bool(repository.version(name))
    return False


def _transfer(
    console: Console,
    act: Callable[..., Transferred],
    verb: str,
    preposition: str,
    name: str | None,
    choice: tuple[list[str] | None, int | None, str | None, str | None],
    full: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    repository = console.repository
    remote = remotes.named(repository, name)
    versions = versions_of(repository, *choice)
    result = act(repository, name, versions=versions, full=full, dry_run=dry_run, listener=console)
    console.clear_progress()
    if as_json:
        console.json(result.as_json())
    else:
        for line in _lines(result):
            console.line(line)
        where = f"{preposition} {remote.name}"
        is_nothing = versions is not None and not versions
        console.say(f"nothing to be {verb} {where}: {_NONE}" if is_nothing else _conclusion(result, verb, where))
    if result.problems:
        raise _left_out(result.problems, verb, full)


def _left_out(problems: Sequence[str], verb: str, full: bool) -> FormatError:
    """The error that ends a transfer which could not bring everything, with what mends the side that is damaged."""
    count, first = plural(len(problems), "part"), printable(problems[0])
    if all(problem.endswith(UPGRADE) for problem in problems):
        return FormatError(f"{count} made by a newer perfcore, and left out: {first}", hint=UPGRADE)
    back, forth = ("here", "there") if verb == "pulled" else ("there", "here")
    verb, reverse = ("pull", "push") if verb == "pulled" else ("push", "pull")
    hint = f"what is damaged {forth} is mended by `perf {reverse} --full`"
    hint += " from a clone that has it whole" if verb == "pull" else ""
    return FormatError(
        f"{count} damaged or missing, and left out: {first}",
        hint=hint if full else f"`perf {verb} --full` mends what is damaged {back}; {hint}",
    )


def _tell(console: Console, look: Leaving, remote: str, *, first: bool) -> None:
    """`hosts    lab3` under a heading."""
    console.clear_progress()
    why = f"this is the first push to {remote}" if first else f"the rules of sharing changed since a push to {remote}"
    console.say(f"{why}; the profiles name")
    for line in align([(f"  {word}", _few(texts)) for word, texts in look.rows()]):
        console.say(line)
    console.say("what is not to leave: sharing.omit and sharing.replace of the configuration")
    facts = ", ".join(sorted(look.facts))
    for name in sorted(Rules.of(console.repository.config).omit - look.facts) if facts else ():
        console.warn(f"sharing.omit: none of them has the fact {brief(name)}, but {facts}")


def _few(texts: list[str]) -> str:
    """The first of many, in one line."""
    shown = ", ".join(clip(printable(text), _COLUMNS) for text in texts[:_NAMED])
    return f"{shown}, and {len(texts) - _NAMED:,} more" if len(texts) > _NAMED else shown


def _lines(result: Transferred) -> Iterator[str]:
    for version, entry in result.profiles[:_LISTED]:
        yield f"{version[:10]}  {printable(entry.label)}"
    if len(result.profiles) > _LISTED:
        yield f"… and {len(result.profiles) - _LISTED:,} more"


def _conclusion(result: Transferred, verb: str, where: str) -> str:
    """`pushed 3 profiles of 2 versions to origin (12 objects, 4.1 kB)`."""
    parts = []
    if result.profiles:
        versions = {version for version, _ in result.profiles}
        parts.append(f"{plural(len(result.profiles), 'profile')} of {plural(len(versions), 'version')}")
    if result.tagged:
        parts.append(f"the tags of {plural(result.tagged, 'profile')}")
    if result.removed:
        parts.append(f"{plural(result.removed, 'removal')}")
    if result.notes:
        parts.append(plural(result.notes, "note"))
    if result.records:
        parts.append(plural(result.records, "record"))
    if not parts and not result.objects:
        if result.problems:
            return f"nothing was {verb} {where}"
        lacking = "there is missing here" if verb == "pulled" else "here is missing there"
        return f"nothing to be {verb} {where}: nothing {lacking}"
    what = ", ".join(parts) or "parts of profiles"
    size = f"({plural(result.objects, 'object')}, {quantity(result.bytes, 'B')})"
    return f"{'would have ' if result.dry_run else ''}{verb} {what} {where} {size}"
