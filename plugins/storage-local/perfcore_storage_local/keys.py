"""Which strings are keys, and which tags a stored file has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from perfcore.digests import sha1
from perfcore.errors import StorageError
from perfcore.text import clip, printable

if TYPE_CHECKING:
    import os

TMP, LOCKS, PACKS = "tmp", "locks", "packs"
OWN = (TMP, LOCKS, PACKS)

_BEGUN = r"[A-Za-z0-9._+@][A-Za-z0-9._+@-]*"
_IS_BEGUN = _BEGUN
_ARE_BEGUN = re.compile(rf"{_BEGUN}(?:/{_BEGUN})*")
# Windows opens a device under these names in any folder, and drops a dot at the end of a name. They are
# refused everywhere, so that a place can be moved to any system.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
_IS_PACKABLE = r"[^/]+/[0-9a-f]{2}/[0-9a-f]{38}"
_RULE = "names joined by '/', of letters, digits and '._-+@', that neither begin with '-' nor end with '.'"


def check_key(key: str) -> None:
    """StorageError for anything that is not a key."""
    if not _ARE_BEGUN.fullmatch(key) or not all(map(_is_allowed, key.split("/"))):
        raise _refusal("a key", key)


def check_writable(key: str) -> None:
    """The same, and for keys in the folders that the driver keeps for itself."""
    check_key(key)
    if key.partition("/")[0].lower() in OWN:
        raise StorageError(
            f"'{_shown(key)}' cannot be written: {', '.join(map(repr, OWN))} belong to the storage itself",
            hint="choose another folder",
        )


def check_prefix(prefix: str) -> None:
    """StorageError for what no key can begin with."""
    folder, slash, begun = prefix.rpartition("/")
    if (slash and not all(map(is_segment, folder.split("/")))) or (begun and not re.fullmatch(_IS_BEGUN, begun)):
        raise _refusal("the beginning of a key", prefix)


def is_segment(name: str) -> bool:
    """Whether a file of this name can be part of a key."""
    return re.fullmatch(_IS_BEGUN, name) is not None and _is_allowed(name)


def is_packable(key: str) -> bool:
    """Whether a pack can hold the key: it is a first folder and an id."""
    return re.fullmatch(_IS_PACKABLE, key) is not None


def is_part(name: str) -> bool:
    """Whether a first folder keeps objects in a folder of this name."""
    return re.fullmatch("[0-9a-f]{2}", name) is not None


def content_tag(data: bytes) -> str:
    """The tag that `read`, `create` and `replace` give: the same for the same bytes."""
    # Tags tell changes and protect nothing; OpenSSL in FIPS mode forbids SHA-1 that is used for security.
    return sha1(data).hexdigest()


def stat_tag(status: os.stat_result) -> str:
    """The tag that `list` gives: another one whenever the file was written or touched. The dots tell it from
    a content tag."""
    return f"{status.st_mtime_ns:x}.{status.st_size:x}.{status.st_ino:x}"


def folder_stamp(status: os.stat_result) -> str:
    """Another one whenever something is made, replaced or removed in the folder. The time of the last change of
    its inode, which nobody can set, tells a folder that was copied or unpacked with its times as they were."""
    return f"{status.st_mtime_ns:x}.{status.st_ctime_ns:x}.{status.st_ino:x}"


def is_stat_tag(tag: str) -> bool:
    return "." in tag


def shard(key: str, shards: int) -> int:
    """The lock of a key. Letters count as lower case: on some file systems `A` and `a` are one file."""
    return sha1(key.lower().encode()).digest()[0] % shards


def _is_allowed(name: str) -> bool:
    """Whether a name of the right characters is one on any system."""
    return name[-1] != "." and name.partition(".")[0].lower() not in _DEVICES


def _refusal(role: str, text: str) -> StorageError:
    return StorageError(f"'{_shown(text)}' is not {role}", hint=f"keys are {_RULE}")


def _shown(text: str) -> str:
    return clip(printable(text), 100)
