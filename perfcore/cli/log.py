"""`perf log`: versions and their profiles, streamed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Annotated, Any, Optional

import typer
from typer.core import TyperCommand

from perfcore.cli import listing, log_page
from perfcore.cli.console import Console
from perfcore.cli.options import EachNth, Since, Tags, Until
from perfcore.errors import UsageError
from perfcore.repository import entries
from perfcore.text import align, plural, printable, printable_json

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


class _Log(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {flag for option in self.params if not getattr(option, "is_flag", True) for flag in option.opts}
        pairs = zip(["", *args], args, strict=False)  # `-5` as in git, but for the value of an option
        words = [word if before in options else re.sub(r"^-([0-9]+)$", r"-n\1", word) for before, word in pairs]
        return super().parse_args(ctx, words)


@app.command(cls=_Log)
def log(
    ctx: typer.Context,
    head: Annotated[
        Optional[str], typer.Argument(metavar="[REV | A..B]", help="Where to begin, or a range.", show_default=False)
    ] = None,
    short: Annotated[bool, typer.Option(*log_page.SHORT, help="Print one line for each version.")] = False,
    count_only: Annotated[
        bool, typer.Option("--count-only", help="Print only the numbers of versions and profiles.")
    ] = False,
    since: Since = None,
    until: Until = None,
    tags: Tags = None,
    last: Annotated[Optional[int], typer.Option(*log_page.LAST, min=0, metavar="N", help="At most N versions.")] = None,
    step: EachNth = 1,
    branches: Annotated[bool, typer.Option("--branches", "-b", help="List the branches and their heads.")] = False,
    measured: Annotated[bool, typer.Option("--measured", help="Only versions that have profiles.")] = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="Only versions with a regression, an improvement or a broken contract.")
    ] = False,
    unreachable: Annotated[
        bool, typer.Option("--unreachable", help="Only versions that are on no branch, as after a rebase.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document for each version.")] = False,
) -> None:
    """Show the versions back from REV (default: the head) with their profiles."""
    console: Console = ctx.obj
    cut = last is not None or step > 1 or count_only or measured or unreachable
    if (branches or unreachable) and any((head, since, until, tags, changes, branches and cut)):
        options = "" if branches else "-n, --every, --short, --count-only or "
        raise UsageError(f"--{'branches' if branches else 'unreachable'} goes with {options}--json only")
    if branches:
        return _print_branches(console, as_json)
    if unreachable:
        gone = itertools.islice(entries.unreachable(console.repository), 0, last, step)
        return _print_count(console, gone, as_json) if count_only else _print_unreachable(console, gone, short, as_json)
    start, _, end = (head or "").rpartition("..")
    filtered = start or (since, until, tags) != (None, None, None)
    newest = None if last is None or filtered or measured or changes else last
    rows: Iterator[log_page.Row] = console.repository.walk(console.repository.version(end or None), newest)
    marks = log_page.LateMarks(console)
    if filtered:
        from perfcore.repository.version_filter import VersionFilter

        accept = VersionFilter(start=start, since=since, until=until, tags=tags).accepts(console.repository)
        rows = (row for row in rows if accept(row[0]))
    if measured or changes:
        rows = (row for row in rows if row[1] and (not changes or marks.of(row[0].id).headlines(row[0].id)))
    rows = itertools.islice(rows, 0, last, step)
    if count_only:
        return _print_count(console, rows, as_json)
    return log_page.write(console, marks, rows, short=short, as_json=as_json, changes=changes)


def _print_count(console: Console, rows: Iterator[Any], as_json: bool) -> None:
    counts = [len(profiles) for _, profiles in rows]
    versions, measured, profiles = len(counts), sum(map(bool, counts)), sum(counts)
    if as_json:
        console.json({"schema": log_page.SCHEMA, "versions": versions, "measured": measured, "profiles": profiles})
    else:
        console.line(f"{plural(versions, 'version')}, {measured:,} measured, {plural(profiles, 'profile')}")


def _print_unreachable(console: Console, rows: Iterator[Any], short: bool, as_json: bool) -> None:
    """By the ids of the profiles: nobody can resolve the name of such a version."""
    import json

    for version, profiles in rows:
        if as_json:
            listed = [listing.entry_json(i, entry) for i, entry in enumerate(profiles)]
            document = {"schema": log_page.SCHEMA, "version": version, "profiles": listed}
            console.line(printable_json(json.dumps(document)))
        elif short:
            console.line(f"{console.paint(version[:10], 'yellow')} {log_page.kinds(tuple(profiles)):>12}")
        else:
            cells = [("", *listing.entry_cells(entry)) for entry in profiles]
            console.write("\n".join([console.paint(f"version {version}", "yellow"), *align(cells), "", ""]))


def _print_branches(console: Console, as_json: bool) -> None:
    repository = console.repository
    current = repository.vcs.get_head_major_version().name
    branches = list(repository.vcs.walk_major_versions())
    if as_json:
        rows = [{"name": b.name, "head": b.head, "current": b.name == current} for b in branches]
        return console.json({"schema": log_page.SCHEMA, "branches": rows})
    cells = []
    for branch in branches:
        registered = repository.readable_entries(branch.head) if branch.head else ()
        mark = "*" if branch.name == current else " "
        cells.append((mark, printable(branch.name), (branch.head or "")[:10], log_page.kinds(registered)))
    return console.write("".join(f"{line}\n" for line in align(cells, gap=" ")))
