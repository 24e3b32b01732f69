"""Which stacks the next profile of a configuration continues: those of the one that was written last, or else those
of the last one of its type, whatever its command or the file it came from is called.

Small files in `.perf/cache/stacks`, which may be removed at any time: then the next profile starts anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore import files
from perfcore.store.objects import ID

if TYPE_CHECKING:
    from perfcore.model import Profile


class StackBases:
    """The pieces that were written last for each configuration and type, by the names of their tables."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def pieces(self, profile: Profile) -> Mapping[str, Sequence[str]]:
        """The ids of the pieces; empty without an earlier profile."""
        return next((pieces for name in _names(profile) if (pieces := self._read(name))), {})

    def _read(self, name: str) -> Mapping[str, Sequence[str]]:
        if self._folder is None:
            return {}
        import msgspec

        try:
            data = files.cached(self._folder / name) or b"{}"
            pieces = msgspec.json.decode(data, type=dict[str, list[str]])
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return {}
        # Anybody may have written the file: what is no id would be part of a key.
        return pieces if all(ID.fullmatch(id) for ids in pieces.values() for id in ids) else {}

    def note(self, profile: Profile, pieces: Mapping[str, Sequence[str]]) -> None:
        """Remember what was written."""
        if self._folder is None or not pieces:
            return
        import msgspec

        # Where it cannot be written, the next profile stores its stacks anew: that costs space, not the profile.
        for name in _names(profile):
            files.cache(self._folder / name, msgspec.json.encode(pieces))


def _names(profile: Profile) -> Iterator[str]:
    """The files of the configuration and of the type."""
    for identity in (profile.config_id or "\0".join((profile.header.type, profile.header.label)), profile.header.type):
        yield hashlib.sha1(identity.encode("utf-8", "replace"), usedforsecurity=False).hexdigest() + ".json"
