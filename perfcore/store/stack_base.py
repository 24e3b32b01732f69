"""Which stacks the next profile of a configuration continues: those of the one that was written last, or else those
of the last one of its type, whatever its command or the file it came from is called.

The read model keeps them. Where it has gone, the next profile starts anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from perfcore.digests import sha1
from perfcore.store.objects import ID
from perfcore.store.read_model import ReadModel

if TYPE_CHECKING:
    from perfcore.model import Profile

_SPACE = "stacks"


class StackBases:
    """The pieces that were written last for each configuration and type, by the names of their tables."""

    def __init__(self, model: ReadModel) -> None:
        self._model = model

    def pieces(self, profile: Profile) -> Mapping[str, Sequence[str]]:
        """The ids of the pieces; empty without an earlier profile."""
        return next((pieces for key in keys(profile) if (pieces := self._read(key))), {})

    def _read(self, key: str) -> Mapping[str, Sequence[str]]:
        import msgspec

        try:
            data = self._model.get(_SPACE, key) or b"{}"
            pieces = msgspec.json.decode(data, type=dict[str, list[str]])
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return {}
        # Anybody may have written it: what is no id would be part of a key.
        return pieces if all(ID.fullmatch(id) for ids in pieces.values() for id in ids) else {}

    def note(self, profile: Profile, pieces: Mapping[str, Sequence[str]]) -> None:
        """Remember what was written."""
        import msgspec

        # Where it cannot be written, the next profile stores its stacks anew: that costs space, not the profile.
        data = msgspec.json.encode(pieces)
        self._model.put(_SPACE, dict.fromkeys(keys(profile), data))


def keys(profile: Profile) -> Iterator[str]:
    """The keys of what the next profiles of its configuration and of its type continue."""
    for identity in (profile.config_id or "\0".join((profile.header.type, profile.header.label)), profile.header.type):
        yield sha1(identity.encode("utf-8", "replace")).hexdigest()
