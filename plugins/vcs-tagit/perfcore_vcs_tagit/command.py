"""The command `tagit`: every verb asks the other modules, and prints."""

from __future__ import annotations

import contextlib
import datetime
import getpass
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from perfcore.errors import NotFoundError, PerfError, UsageError
from perfcore.text import plural, printable, printable_lines, quantity
from perfcore_vcs_tagit import differences, places, upkeep, working
from perfcore_vcs_tagit.archive import LIMIT
from perfcore_vcs_tagit.failures import shown
from perfcore_vcs_tagit.importing import import_archive
from perfcore_vcs_tagit.repository import Repository, Saved
from perfcore_vcs_tagit.state import State
from perfcore_vcs_tagit.tree import Change, Entry, Lookup, as_text
from perfcore_vcs_tagit.version import Version
from perfcore_vcs_tagit.version_option import print_version

# 128 + SIGPIPE, as a shell tells of it; EX_SOFTWARE of sysexits.h; the code of `perf` for damaged files.
_BROKEN_PIPE, _INTERNAL, _DAMAGE = 141, 70, 4
_SCHEMA = 1
_SIZE = re.compile(r"(\d{1,15})([KMGT]?)i?B?", re.IGNORECASE)

app = typer.Typer(
    name="tagit",
    help="A light version control system: tagged snapshots of a folder, in lines.",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Message = Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="A description of the version.")]
