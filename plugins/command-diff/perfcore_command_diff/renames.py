"""Files that were renamed between two versions, so that their functions stay the same functions.

A VCS such as git stores no renames: it compares what has gone with what has come. So it is done here, for files that
have functions in the profiles: a file that only the old version has, and one that only the new version has, are one if
at least half of their lines are the same, the share that git takes (`git diff --find-renames`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

Read: TypeAlias = Callable[[str, str], bytes | None]

LEAST = 0.5
_MOST = 60  # files of a side: each pair of files is compared
_LARGEST = 1 << 20  # bytes


def renames(
    removed: Mapping[str, set[str]], added: Mapping[str, set[str]], old: str, new: str, read: Read
) -> dict[str, str]:
    """The new name of each file that was renamed. `removed` and `added` are files that only one version has, with the
    names of their functions; files without a common function are not compared."""
    before = _contents(removed, old, read)
    after = _contents(added, new, read)
    pairs = sorted(
        (-similarity, file, other)
        for file, lines in before.items()
        for other, other_lines in after.items()
        if removed[file] & added[other] and (similarity := _similarity(lines, other_lines)) >= LEAST
    )
    found: dict[str, str] = {}
    for _, file, other in pairs:
        if file not in found and other not in found.values():
            found[file] = other
    return found


def _contents(files: Iterable[str], version: str, read: Read) -> dict[str, Counter[bytes]]:
    contents = {}
    for file in sorted(files)[:_MOST]:
        data = read(version, file)
        if data and len(data) <= _LARGEST:
            contents[file] = Counter(line.strip() for line in data.split(b"\n") if line.strip())
    return contents


def _similarity(lines: Counter[bytes], others: Counter[bytes]) -> float:
    """The share of common lines in the longer file."""
    return (lines & others).total() / max(lines.total(), others.total(), 1)
