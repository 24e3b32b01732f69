"""The target of a check, parsed from the arguments of a command line or of a script."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from perfcore.errors import NotFoundError, UsageError, VersionError, nearest
from perfcore.model import Sample
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository
    from perfcore.repository.version_filter import VersionFilter
    from perfcore.store.lookup import Ref

Find: TypeAlias = Callable[[str], "Sequence[Ref]"]
HEAD, ALL, PROFILES = "head", "all", "profiles"


class Version(msgspec.Struct, frozen=True):
    """A version against the nearest ancestor that was measured alike."""

    id: str


class Range(msgspec.Struct, frozen=True):
    """The history of a branch, or the part `A..B` of it. With a `part`, only its versions are looked at."""

    start: str = ""
    end: str = ""
    part: VersionFilter | None = None


class Profiles(msgspec.Struct, frozen=True):
    """Profiles, each against the one before it with the same configuration."""

    refs: tuple[Ref, ...]


class ProfilePair(msgspec.Struct, frozen=True):
    """Two profiles that the user named."""

    baseline: Sample
    target: Sample


class VersionPair(msgspec.Struct, frozen=True):
    """Two versions by their full ids, such as releases: everything that both were measured with."""

    baseline: str
    target: str


CheckTarget: TypeAlias = Version | Range | Profiles | ProfilePair | VersionPair


def parse(repository: Repository, words: Sequence[str], find: Find) -> CheckTarget:
    """What these words ask for: none or `head`, `all`, a revision, `A..B`, a profile, or two of either, where the word
    `profiles` may precede profiles, and `all` a range. `find` gives the profiles of a name."""
    if len(words) == 3 and words[0] == PROFILES:  # with fewer words a branch may have this name
        words = words[1:]
    if len(words) == 2 and words[0] == ALL:
        if ".." not in words[1]:
            hint = f"that of another branch: perf check --all --until {printable(words[1])}"
            raise UsageError(f"`{ALL}` is the history of the branch that is checked out", hint=hint)
        words = words[1:]
    if len(words) > 2:
        raise UsageError(f"at most two versions or profiles are compared, got {len(words)}")
    if len(words) == 2:
        if pair := version_pair(repository, words):
            return pair
        refs = {word: find(word) for word in versions_last(repository, words)}
        return ProfilePair(*(sample(repository, refs[word]) for word in words))
    word = words[0] if words else HEAD
    if word == ALL:
        return Range()
    if ".." in word and not _is_number(word):
        start, _, end = word.partition("..")
        return Range(start, end)
    return _version_or_profiles(repository, None if word == HEAD else word, find)


def version_pair(repository: Repository, words: Sequence[str]) -> VersionPair | None:
    """The two versions of these words, None where one is no version. A word that names a version and, by a part of its
    name, a profile too is the version, as it is where one word is given."""
    if any(map(_is_number, words)):
        return None
    try:
        return VersionPair(*map(repository.version, words))
    except VersionError:
        return None


def versions_last(repository: Repository, words: Sequence[str]) -> Sequence[str]:
    """The words, those of versions behind the others: of a version and a name of nothing, the latter is wrong."""

    def is_version(word: str) -> bool:
        with contextlib.suppress(VersionError):
            return bool(repository.version(word))
        return False

    return sorted(words, key=is_version)


def sample(repository: Repository, refs: Sequence[Ref]) -> Sample:
    """What was found as one sample."""
    profiles = tuple(repository.load(ref) for ref in refs)
    version = refs[0].version or profiles[0].origin
    return Sample(version=version, profiles=profiles, dirty=any(profile.dirty for profile in profiles))


def _version_or_profiles(repository: Repository, word: str | None, find: Find) -> Version | Profiles:
    if word is not None and _is_number(word):
        return Profiles(tuple(find(word)))
    try:
        return Version(repository.version(word))
    except VersionError as error:
        if word is not None:
            with contextlib.suppress(NotFoundError):
                return Profiles(tuple(find(word)))
            error.hint = error.hint or nearest(word, (HEAD, ALL), alike=0.6)
        raise


def _is_number(word: str) -> bool:
    from perfcore.store.lookup import is_number

    return is_number(word)
