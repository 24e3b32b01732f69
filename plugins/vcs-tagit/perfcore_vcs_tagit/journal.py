"""What a working tree was, written down before it is touched: `.tagit/journal`, JSON with these keys.

format    1
token     what the state is called
pid       the process whose state it is. It holds `.tagit/state.lock`: when that is free, the process died
line, at  what was checked out, as in `.tagit/refs`
tree      the id of a tree of all that the working tree held
pack      the name of the pack that was made for it, or null
moving    the version that a checkout is on its way to, or null
goal      the version that will be checked out for good when all is done, or null. Where it is already, nothing
          is put back
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs

from perfcore import files
from perfcore.errors import NotFoundError, VersionError
from perfcore_vcs_tagit.failures import shown
from perfcore_vcs_tagit.line import is_id

_FORMAT = 1
# A journal has some hundred bytes.
_LIMIT = 1 << 16
_PACK, _NO_PACK = re.compile(r"([0-9a-f]{40}\.pack)?"), ""


@attrs.frozen(kw_only=True)
class Journal:
    """A state that was saved and is not put back yet."""

    token: str
    pid: int
    line: str | None
    at: str | None
    tree: str
    pack: str | None = None
    moving: str | None = None
    goal: str | None = None


def read(path: Path) -> Journal | None:
    """The journal, if there is one. VersionError where it cannot be understood."""
    try:
        content: Any = json.loads(files.read(path, _LIMIT).data)
        if content.pop("format") != _FORMAT:
            raise VersionError(f"{shown(path)} was written by a newer tagit", hint="update perfcore-vcs-tagit")
        journal = Journal(**content)
        ids = (journal.tree, journal.at, journal.moving, journal.goal)
        if not all(id is None or is_id(id) for id in ids) or not _PACK.fullmatch(journal.pack or _NO_PACK):
            raise ValueError("it has an invalid id")
    except NotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise VersionError(
            f"{shown(path)} is damaged", hint="it tells of files that were put aside; to give them up, remove it"
        ) from error
    return journal


def write(path: Path, journal: Journal) -> None:
    """Replace the journal, durably."""
    content = json.dumps({"format": _FORMAT, **attrs.asdict(journal)}).encode()
    files.write_atomically(path, content, locked=True)
