"""Files that hold profiles: our own, and those of formats that plugins read."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore import files
from perfcore.errors import FormatError, NotFoundError, PluginError
from perfcore.hookspecs import FORMAT
from perfcore.model import EMPTY
from perfcore.named_tuple import NamedTuple
from perfcore.profile import codec
from perfcore.text import printable

if TYPE_CHECKING:
    from perfcore.hookspecs import Format
    from perfcore.model import Profile
    from perfcore.repository.repository import Repository

SNIFFED = 4096  # bytes; the contract of `Format.sniff` names this bound
NATIVE = 1 << 20  # bytes that tell whether a file is one of ours


class ProfileFile(NamedTuple):
    """The profile of a file, its JSON where the file is one of ours, and the stamp of the file."""

    profile: Profile
    data: bytes
    stamp: tuple[int, ...]


def read_profile_file(repository: Repository, path: Path, format: str | None, get: codec.GetPiece) -> ProfileFile:
    """The profile in a file of any format that a plugin knows, complete and verified; its tables are got by `get`."""
    head = files.read(path, 0, beginning=NATIVE)
    if format in (None, "perf") and is_native(head.data):
        content = read_bounded(repository, path)
        return ProfileFile(read_native(path, content.data, get), content.data, content.stamp)
    driver = reader(repository, path, head.data[:SNIFFED], format)
    return ProfileFile(_read_one(driver, path), b"", head.stamp)


def verify(profile: Profile, name: str) -> None:
    """Read every table; the error says which profile it is of."""
    try:
        codec.verify(profile)
    except FormatError as error:
        raise FormatError(f"{printable(name)}: {error.message}", hint=error.hint) from error


def make_format(repository: Repository, format: str, options: Mapping[str, Any] = EMPTY) -> Format:
    """The format of this name. PluginError where it is not installed."""
    _, driver = repository.plugins.make(FORMAT, format, {**repository.plugin_options("format", format), **options})
    return driver


def reader(
    repository: Repository, path: Path, head: bytes, format: str | None, options: Mapping[str, Any] = EMPTY
) -> Format:
    """The format that is named, or the first that recognises the beginning of the file."""
    for name in [format] if format else repository.plugins.names("format"):
        try:
            driver = make_format(repository, name, options)
        except PluginError as error:  # a broken format does not hide the others
            if format:
                raise
            repository.plugins.warn(f"{error} (left out)")
            continue
        reads = hasattr(driver, "read") or hasattr(driver, "read_all")
        if reads and (format or driver.sniff(head, path.name)):
            if not getattr(driver, "streams", False):
                read_bounded(repository, path)  # refuses what is too large
            return driver
    read_bounded(repository, path)
    formats = ", ".join(repository.plugins.names("format"))
    raise FormatError(f"{path} is not a profile in any format known here ({formats})")


def _read_one(driver: Format, path: Path) -> Profile:
    """The profile of a file that holds one."""
    if hasattr(driver, "read"):
        return driver.read(path)
    profiles = list(itertools.islice(driver.read_all(path), 2))  # two say that there are several
    if len(profiles) != 1:
        amount = "several profiles" if profiles else "no profile"
        raise FormatError(f"{printable(str(path))} holds {amount}", hint="`perf import` reads all of a file")
    if isinstance(profiles[0], FormatError):
        raise profiles[0]
    return profiles[0].profile


def read_bounded(repository: Repository, path: Path) -> files.Content:
    """The bytes of a file, unless it exceeds `limits.profile_bytes`."""
    limit = int(repository.config.get("limits.profile_bytes"))
    return files.read(path, limit, hint="raise `limits.profile_bytes` if it really is a profile")


def read_native(path: Path, data: bytes, get: codec.GetPiece) -> Profile:
    """The profile in a file of our own format, complete and verified."""
    profile = codec.decode(data, get, where=str(path))
    try:
        verify(profile, str(path))
    except NotFoundError as error:
        raise FormatError(
            f"{path} refers to tables that are not in this store: {error}",
            hint="write it with `perf export` where it was made",
        ) from error
    return profile


def is_native(data: bytes) -> bool:
    """Whether a file begins as one of our own format does."""
    # perfcore writes `format` first, and the collector before the tables, hence in the first MiB.
    return data.lstrip()[:1] == b"{" and b'"collector_info"' in data[:NATIVE] and b'"format"' in data[:64]
