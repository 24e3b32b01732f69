"""Versions by their date or tag."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from perfcore.errors import VersionError
from perfcore.model import MinorVersion
from perfcore.repository.repository import Repository

_AGO = re.compile(r"(\d{1,5})[ .](hour|day|week)s?[ .]ago")


def between(repository: Repository, since: str | None, until: str | None) -> Callable[[MinorVersion], bool]:
    """Whether a version is after `since` and not after `until`: revisions, or dates in local time; None: any."""
    excluded = _reached(repository, since, timedelta(seconds=-1)) if since is not None else lambda _: False
    included = _reached(repository, until, timedelta(days=1, seconds=-1)) if until is not None else lambda _: True
    return lambda version: included(version) and not excluded(version)


def tagged(repository: Repository, pattern: str) -> list[MinorVersion]:
    """The versions with a tag that matches, newest first. VersionError where no tag does."""
    tags: Mapping[str, str] = getattr(repository.vcs, "tags", dict)()
    if not (ids := {version for tag, version in tags.items() if fnmatch.fnmatchcase(tag, pattern)}):
        raise VersionError(f"no tag matches {pattern!r}")
    return sorted(map(repository.vcs.get_minor_version_info, ids), key=lambda v: (v.date, v.id), reverse=True)


def _reached(repository: Repository, text: str, offset: timedelta) -> Callable[[MinorVersion], bool]:
    """Whether a version is in the history of a revision, or not after a date with `offset`, if it is a whole day."""
    try:
        history = {version.id for version in repository.vcs.walk_minor_versions(repository.version(text))}
        return lambda version: version.id in history
    except VersionError as error:
        try:
            if ago := _AGO.fullmatch(text):
                moment = datetime.now() - timedelta(**{f"{ago[2]}s": int(ago[1])})
            else:
                moment = datetime.fromisoformat(text)
            last = (moment + offset if len(text) == 10 or offset < timedelta() else moment).timestamp()
        except (ValueError, OverflowError, OSError):
            hint = "a date is written 2026-01-31, '2026-01-31 14:00' or '2 weeks ago'"
            raise VersionError(error.message, hint=error.hint or hint) from error
        return lambda version: version.date <= last
