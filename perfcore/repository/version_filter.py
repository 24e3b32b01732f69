"""Versions by their date or tag, or by their number from the newest."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

from perfcore.errors import VersionError
from perfcore.model import MinorVersion
from perfcore.model.record import Record
from perfcore.repository.repository import Repository

Condition: TypeAlias = Callable[[MinorVersion], bool]
_AGO = re.compile(r"(\d{1,5})[ .](hour|day|week)s?[ .]ago")


class VersionFilter(Record, frozen=True, kw_only=True):
    """A part of a history: `start..`, from `since` until `until`, with a tag like `tags`; of these the `last`, and of
    these, counted from the newest, every `step`th."""

    start: str = ""
    since: str | None = None
    until: str | None = None
    tags: str | None = None
    last: int | None = None
    step: int = 1

    def __bool__(self) -> bool:
        return self != VersionFilter()

    def accepts(self, repository: Repository) -> Condition:
        """Whether a version is in the part, however many are newer. Dates are in local time."""
        conditions: list[tuple[Condition, bool]] = []
        if self.start:
            conditions.append((_in_history(repository, self.start), False))
        if self.since is not None:
            conditions.append((_reached(repository, self.since, timedelta(seconds=-1)), False))
        if self.until is not None:
            conditions.append((_reached(repository, self.until, timedelta(days=1, seconds=-1)), True))
        if self.tags is not None:
            ids = {version.id for version in tagged(repository, self.tags)}
            conditions.append((lambda version: version.id in ids, True))
        return lambda version: all(condition(version) is expected for condition, expected in conditions)

    def of(self, repository: Repository, newest_first: Iterable[MinorVersion]) -> list[MinorVersion]:
        """The versions of a history that are in the part, newest first."""
        return list(filter(self.accepts(repository), newest_first))[: self.last : self.step]


def tagged(repository: Repository, pattern: str) -> list[MinorVersion]:
    """The versions with a tag that matches, newest first. VersionError where no tag does."""
    tags: Mapping[str, str] = getattr(repository.vcs, "tags", dict)()
    if not (ids := {version for tag, version in tags.items() if fnmatch.fnmatchcase(tag, pattern)}):
        raise VersionError(f"no tag matches {pattern!r}")
    return sorted(map(repository.vcs.get_minor_version_info, ids), key=lambda v: (v.date, v.id), reverse=True)


def _reached(repository: Repository, text: str, offset: timedelta) -> Condition:
    """Whether a version is in the history of a revision, or not after a date with `offset`, if it is a whole day."""
    try:
        return _in_history(repository, text)
    except VersionError as error:
        try:
            if ago := _AGO.fullmatch(text):
                moment = datetime.now() - timedelta(**{f"{ago[2]}s": int(ago[1])})
            else:
                moment = datetime.fromisoformat(text)
            last = (moment + offset if len(text) == 10 or offset < timedelta() else moment).timestamp()
        except (ValueError, OverflowError, OSError):
            hint = "a date is written 2026-01-31, '2026-01-31 14:00' or '2 weeks ago'"
            raise VersionError(error.message, hint=f"{hint}; {error.hint}" if error.hint else hint) from error
        return lambda version: version.date <= last


def _in_history(repository: Repository, revision: str) -> Condition:
    history = {version.id for version in repository.vcs.walk_minor_versions(repository.version(revision))}
    return lambda version: version.id in history
