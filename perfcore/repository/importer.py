"""Taking over profiles of other tools: each is saved, and registered where it was or is to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import FormatError, VersionError
from perfcore.model import EMPTY, Entry
from perfcore.repository.imports import read_profiles
from perfcore.store.lookup import Ref
from perfcore.store.pending import Pending

if TYPE_CHECKING:
    from perfcore.errors import PerfError
    from perfcore.hookspecs import VersionedProfile
    from perfcore.repository.repository import Repository


@attrs.frozen(kw_only=True)
class Imported:
    """One profile that was imported: registered with `version` as `entry`, or else `pending`."""

    pending: Pending
    version: str | None = None
    entry: Entry | None = None


@attrs.frozen(kw_only=True)
class ImportResult:
    """The imported profiles in the order of their source, and an error for each that was left out."""

    profiles: tuple[Imported, ...]
    errors: tuple[PerfError, ...]

    @classmethod
    def of(cls, items: Iterable[Imported | PerfError]) -> ImportResult:
        """Of what `import_profiles` gives."""
        profiles: list[Imported] = []
        errors: list[PerfError] = []
        for item in items:
            if isinstance(item, Imported):
                profiles.append(item)
            else:
                errors.append(item)
        return cls(profiles=tuple(profiles), errors=tuple(errors))


def import_profiles(
    repository: Repository,
    path: Path,
    format: str = "",
    *,
    version: str | None = None,
    register: bool = False,
    options: Mapping[str, Any] = EMPTY,
) -> Iterator[Imported | PerfError]:
    """Import every profile of a file or directory, each when it is asked for. What cannot be taken over from a
    directory is given as the error; of a file it is raised. `version` is for profiles whose source names none."""
    for item in read_profiles(repository, path, format or None, options):
        try:
            if isinstance(item, FormatError):
                raise item
            yield _take_over(repository, item, version, register)
        except (FormatError, VersionError) as error:
            if not path.is_dir():
                raise
            yield error


def _take_over(repository: Repository, item: VersionedProfile, version: str | None, register: bool) -> Imported:
    if item.version is not None:
        repository.vcs.check_minor_version_validity(item.version)
    target = item.version or version or item.profile.origin
    saved = repository.save(attrs.evolve(item.profile, origin=target))
    if not (register or item.registered):
        return Imported(pending=saved)
    where, entry = repository.register(Ref(kind="pending", pending=saved), target)
    return Imported(pending=saved, version=where, entry=entry)
