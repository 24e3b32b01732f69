"""Files that hold profiles: our own, and those of formats that plugins read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perfcore import files
from perfcore.errors import FormatError, NotFoundError, PluginError, UsageError
from perfcore.hookspecs import FORMAT, VersionedProfile
from perfcore.model import EMPTY
from perfcore.profile import codec
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.hookspecs import Format
    from perfcore.model import Profile
    from perfcore.repository.repository import Repository

SNIFFED = 4096  # bytes; the contract of `Format.sniff` names this bound


class ProfileFile(NamedTuple):
    """The profile of a file, its JSON where the file is one of ours, and the stamp of the file."""

    profile: Profile
    data: bytes
    stamp: tuple[int, ...]


def read_profile_file(repository: Repository, path: Path, format: str | None, get: codec.GetPiece) -> ProfileFile:
    """The profile in a file of any format that a plugin knows, complete and verified; its tables are got by `get`."""
    content = _read_bounded(repository, path)
    if format in (None, "perf") and _is_native(content.data):
        return ProfileFile(_read_native(path, content.data, get), content.data, content.stamp)
    head, stamp = content.data[:SNIFFED], content.stamp
    del content  # the plugin reads the file itself
    return ProfileFile(_read_one(_reader(repository, path, head, format), path), b"", stamp)


def verify(profile: Profile, name: str) -> None:
    """Read every table; the error says which profile it is of."""
    try:
        codec.verify(profile)
    except FormatError as error:
        raise FormatError(f"{printable(name)}: {error.message}", hint=error.hint) from error


def read_profiles(
    repository: Repository, path: Path, format: str | None, options: Mapping[str, Any] = EMPTY
) -> Iterator[VersionedProfile | FormatError]:
    """Every profile of a file of any format, or of a directory in the format that is named."""
    if path.is_dir():
        driver = _directory_reader(repository, path, format, options)
    else:
        content = _read_bounded(repository, path)
        if not options and format in (None, "perf") and _is_native(content.data):
            yield VersionedProfile(_read_native(path, content.data, repository.store.get_piece))
            return
        driver = _reader(repository, path, content.data[:SNIFFED], format, options)
        del content  # the plugin reads the file itself
    if hasattr(driver, "read_all"):
        yield from driver.read_all(path)
    else:
        yield VersionedProfile(driver.read(path))


def write_profile(
    repository: Repository, profile: Profile, path: Path, format: str, options: Mapping[str, Any] = EMPTY
) -> None:
    """Write a profile to a file. PluginError where the format only reads."""
    driver = _make(repository, format, options)
    if not hasattr(driver, "write"):
        raise PluginError(f"{repository.plugins.find('format', format)} can only read")
    driver.write(profile, path)


def _make(repository: Repository, format: str, options: Mapping[str, Any] = EMPTY) -> Format:
    _, driver = repository.plugins.make(FORMAT, format, {**repository.plugin_options("format", format), **options})
    return driver


def _directory_reader(repository: Repository, path: Path, format: str | None, options: Mapping[str, Any]) -> Format:
    """Nothing is detected in a directory: reading all of it may be long, and it may hold files of several formats."""
    directory = printable(str(path))
    if format is None:
        formats = ", ".join(repository.plugins.names("format"))
        raise UsageError(f"{directory} is a directory", hint=f"name its format: perf import FORMAT DIR ({formats})")
    driver = _make(repository, format, options)
    if not hasattr(driver, "read_all"):
        raise UsageError(f"{directory} is a directory, and the format {format} reads only files")
    return driver


def _reader(
    repository: Repository, path: Path, head: bytes, format: str | None, options: Mapping[str, Any] = EMPTY
) -> Format:
    """The format that is named, or the first that recognises the beginning of the file."""
    for name in [format] if format else repository.plugins.names("format"):
        try:
            driver = _make(repository, name, options)
        except PluginError as error:
            if format:
                raise
            repository.plugins.warn(f"{error} (left out)")
            continue
        reads = hasattr(driver, "read") or hasattr(driver, "read_all")
        if reads and (format or driver.sniff(head, path.name)):
            return driver
    formats = ", ".join(repository.plugins.names("format"))
    raise FormatError(f"{path} is not a profile in any format known here ({formats})")


def _read_one(driver: Format, path: Path) -> Profile:
    """The profile of a file that holds one."""
    if hasattr(driver, "read"):
        return driver.read(path)
    profiles = list(itertools.islice(driver.read_all(path), 2))
    if len(profiles) != 1:
        amount = "several profiles" if profiles else "no profile"
        raise FormatError(f"{printable(str(path))} holds {amount}", hint="`perf import` reads all of a file")
    if isinstance(profiles[0], FormatError):
        raise profiles[0]
    return profiles[0].profile


def _read_bounded(repository: Repository, path: Path) -> files.Content:
    limit = int(repository.config.get("limits.profile_bytes"))
    return files.read(path, limit, hint="raise `limits.profile_bytes` if it really is a profile")


def _read_native(path: Path, data: bytes, get: codec.GetPiece) -> Profile:
    profile = codec.decode(data, get, where=str(path))
    try:
        verify(profile, str(path))
    except NotFoundError as error:
        raise FormatError(
            f"{path} refers to tables that are not in this store: {error}",
            hint="write it with `perf export` where it was made",
        ) from error
    return profile


def _is_native(data: bytes) -> bool:
    return data.lstrip()[:1] == b"{" and b'"collector_info"' in data[: 1 << 20] and b'"format"' in data[:64]
