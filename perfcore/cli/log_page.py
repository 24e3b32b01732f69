"""What `perf log` shows of a version. Nothing here imports Typer: `perf log` alone is answered without."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from perfcore.analysis import note_keys
from perfcore.cli import listing
from perfcore.text import align, printable

if TYPE_CHECKING:
    from perfcore.cli.console import Console
    from perfcore.cli.marks import Marks
    from perfcore.model import Change, Entry, MinorVersion


def show(console: Console) -> None:
    """The versions back from the head with their profiles."""
    repository = console.repository
    start, marks = repository.version(), marks_of(console)
    console.write_all(long_form(console, marks, *row) for row in repository.walk(start))


class Unmarked:
    """No check has left anything, and what would read it need not be imported."""

    def lines(self, version: str) -> list[str]:
        return []

    def headlines(self, version: str) -> tuple[Change, ...]:
        return ()

    def short(self, version: str) -> str:
        return ""

    def as_json(self, version: str) -> list[dict[str, Any]]:
        return []


def marks_of(console: Console) -> Marks | Unmarked:
    if not note_keys.have_results(console.repository.store):
        return Unmarked()
    from perfcore.cli.marks import Marks

    return Marks(console)


def long_form(console: Console, marks: Marks | Unmarked, version: MinorVersion, entries: tuple[Entry, ...]) -> str:
    title = console.paint(f"version {version.id}", "yellow")
    date = listing.moment(version.date * 1_000_000_000)
    author = _author(version.author, version.email)
    return f"{title}\n{author}Date:   {date}\n\n    {printable(version.subject)}\n\n{_rows(marks, version.id, entries)}"


def _rows(marks: Marks | Unmarked, version: str, entries: tuple[Entry, ...]) -> str:
    if not entries:
        return ""
    rows = [(f"  {i}@i", *listing.entry_cells(entry)) for i, entry in enumerate(entries)]
    return "\n".join([*align(rows), *marks.lines(version), "", ""])


@functools.lru_cache  # many versions are of few authors
def _author(name: str, email: str) -> str:
    address = f"<{printable(email)}>" if email else ""
    author = " ".join(filter(None, (printable(name), address)))
    return f"Author: {author}\n" if author else ""
