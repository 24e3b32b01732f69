"""Files of results: their bytes within bounds, JSON of a declared shape, moments, and errors that name the file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from perfcore import files
from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.named_tuple import NamedTuple
from perfcore.text import encodable, printable

_T = TypeVar("_T")
_LARGEST = 1 << 30
"""Bytes of a file in a folder; of a file that the user names, perfcore has verified the size."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")  # SHA-1 of git and Mercurial, SHA-256 of git


class ResultFile(NamedTuple):
    """A file of results, and when it was written (ns since 1970 UTC)."""

    path: Path
    data: bytes
    modified: int


def result_file(path: Path) -> ResultFile:
    content = files.read(path, _LARGEST)
    return ResultFile(path, content.data, content.stamp[-1])


def read_profile(path: Path, decode: Callable[[ResultFile], Profile]) -> Profile:
    """The profile that `decode` makes of a file. Its errors begin with the path."""
    file = result_file(path)
    try:
        return decode(file)
    except FormatError as error:
        raise FormatError(f"{printable(str(path))}: {printable(error.message)}", hint=error.hint) from error


def json_of(data: bytes, shape: type[_T], harness: str) -> _T:
    """JSON of this shape. Python's reader takes the bare NaN and Infinity that harnesses write."""
    try:
        return msgspec.convert(json.loads(data), shape)
    except msgspec.ValidationError as error:
        raise FormatError(f"no results of {harness}: {encodable(str(error))}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"no whole JSON: {encodable(str(error))}") from error


def moment(text: Any, default: int) -> int:
    """Nanoseconds since 1970 of an ISO time; the default if it is none. A time without a zone is local."""
    try:
        time = datetime.fromisoformat(text)
        nanoseconds = (time.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1) * 1000
    except (TypeError, ValueError, OverflowError, OSError):
        return default
    return nanoseconds if 0 <= nanoseconds < 2**63 else default


def commit_of(text: Any) -> str | None:
    """The id of a commit; None for names such as `unversioned`."""
    return text if isinstance(text, str) and _COMMIT.fullmatch(text) else None
