"""Writes entries into the file of acceptances, and takes them out; what people wrote there stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from perfcore_command_kit.accepted_file import Entry, read

from perfcore.config.documents import lines
from perfcore.config.layers import read_bytes
from perfcore.errors import UsageError
from perfcore.files import write_atomically

_HEAD = "# Regressions that are accepted, each with its reason; `perf check ack --help` explains.\naccepted:\n"


def add(path: Path, entries: Sequence[Entry]) -> None:
    """Write entries after those of the file. UsageError, with their text, where the list has no place for more."""
    data = read_bytes(path) or b""
    known = read(data, path.name)
    old = data.decode("utf-8-sig") if data.strip() else _HEAD
    old += "" if old.endswith("\n") else "\n"
    added = "".join(entry.text() for entry in entries)
    for indent in ("", "  ", "    "):  # as the items that stand there
        new = (old + "".join(f"{indent}{line}\n" for line in added.splitlines())).encode()
        try:
            fits = read(new, path.name) == (*known, *entries)
        except UsageError:
            fits = False
        if fits:
            write_atomically(path, new)
            return
    raise UsageError(f"{path.name} has no list to which these lines can be added:\n{added}", hint="write them yourself")


def remove(path: Path, entries: Collection[Entry]) -> None:
    """Take entries out of the file, with the comments below their lines."""
    data = read_bytes(path) or b""
    known = read(data, path.name)
    starts, text = lines(data), data.decode("utf-8-sig").splitlines(keepends=True)
    first = [starts["accepted", position] - 1 for position in range(len(known))] + [len(text)]
    for position in reversed(range(len(known))):
        if known[position] in entries:
            del text[first[position] : first[position + 1]]
    new = "".join(text)
    if read(new.encode(), path.name) != tuple(entry for entry in known if entry not in entries):
        raise UsageError(f"{path.name} is written so that no entry can be taken out alone", hint="edit it yourself")
    if new == _HEAD:
        path.unlink()
    else:
        write_atomically(path, new.encode())
