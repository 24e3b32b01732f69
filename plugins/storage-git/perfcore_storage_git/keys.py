"""Keys as paths in a tree of git.

    objects/ab/cdef=18c2f0a4b1d3e2f7.18c2f0a4b1d3e2f7    the bytes of the key `objects/ab/cdef`

Behind the key stand the times at which it was written and last touched, in hexadecimal nanoseconds since 1970 UTC:
git keeps neither, and both are needed to tell one writing from another. `=` is in no key, so that `a` and `a/b` can
both be one.
"""

from __future__ import annotations

import re

from perfcore_storage_kit import keys
from perfcore_storage_kit.keys import KEY

from perfcore.errors import StorageError
from perfcore.hookspecs import Listed
from perfcore.named_tuple import NamedTuple

_PATH = re.compile(rf"({KEY})=([0-9a-f]{{1,16}})\.([0-9a-f]{{1,16}})")
_LONGEST = 3_000  # characters: paths of more are refused by systems where somebody may check the tree out


class Held(NamedTuple):
    """A key of the store: the id of its blob with its size, and when it was written and touched."""

    key: str
    blob: str
    size: int
    written: int
    touched: int

    @property
    def path(self) -> str:
        return f"{self.key}={self.written:x}.{self.touched:x}"

    @property
    def tag(self) -> str:
        """The tag of the bytes."""
        return f"{self.written:x}.{self.blob[:16]}"

    @property
    def listed(self) -> Listed:
        return Listed(self.key, self.size, self.touched, f"{self.tag}.{self.touched:x}")

    def has(self, tag: str) -> bool:
        """Whether the tag is one of those that were given for it as it is."""
        return tag in (self.tag, self.listed.tag)


def held(path: str, blob: str, size: int) -> Held | None:
    """The key under a path; None for what is no key's."""
    matched = _PATH.fullmatch(path)
    if matched is None:
        return None
    return Held(matched[1], blob, size, int(matched[2], 16), int(matched[3], 16))


def check_key(key: str) -> None:
    """StorageError for anything that is not a key, or that git refuses in a tree."""
    keys.check_key(key)
    if len(key) > _LONGEST or any(name.lower() == ".git" for name in key.split("/")):
        raise StorageError(
            f"'{keys.shown(key)}' cannot be kept in git", hint="no name may be '.git', nor a key that long"
        )
