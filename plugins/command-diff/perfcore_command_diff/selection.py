"""The two profiles that `perf diff` is asked for: by name, or the newest of two versions that were measured alike."""

from __future__ import annotations

from collections.abc import Sequence

from perfcore.cli.console import Console
from perfcore.errors import NotFoundError, PerfError
from perfcore.model import Entry
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref


def find(console: Console, words: Sequence[str]) -> list[Ref]:
    """The profiles of these words. Two words that name no profile and are versions, branches or a range `A..B` stand
    for the profiles there; NotFoundError where no configuration was measured for both."""
    versions = _versions(console.history.repository, words)
    try:
        # A range such as `0@p-1@p` is one word with two profiles.
        return [ref for word in words for ref in console.find(word)]
    except PerfError:
        if versions is None:
            raise
    return _alike(console, *versions)


def _versions(repository: Repository, words: Sequence[str]) -> tuple[str, str] | None:
    names = words[0].split("..") if len(words) == 1 else list(words)
    if len(names) != 2 or any(":" in name or "@" in name for name in names):
        return None
    try:
        old, new = (repository.version(name) for name in names)
    except PerfError:
        return None
    return old, new


def _alike(console: Console, old: str, new: str) -> list[Ref]:
    repository = console.history.repository
    sides = [list(enumerate(repository.entries(version))) for version in (old, new)]
    pairs = [
        (before, after)
        for after in reversed(sides[1])
        for before in reversed(sides[0])
        if after[1].config_id and before[1].config_id == after[1].config_id
    ]
    if not pairs:
        raise NotFoundError(
            f"no command was measured for both {old[:10]} and {new[:10]}",
            hint="`perf log` lists what was measured; two profiles are named REV:0@i",
        )
    if len({after[1].config_id for _, after in pairs}) > 1:
        console.note("several commands were measured for both: this is the newest; REV:N@i names others")
    return [_ref(version, item) for version, item in zip((old, new), pairs[0], strict=True)]


def _ref(version: str, item: tuple[int, Entry]) -> Ref:
    number, entry = item
    return Ref("index", number=number, version=version, entry=entry)