Author = Annotated[str | None, typer.Option("--author", metavar="NAME", help="Who made it (default: you).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Revision = Annotated[str, typer.Argument(metavar="[REV]", help="A tag, a line, an id or its beginning, HEAD~2.")]
Names = Annotated[bool, typer.Option("--names", help="Print only the names of changed files.")]


def run(arguments: Sequence[str]) -> int:
    """Run a command line and give its exit code. A failure is one message, and never 0 or 1."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name that the terminal's encoding lacks would otherwise end the command with a traceback.
            stream.reconfigure(errors="backslashreplace")
    try:
        with _terminations():
            code = typer.main.get_command(app).main(list(arguments), prog_name="tagit", standalone_mode=False)
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except PerfError as error:
        return _complain(str(error), error.hint, error.exit_code)
    except typer.Exit as exit:
        return exit.exit_code
    except typer.TyperException as error:
        return _complain_of_usage(error)
    except BrokenPipeError:
        # Python flushes standard output once more when it ends, and would complain of the pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except (KeyboardInterrupt, typer.Abort) as error:
        signal_number = error.args[0] if error.args and isinstance(error.args[0], int) else signal.SIGINT
        return _complain("interrupted; what was there before is there", None, 128 + signal_number)
    except OSError as error:
        unnamed = "the current folder" if isinstance(error, FileNotFoundError) else "the output"
        subject = shown(error.filename) if error.filename else unnamed
        return _complain(f"{subject}: {error.strerror or error}", None, PerfError.exit_code)
    except Exception as error:
        return _complain(f"failed in a way it should not: {type(error).__name__}: {error}", "report it", _INTERNAL)


def _version(wanted: bool) -> None:
    if wanted:
        print_version()
        raise typer.Exit(0)


@app.callback()
def options(
    ctx: typer.Context,
    directory: Annotated[
        Path, typer.Option("-C", metavar="PATH", show_default=False, help="Work as if started in this folder.")
    ] = Path(),
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_version, help="Print the version and exit.")
    ] = False,
) -> None:
    if not directory.is_dir():
        raise UsageError(f"{printable(str(directory))} is not a folder")
    ctx.obj = directory


@app.command()
def init(ctx: typer.Context) -> None:
    """Make an empty repository of this folder. A second one is an error."""
    repository = Repository.create(Path(os.path.realpath(ctx.obj)))
    _say(f"made {as_text(os.fsencode(repository.places.folder))}")
    _say("next: tagit save TAG")


@app.command()
def save(
    ctx: typer.Context,
    tag: Annotated[str, typer.Argument(metavar="TAG", help="The tag of the version.")],
    message: Message = "",
    author: Author = None,
) -> None:
    """Save the folder as the next version of the line."""
    repository = _writable(ctx)
    saved = repository.save(tag, message=message, author=_author(author), date=int(time.time()))
    _tell_saved(repository, saved)


@app.command("import")
def import_(
    ctx: typer.Context,
    archive: Annotated[Path, typer.Argument(metavar="ARCHIVE", help="A .zip, .tar, .tar.gz, .tar.bz2 or .tar.xz.")],
    tag: Annotated[str | None, typer.Argument(metavar="[TAG]", help="Default: the name of the file.")] = None,
    message: Message = "",
    author: Author = None,
    keep_top: Annotated[bool, typer.Option("--keep-top", help="Keep the single top folder of the archive.")] = False,
    limit: Annotated[
        str, typer.Option("--limit", metavar="SIZE", help="Refuse an archive that unpacks to more.")
    ] = f"{LIMIT >> 30}G",
) -> None:
    """Save the content of an archive as the next version of the line, and check it out.

    Every member is checked before anything is written. An archive that reaches outside of itself is refused.
    """
    repository = _writable(ctx)
    path = archive if archive.is_absolute() else ctx.obj / archive
    imported = import_archive(
        repository,
        path,
        tag,
        message=message,
        author=_author(author),
        date=int(time.time()),
        limit=_size(limit),
        keep_top=keep_top,
    )
    off = f", without the folder {as_text(imported.top)}/ around them" if imported.top else ""
    _say(f"{plural(imported.files, 'file')}{off}")
    _tell_saved(repository, imported.saved)


@app.command()
def status(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Show the checked-out version and the changes since."""
    repository = _repository(ctx)
    refs = repository.refs()
    changes, snapshot = repository.changes()
    abandoned = State(repository).abandoned() if repository.places.version is None else None
    if as_json:
        _print_json(
            {
                "line": refs.line,
                "version": refs.head,
                "tag": repository.version(refs.head).tag if refs.head else None,
                "changes": _changes_json(changes),
                "left_out": [as_text(path) for path in snapshot.left_out],
            }
        )
        return
    position = f"on {printable(refs.line)}" if refs.line is not None else "on no line"
    if refs.head is None:
        print(f"{position}, no version yet")
    else:
        print(f"{position} at {refs.head[:10]} {printable(repository.version(refs.head).tag)}")
    for change in changes:
        print(f"{change.letter} {change.shown}")
    if not changes:
        print("nothing changed")
    _tell_left_out(snapshot.left_out)
    if abandoned is not None:
        _say("a killed process put this tree at another version: the next command that writes puts it back")


@app.command()
def log(
    ctx: typer.Context,
    revision: Revision = "HEAD",
    count: Annotated[int | None, typer.Option("-n", min=1, metavar="N", help="At most N versions.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a version and those before it, newest first."""
    repository = _repository(ctx)
    ends: dict[str, list[str]] = {}
    for name, id in sorted(repository.refs().lines.items()):
        ends.setdefault(id, []).append(name)
    rows = []
    for index, (id, version) in enumerate(repository.walk(repository.resolve(revision))):
        if count is not None and index >= count:
            break
        if as_json:
            rows.append(_version_json(id, version))
            continue
        lines = f" ({', '.join(map(printable, ends[id]))})" if id in ends else ""
        subject = f"  {printable(version.subject)}" if version.message else ""
        print(f"{id[:10]} {_date(version)} {printable(version.tag)}{lines}{subject}")
    if as_json:
        _print_json({"versions": rows})


@app.command()
def show(ctx: typer.Context, revision: Revision = "HEAD", as_json: AsJson = False) -> None:
    """Show one version and what changed in it."""
    repository = _repository(ctx)
    id = repository.resolve(revision)
    version = repository.version(id)
    changes = repository.compare(repository.tree_of(version.parent), version.tree)
    if as_json:
        _print_json({**_version_json(id, version), "changes": _changes_json(changes)})
        return
    print(f"version {id}\ntag     {printable(version.tag)}\nfrom    {version.parent or 'nothing'}")
    print(f"date    {_date(version)}\nauthor  {printable(version.author)}\n")
    if version.message:
        print("".join(f"    {line}\n" for line in printable_lines(version.message).rstrip("\n").split("\n")))
    for change in changes:
        print(f"{change.letter} {change.shown}")


@app.command()
def diff(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="[OLD]", help="A version.")] = "HEAD",
    new: Annotated[str | None, typer.Argument(metavar="[NEW]", help="Default: the working tree.")] = None,
    names: Names = False,
) -> None:
    """Show how two versions differ, or a version and the working tree."""
    repository = _repository(ctx)
    before = repository.version(repository.resolve(old)).tree
    if new is None:
        snapshot = repository.scan()
        changes, read_new = repository.compare(before, snapshot.tree, snapshot), _from_disk(repository)
    else:
        changes = repository.compare(before, repository.version(repository.resolve(new)).tree)
        read_new = _from_objects(repository)
    for change in changes:
        if names:
            print(f"{change.letter} {change.shown}")
        else:
            for line in differences.patch(change, _from_objects(repository), read_new):
                print(line)


@app.command()
def cat(
    ctx: typer.Context,
    revision: Annotated[str, typer.Argument(metavar="REV", help="A version.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file, relative to the root.")],
) -> None:
    """Write out a file as it was in a version."""
    repository = _repository(ctx)
    tree = repository.version(repository.resolve(revision)).tree
    entry = Lookup(repository.get, tree).at(os.fsencode(path))
    if entry is None or entry.is_folder:
        raise NotFoundError(f"{printable(revision)} has no file {printable(path)}")
    for chunk in repository.objects.stream(entry.id):
        sys.stdout.buffer.write(chunk)


@app.command()
def checkout(
    ctx: typer.Context,
    revision: Annotated[str, typer.Argument(metavar="REV", help="A line, or any version.")],
    force: Annotated[bool, typer.Option("--force", "-f", help="Discard changes.")] = False,
) -> None:
    """Check out a line or a version."""
    repository = _writable(ctx)
    line = revision if revision in repository.refs().lines else None
    id = repository.resolve(revision)
    changed = State(repository).move(line, id, force=force)
    position = f"on {printable(line)}" if line is not None else "on no line"
    _say(f"{position} at {id[:10]} {printable(repository.version(id).tag)}: {plural(changed, 'path')} changed")


@app.command()
def export(
    ctx: typer.Context,
    revision: Annotated[str, typer.Argument(metavar="REV", help="A version.")],
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="An empty folder, or a new one.")],
) -> None:
    """Write a version into another folder."""
    repository = _repository(ctx)
    tree = repository.version(repository.resolve(revision)).tree
    working.export(repository.objects, repository.get, tree, ctx.obj / directory)


@app.command()
def lines(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the lines. A star marks the one that is checked out."""
    repository = _repository(ctx)
    refs = repository.refs()
    if as_json:
        _print_json({"current": refs.line, "lines": dict(sorted(refs.lines.items()))})
        return
    for name, id in sorted(refs.lines.items()):
        star = "*" if name == refs.line else " "
        print(f"{star} {printable(name)} {id[:10]} {printable(repository.version(id).tag)}")


@app.command()
def branch(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the line.")],
    delete: Annotated[bool, typer.Option("--delete", "-d", help="Remove the line; its versions stay.")] = False,
) -> None:
    """Begin a line here and check it out."""
    repository = _writable(ctx)
    if delete:
        id = repository.delete_line(name)
        _say(f"forgot the line {printable(name)}, which was at {id}")
    else:
        _say(f"on {printable(repository.branch(name))}")


@app.command()
def gc(ctx: typer.Context) -> None:
    """Remove files of killed commands. Versions are never removed."""
    swept = upkeep.gc(_writable(ctx))
    _say(f"took away {plural(swept.packs, 'pack')}, {quantity(swept.size, 'B')}")


@app.command()
def fsck(ctx: typer.Context) -> None:
    """Read everything and name damaged objects."""
    health = upkeep.fsck(_repository(ctx))
    for line in health.damage:
        print(printable(line))
    _say(f"{plural(health.versions, 'version')}, {plural(health.objects, 'object')}")
    if health.damage:
        raise typer.Exit(_DAMAGE)


def _repository(ctx: typer.Context) -> Repository:
    start = Path(ctx.obj)
    root = places.detect(start)
    if root is None:
        raise NotFoundError(f"{printable(os.path.abspath(start))} is in no tagit repository", hint="tagit init")
    return Repository(places.find(root))


def _writable(ctx: typer.Context) -> Repository:
    """The repository, after what a killed process left was put back."""
    repository = _repository(ctx)
    if repository.places.version is None and State(repository).recover():
        _say("restored the files that a killed process had put aside")
    return repository


def _tell_saved(repository: Repository, saved: Saved) -> None:
    _tell_left_out(saved.left_out)
    if saved.same is not None:
        _say(f"nothing changed since {printable(saved.same)}")
    print(f"{saved.id} {printable(saved.version.tag)}")
    sys.stdout.flush()
    failure = repository.fire()
    if failure is not None:
        _say(f"warning: {failure}")


def _tell_left_out(paths: Sequence[bytes]) -> None:
    for path in paths:
        _say(f"left out: {as_text(path)}")


def _from_objects(repository: Repository) -> differences.Read:
    def read(path: bytes, entry: Entry) -> bytes | None:
        large = repository.objects.find(entry.id, "blob").size > differences.LIMIT
        return None if large else repository.objects.read(entry.id, "blob")

    return read


def _from_disk(repository: Repository) -> differences.Read:
    def read(path: bytes, entry: Entry) -> bytes | None:
        full_path = os.path.join(os.fsencode(repository.places.root), path)
        if entry.is_link:
            return os.readlink(full_path)
        with open(full_path, "rb") as file:
            content = file.read(differences.LIMIT + 1)
        return content if len(content) <= differences.LIMIT else None

    return read


def _version_json(id: str, version: Version) -> dict[str, Any]:
    return {
        "id": id,
        "tag": version.tag,
        "parent": version.parent,
        "date": version.date,
        "author": version.author,
        "message": version.message,
    }


def _changes_json(changes: Sequence[Change]) -> list[dict[str, str]]:
    return [{"change": change.letter, "path": os.fsdecode(change.path)} for change in changes]


def _print_json(content: dict[str, Any]) -> None:
    print(json.dumps({"schema": _SCHEMA, **content}, indent=2))


def _date(version: Version) -> str:
    with contextlib.suppress(ValueError, OverflowError, OSError):
        return datetime.datetime.fromtimestamp(version.date, datetime.UTC).strftime("%Y-%m-%d %H:%M")
    return str(version.date)


def _author(given: str | None) -> str:
    if given is not None:
        return given
    with contextlib.suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"'{printable(text)}' is no size", hint="such as 500M or 20G")
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[match[2].upper()]


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _complain(message: str, hint: str | None, code: int) -> int:
    with contextlib.suppress(OSError):
        _say(f"tagit: {printable_lines(message)}")
        if hint:
            _say(f"  hint: {printable_lines(hint)}")
    return code


def _complain_of_usage(error: typer.TyperException) -> int:
    context: Any = getattr(error, "ctx", None)
    if context is not None and error.message == context.get_help():  # nothing was asked for
        _say(error.message)
        return UsageError.exit_code
    path = context.command_path if context is not None else "tagit"
    message = error.format_message()
    return _complain(message[:1].lower() + message[1:].removesuffix("."), f"`{path} --help` explains", 2)


@contextlib.contextmanager
def _terminations() -> Any:
    """While this lasts, SIGTERM and SIGHUP end the command as Ctrl-C does: everything is cleaned up."""

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt(number)

    before: dict[int, Callable[..., Any] | int | None] = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
