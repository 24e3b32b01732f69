"""The format `perf`: a profile as one JSON file that holds all of it and depends on no store."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from perfcore import files
from perfcore.errors import FormatError, StorageError
from perfcore.profile import codec
from perfcore.text import printable

if TYPE_CHECKING:
    from pathlib import Path

    from perfcore.model import Profile

_BEGINNING = re.compile(rb'\s*\{\s*"format"\s*:\s*[0-9]+\s*,')
_EVERYTHING = sys.maxsize


class PerfFormat:
    """Every table stands inline, whatever its size; every value survives, NaN with its bits."""

    contract = "perfcore_command_exchange.contract:PerfContract"

    def sniff(self, head: bytes, name: str) -> bool:
        return bool(_BEGINNING.match(head)) and b'"header"' in head

    def read(self, path: Path) -> Profile:
        """The profile, complete and verified."""
        name = printable(str(path))
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StorageError(f"cannot read {name}: {error.strerror}") from error
        try:
            profile = codec.decode(data, _elsewhere, where=name)
            codec.verify(profile)
        except FormatError as error:
            message = error.message if error.message.startswith(name) else f"{name}: {error.message}"
            raise FormatError(message, hint=error.hint) from error
        return profile

    def write(self, profile: Profile, path: Path) -> None:
        data, _ = codec.encode(profile, _refused, inline=_EVERYTHING)
        try:
            files.write_whole(path, data)
        except OSError as error:
            raise StorageError(f"cannot write {printable(str(path))}: {error.strerror}") from error


def _elsewhere(id: str) -> bytes:
    raise FormatError(
        f"table object {id} is in the store where it was made", hint="write it there with `perf export` and read that"
    )


def _refused(table: str, piece: bytes) -> str:
    raise FormatError(f"table {table!r} is too large for one file")
