"""Profiles of other tools: each is saved, and registered where it was or is to be."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from perfcore import files
from perfcore.errors import FormatError, NotFoundError, PluginError, UsageError, VersionError
from perfcore.hookspecs import VersionedProfile
from perfcore.model import EMPTY, Entry, Profile
from perfcore.model.record import replace
from perfcore.profile.benchmarks import is_suite
from perfcore.repository import imports
from perfcore.store.lookup import Ref
from perfcore.store.pending import Pending
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.errors import PerfError
    from perfcore.hookspecs import Format
    from perfcore.repository.repository import Repository


@attrs.frozen(kw_only=True)
class Imported:
    """One profile that was imported: registered with `version` as `entry`, or else `pending`. `assumed` says that
    nobody named the version: it is the head."""

    pending: Pending
    version: str | None = None
    entry: Entry | None = None
    assumed: bool = False


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
    for item in _read_profiles(repository, path, format or None, options):
        try:
            if isinstance(item, FormatError):
                raise item
            yield _take_over(repository, item, version, register)
        except (FormatError, VersionError) as error:
            if not path.is_dir():
                raise
            yield _named(error, item)


def _named(error: PerfError, item: VersionedProfile | FormatError) -> PerfError:
    """The error of a version says nothing of the file of the directory that names it."""
    if isinstance(item, FormatError) or not item.name or not isinstance(error, VersionError):
        return error
    return VersionError(f"{printable(item.name)}: {error.message}", hint=error.hint)


def _take_over(repository: Repository, item: VersionedProfile, version: str | None, register: bool) -> Imported:
    register = register or item.registered
    target = _version(
        repository, item, version, check=(register or item.version is not None) and not item.profile.dirty
    )
    if register and target is None and repository.vcs.is_dirty():
        raise UsageError(
            "the file does not name the version that was measured, and this tree has uncommitted changes",
            hint="--version REV",
        )
    profile = replace(item.profile, origin=target)
    if not register:
        return Imported(pending=repository.save(profile))
    saved = repository.save(_with_first_moment(repository, profile))
    where, entry = repository.register(Ref(kind="pending", pending=saved), target)
    return Imported(pending=saved, version=where, entry=entry, assumed=target is None)


def _with_first_moment(repository: Repository, profile: Profile) -> Profile:
    """The profile, or the one that is registered already with the same results. Files without a date were made when the
    file system says, which differs for every copy; a second copy would count as more runs."""
    if profile.dirty or not is_suite(profile):
        return profile
    version = profile.origin or repository.version()
    identity, totals = (profile.config_id, profile.environment_id), _totals(profile)
    for entry in repository.entries(version):
        if (entry.config_id, entry.environment_id) == identity and entry.created != profile.created:
            ref = Ref(kind="index", version=version, entry=entry)
            with contextlib.suppress(FormatError, NotFoundError):  # damaged: `perf fsck` says so
                if _totals_of(repository, ref) == totals and repository.load(ref).tables == profile.tables:
                    return replace(profile, created=entry.created)
    return profile


@functools.lru_cache(maxsize=1 << 16)  # of many files of one version, each is compared with all before it
def _totals_of(repository: Repository, ref: Ref) -> tuple[tuple[str, float], ...]:
    return _totals(repository.load(ref))


def _totals(profile: Profile) -> tuple[tuple[str, float], ...]:
    """The total of each metric: cheap to keep, and different for two measurements."""
    columns = profile.tables["resources"].columns
    return tuple((c.name, sum(v for v in c if isinstance(v, float))) for c in columns if c.spec.role == "value")


def _version(repository: Repository, item: VersionedProfile, version: str | None, *, check: bool) -> str | None:
    """The version that the source names, or else the given one. With `check`, VersionError where the source names one
    that is not here and none is given, and UsageError where another is given than the one that is here: a measurement
    moved to another version is a wrong one."""
    own = item.version or item.profile.origin
    if own is None or version == own:
        return version
    if check:
        try:
            repository.vcs.check_minor_version_validity(own)
        except VersionError:
            if version is not None and item.version is None:
                return version
            raise
    if version is not None and item.version is None:
        raise UsageError(f"the profile is of version {own[:10]}, not of {version[:10]}")
    return own


def _read_profiles(
    repository: Repository, path: Path, format: str | None, options: Mapping[str, Any] = EMPTY
) -> Iterator[VersionedProfile | FormatError]:
    """Every profile of a file of any format, or of a directory in the format that is named."""
    if path.is_dir():
        driver = _directory_reader(repository, path, format, options)
    else:
        head = files.read(path, 0, beginning=imports.NATIVE).data
        if not options and format in (None, "perf") and imports.is_native(head):
            content = imports.read_bounded(repository, path)
            yield VersionedProfile(imports.read_native(path, content.data, repository.store.get_piece))
            return
        driver = imports.reader(repository, path, head[: imports.SNIFFED], format, options)
    if hasattr(driver, "read_all"):
        yield from driver.read_all(path)
    else:
        yield VersionedProfile(driver.read(path))


def _directory_reader(repository: Repository, path: Path, format: str | None, options: Mapping[str, Any]) -> Format:
    """Nothing is detected in a directory: reading all of it may be long, and it may hold files of several formats."""
    directory = printable(str(path))
    if format is None:
        formats = ", ".join(_directory_formats(repository))
        raise UsageError(f"{directory} is a directory", hint=f"name its format: perf import FORMAT DIR ({formats})")
    driver = imports.make_format(repository, format, options)
    if not hasattr(driver, "read_all"):
        raise UsageError(f"{directory} is a directory, and the format {format} reads only files")
    return driver


def _directory_formats(repository: Repository) -> Iterator[str]:
    for name in repository.plugins.names("format"):
        with contextlib.suppress(PluginError):  # a broken format is told where it is named
            if hasattr(imports.make_format(repository, name), "read_all"):
                yield name
