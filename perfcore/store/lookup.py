"""How profiles are named: the grammar, and the search among registered and pending profiles and files.

In order: `N@i`, `N@p`, ranges of them, `REV:` before any of them, a tag; then the index of the version by name,
part of a name or prefix of an id; a path; the pending profiles by name. Several matches are an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from perfcore.errors import AmbiguousError, FormatError, NotFoundError, PerfError, UsageError, VersionError
from perfcore.model import Entry
from perfcore.named_tuple import NamedTuple
from perfcore.store.pending import SUFFIX, Pending
from perfcore.text import printable

_NUMBER = re.compile(r"([0-9]{1,1000})@([ip])")  # int() refuses texts of over 4,300 digits
_RANGE = re.compile(r"([0-9]{1,1000})@([ip])-([0-9]{1,1000})@([ip])")
_ANCESTOR = re.compile(r"[~^]")  # as in `HEAD~1`, which is no name of a profile
_HEX = re.compile(r"[0-9a-f]{4,40}")  # git, too, abbreviates to no fewer than 4 digits


class Ref(NamedTuple):
    """A profile that was found: an entry of a version, a pending profile, or a file."""

    kind: Literal["index", "pending", "file"]
    number: int = 0
    version: str | None = None
    entry: Entry | None = None
    pending: Pending | None = None
    path: Path | None = None
    typed: str = ""

    @property
    def name(self) -> str:
        """How the user can name it again."""
        if self.entry is not None:
            return f"{(self.version or '')[:10]}:{self.number}@i"
        return f"{self.number}@p" if self.pending is not None else self.typed or str(self.path)

    @property
    def title(self) -> str:
        """The same with the file name, for lists."""
        if self.entry is not None:
            return f"{self.name} {self.entry.profile[:10]} {printable(self.entry.name)}"
        return f"{self.name} {self.pending.name}" if self.pending is not None else self.name


def sources(refs: Sequence[Ref]) -> tuple[str, ...]:
    """The ids of the profiles that are registered: what a profile made of them names as its sources."""
    return tuple(ref.entry.profile for ref in refs if ref.entry is not None)


class Places(NamedTuple):
    """Where profiles are looked for. `version` gives the full id of a revision, `entries` those of a version,
    `everywhere` all entries of all versions (only walked when nothing else fits)."""

    version: Callable[[str | None], str]
    entries: Callable[[str], Sequence[Entry]]
    pending: Callable[[], Sequence[Pending]]
    everywhere: Callable[[], Sequence[tuple[str, Entry]]]
    cwd: Path


def resolve(name: str, places: Places) -> list[Ref]:
    """The profiles of a name: one, or those of a range. NotFoundError, AmbiguousError."""
    revision, local_name = _split_revision(name, places.cwd)
    if match := _RANGE.fullmatch(local_name):
        return _range(match, revision, places, name)
    if match := _NUMBER.fullmatch(local_name):
        return [_numbered(int(match[1]), match[2], revision, places, name)]
    refs = _by_name(local_name, revision, places) if local_name else []
    if not refs:
        raise _missing(name, places)
    if len(refs) > 1:
        raise ambiguous(name, refs)
    return refs


def _missing(name: str, places: Places) -> NotFoundError:
    """The error for a name that no profile has. It may be that of a version, or of one that this clone lacks."""
    hint = "profiles are named 0@p (pending), 0@i (of this version), REV:0@i, or by tag, name, id or path"
    text = printable(name)
    try:
        count = len(places.entries(places.version(name)))
    except PerfError as error:
        is_ancestor = _ANCESTOR.search(name)
        if isinstance(error, VersionError) and (error.is_cut_off or is_ancestor):
            reason = error.hint or hint if is_ancestor else f"{hint}; {error.hint}"
            return NotFoundError(f"there is neither a profile nor a version '{text}'", hint=reason)
        return NotFoundError(f"there is no profile '{text}'", hint=hint)
    names = f"its profiles are {text}:0@i-{count - 1}@i" if count > 1 else f"its profile is {text}:0@i"
    hint = names if count else "no profile is registered for it"
    return NotFoundError(f"'{text}' is a version, not a profile", hint=hint)


def is_number(name: str) -> bool:
    """Whether a name is `N@i`, `N@p` or a range of them, of whichever version."""
    local_name = name.rpartition(":")[2]
    return bool(_NUMBER.fullmatch(local_name) or _RANGE.fullmatch(local_name))


def refs_of(version: str, entries: Sequence[Entry]) -> list[Ref]:
    return [Ref(kind="index", number=i, version=version, entry=entry) for i, entry in enumerate(entries)]


def pending_refs(pending: Sequence[Pending]) -> list[Ref]:
    return [Ref(kind="pending", number=i, pending=waiting) for i, waiting in enumerate(pending)]


def pending_called(name: str, pending: Sequence[Pending]) -> list[Ref]:
    """The pending profiles of a name, or else of a part of it."""
    refs = pending_refs(pending)
    exact = [r for r in refs if r.pending and name in (r.pending.name, r.pending.name.removesuffix(SUFFIX))]
    return exact or [ref for ref in refs if ref.pending and name in ref.pending.name]


def ambiguous(name: str, refs: Sequence[Ref]) -> AmbiguousError:
    """The error for a name that fits several profiles."""
    listed = "\n".join(f"  {ref.title}" for ref in refs[:20])
    overflow = f"\n  and {len(refs) - 20} more" if len(refs) > 20 else ""
    return AmbiguousError(f"'{printable(name)}' fits {len(refs)} profiles:\n{listed}{overflow}")


def _split_revision(name: str, cwd: Path) -> tuple[str | None, str]:
    revision, colon, local_name = name.rpartition(":")
    if not colon or not revision or (not _NUMBER.fullmatch(local_name) and _is_file(cwd / name)):  # a file a:b.perf
        return None, name
    return revision, local_name


def _numbered(number: int, area: str, revision: str | None, places: Places, name: str) -> Ref:
    refs = _refs_in(area, revision, places)
    if number >= len(refs):
        status = "pending" if area == "p" else f"registered for {'this' if revision is None else 'that'} version"
        count = f"{'is' if len(refs) == 1 else 'are'} {len(refs)} {status}" if refs else f"are none {status}"
        last = f"; the last is {len(refs) - 1}@{area}" if refs else ""
        raise NotFoundError(f"{printable(name)}: no such profile; there {count}{last}")
    return refs[number]


def _range(match: re.Match[str], revision: str | None, places: Places, name: str) -> list[Ref]:
    first, area, last, last_area = int(match[1]), match[2], int(match[3]), match[4]
    if area != last_area or last < first:
        raise UsageError(f"{printable(name)} is no range: write 0@{area}-3@{area}")
    refs = _refs_in(area, revision, places)
    if last >= len(refs):
        _numbered(last, area, revision, places, name)
    return refs[first : last + 1]


def _refs_in(area: str, revision: str | None, places: Places) -> list[Ref]:
    if area == "p":
        if revision is not None:
            raise UsageError("pending profiles belong to no version: write N@p")
        return pending_refs(places.pending())
    version = places.version(revision)
    return refs_of(version, places.entries(version))


def _by_name(name: str, revision: str | None, places: Places) -> list[Ref]:
    if revision is not None:
        registered = _refs_in("i", revision, places)
        return _tagged(registered, name) or _matching(registered, name)
    try:
        registered = _current_refs(places)
    except FormatError:  # what a damaged index holds is not known, but what stands elsewhere is
        refs = _among([], name, places)
        if not refs:
            raise
        return refs
    return _among(registered, name, places)


def _among(registered: list[Ref], name: str, places: Places) -> list[Ref]:
    refs = _tagged(_all_refs(places), name) or _matching(registered, name)  # one tag of two clones may name two
    if not refs and _is_file(places.cwd / name):
        return [Ref(kind="file", path=places.cwd / name, typed=name)]
    if not refs:
        refs = pending_called(name, places.pending())
    if not refs and _HEX.fullmatch(name):
        refs = [ref for ref in _all_refs(places) if ref.entry and ref.entry.profile.startswith(name)]
    return refs


def _tagged(refs: Sequence[Ref], tag: str) -> list[Ref]:
    return [ref for ref in refs if ref.entry and tag in ref.entry.tags]


def _matching(refs: Sequence[Ref], name: str) -> list[Ref]:
    exact = [r for r in refs if r.entry and name in (r.entry.name, r.entry.name.removesuffix(".perf"), r.entry.profile)]
    return exact or [
        ref
        for ref in refs
        if ref.entry and (name in ref.entry.name or (_HEX.fullmatch(name) and ref.entry.profile.startswith(name)))
    ]


def _current_refs(places: Places) -> list[Ref]:
    try:
        return _refs_in("i", None, places)
    except (NotFoundError, VersionError):
        return []


def _all_refs(places: Places) -> list[Ref]:
    numbers: dict[str, int] = {}
    refs = []
    for version, entry in places.everywhere():
        numbers[version] = numbers.get(version, -1) + 1
        refs.append(Ref(kind="index", number=numbers[version], version=version, entry=entry))
    return refs


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
