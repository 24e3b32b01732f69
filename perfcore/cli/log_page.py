"""What `perf log` shows. Nothing here imports Typer: `perf log` with plain options is answered without."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

from perfcore.analysis import note_keys
from perfcore.cli import listing
from perfcore.text import align, printable, printable_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfcore.cli.console import Console
    from perfcore.cli.marks import Marks
    from perfcore.model import Change, Entry, MinorVersion

    Row = tuple[MinorVersion, tuple[Entry, ...]]

SCHEMA = 1
_FEW = 20  # buckets that are looked at one by one; a log of more versions needs nearly all
SHORT = ("--short", "-s", "--oneline")
LAST = ("--last", "-n")
PLAIN = dict.fromkeys(SHORT, ("short", bool)) | dict.fromkeys(LAST, ("last", int)) | {"--json": ("as_json", bool)}
"""The argument of `show` that a plain option sets, and its type."""


def show(console: Console, *, last: int | None = None, short: bool = False, as_json: bool = False) -> None:
    """The versions back from the head with their profiles."""
    rows = console.repository.walk(console.repository.version(), last)
    write(console, LateMarks(console), itertools.islice(rows, last), short=short, as_json=as_json)


def write(
    console: Console, marks: LateMarks, rows: Iterator[Row], *, short: bool, as_json: bool, changes: bool = False
) -> None:
    """Versions with their profiles; `changes` says that each has a change, or there is something to tell."""
    form = _as_json_lines if as_json else _short if short else _long
    first = next(rows, None)
    if first is None and changes:
        console.say("no check has found a change here; `perf check all` looks for them")
    elif first is not None:
        console.write_all(form(console, marks, itertools.chain((first,), rows)))


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
        if self._marks is None and len(self._empty) < len(note_keys.BUCKETS) and not self._is_empty(version):
            from perfcore.cli.marks import Marks

            self._marks = Marks(self._console)
        return self._marks or _UNMARKED

    def _is_empty(self, version: str) -> bool:
        repository = self._console.repository
        bucket = note_keys.bucket(repository.vcs_name, version)
        if bucket not in self._empty:
            buckets = (bucket,) if len(self._empty) < _FEW else note_keys.BUCKETS
            if not note_keys.have_results(repository.store, buckets):
                self._empty.update(buckets)
        return bucket in self._empty


_UNMARKED = Unmarked()


def _long(console: Console, marks: LateMarks, rows: Iterator[Row]) -> Iterator[str]:
    form = console.paint("version %s", "yellow") + "\n%sDate:   %s\n\n    %s\n\n%s"
    for (id, _, author, email, date, subject), entries in rows:
        profiles = _rows(marks, id, entries) if entries else ""
        yield form % (id, _author(author, email), listing.moment(date * 1_000_000_000), printable(subject), profiles)


def _rows(marks: LateMarks, version: str, entries: tuple[Entry, ...]) -> str:
    if len(entries) == 1:
        profiles = "  ".join(("  0@i", *listing.entry_cells(entries[0]))).rstrip()
    else:
        profiles = "\n".join(align([(f"  {i}@i", *listing.entry_cells(entry)) for i, entry in enumerate(entries)]))
    checks = marks.of(version).lines(version)
    return "\n".join((profiles, *checks, "", "")) if checks else f"{profiles}\n\n"


@functools.lru_cache  # many versions are of few authors
def _author(name: str, email: str) -> str:
    address = f"<{printable(email)}>" if email else ""
    author = " ".join(filter(None, (printable(name), address)))
    return f"Author: {author}\n" if author else ""


def _short(console: Console, marks: LateMarks, rows: Iterator[Row]) -> Iterator[str]:
    form = console.paint("%s", "yellow") + " %12s  %s%s\n"
    for version, entries in rows:
        mark = marks.of(version.id).short(version.id) if entries else ""
        yield form % (version.short, kinds(entries), printable(version.subject), f"  {mark}" if mark else "")


def kinds(entries: tuple[Entry, ...]) -> str:
    """`2 time` for the profiles of a version."""
    return _counted(tuple([entry.collector or entry.type for entry in entries]))


@functools.lru_cache  # and of few kinds of profiles
def _counted(kinds: tuple[str, ...]) -> str:
    return " ".join(f"{count} {printable(kind)}" for kind, count in sorted(Counter(kinds).items())) or "-"


def _as_json_lines(console: Console, marks: LateMarks, rows: Iterator[Row]) -> Iterator[str]:
    import json

    for version, entries in rows:
        row: dict[str, Any] = {
            "schema": SCHEMA,
            "version": version.id,
            **dict(zip(version._fields[1:], version[1:], strict=True)),
            "profiles": [listing.entry_json(i, entry) for i, entry in enumerate(entries)],
            "changes": marks.of(version.id).as_json(version.id) if entries else [],
        }
        yield printable_json(json.dumps(row, ensure_ascii=False)) + "\n"
