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
    start, marks = repository.version(), LateMarks(console)
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


class LateMarks:
    """The marks of versions. What reads them is imported at the first version where a check may have left something."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._marks: Marks | None = None
        self._empty: set[str] = set()  # buckets

    def of(self, version: str) -> Marks | Unmarked:
        if self._marks is None and not self._is_empty(version):
            from perfcore.cli.marks import Marks

            self._marks = Marks(self._console)
        return self._marks or _UNMARKED

    def _is_empty(self, version: str) -> bool:
        repository = self._console.repository
        bucket = note_keys.bucket(repository.vcs_name, version)
        if bucket not in self._empty and not note_keys.have_results(repository.store, (bucket,)):
            self._empty.add(bucket)
        return bucket in self._empty


_UNMARKED = Unmarked()


def long_form(console: Console, marks: LateMarks, version: MinorVersion, entries: tuple[Entry, ...]) -> str:
    title = console.paint(f"version {version.id}", "yellow")
    date = listing.moment(version.date * 1_000_000_000)
    author = _author(version.author, version.email)
    return f"{title}\n{author}Date:   {date}\n\n    {printable(version.subject)}\n\n{_rows(marks, version.id, entries)}"


def _rows(marks: LateMarks, version: str, entries: tuple[Entry, ...]) -> str:
    if not entries:
        return ""
    rows = [(f"  {i}@i", *listing.entry_cells(entry)) for i, entry in enumerate(entries)]
    return "\n".join([*align(rows), *marks.of(version).lines(version), "", ""])


@functools.lru_cache  # many versions are of few authors
def _author(name: str, email: str) -> str:
    address = f"<{printable(email)}>" if email else ""
    author = " ".join(filter(None, (printable(name), address)))
    return f"Author: {author}\n" if author else ""
