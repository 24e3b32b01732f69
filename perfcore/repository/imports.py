"""Files that hold profiles: our own, and those of formats that plugins read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfcore import files
from perfcore.errors import FormatError, NotFoundError, PluginError
from perfcore.profile import codec
from perfcore.text import printable

if TYPE_CHECKING:
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
    limit = int(repository.config.get("limits.profile_bytes"))
    content = files.read(path, limit, hint="raise `limits.profile_bytes` if it really is a profile")
    head, stamp = content.data[:SNIFFED], content.stamp
    if format in (None, "perf") and _is_native(content.data):
        profile = codec.decode(content.data, get, where=str(path))
        try:
            verify(profile, str(path))
        except NotFoundError as error:
            raise FormatError(
                f"{path} refers to tables that are not in this store: {error}",
                hint="write it with `perf export` where it was made",
            ) from error
        return ProfileFile(profile, content.data, stamp)
    del content  # the plugin reads the file itself
    return ProfileFile(_read_foreign(repository, path, head, format), b"", stamp)


def verify(profile: Profile, name: str) -> None:
    """Read every table; the error says which profile it is of."""
    try:
        codec.verify(profile)
    except FormatError as error:
        raise FormatError(f"{printable(name)}: {error.message}", hint=error.hint) from error


def _read_foreign(repository: Repository, path: Path, head: bytes, format: str | None) -> Profile:
    for name in [format] if format else repository.plugins.names("format"):
        try:
            _, driver = repository.plugins.make("format", name, repository.plugin_options("format", name))
        except PluginError as error:
            if format:
                raise
            repository.plugins.warn(f"{error} (left out)")
            continue
        if hasattr(driver, "read") and (format or driver.sniff(head, path.name)):
            return driver.read(path)  # type: ignore[no-any-return]
    known = ", ".join(repository.plugins.names("format"))
    raise FormatError(f"{path} is not a profile in any format known here ({known})")


def _is_native(data: bytes) -> bool:
    return data.lstrip()[:1] == b"{" and b'"collector_info"' in data[: 1 << 20] and b'"format"' in data[:64]
