"""What people write for a version, and which version it is."""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs

from perfcore.errors import VersionError, nearest
from perfcore.text import printable
from perfcore_vcs_tagit.line import Refs, is_id

_FORM = re.compile(r"(.+?)((?:~\d{0,9}|\^[01]?)*)", re.DOTALL)
_STEP = re.compile(r"[~^](\d*)")
_SHORT = re.compile(r"[0-9a-fA-F]{4,40}")
_LISTED = 10


@attrs.frozen
class Revisions:
    """The versions of one repository by what they are called."""

    refs: Refs
    parent: Callable[[str], str | None]

    def require(self, id: str) -> None:
        """VersionError unless a text is the full id of a version."""
        if not is_id(id):
            raise VersionError(f"'{printable(id)[:80]}' is not the full id of a version")
        if id not in self.refs.tags.values():
            raise VersionError(f"there is no version {id}")

    def resolve(self, text: str) -> str:
        """The version of a tag, a line (its newest), an id or the beginning of one, or HEAD; with `~3` or `^`
        behind it, of the third or the first one before."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise VersionError("the name of a version is empty")
        base, steps = match.groups()
        id = self._base(base)
        for digits in _STEP.findall(steps):
            for _ in range(int(digits) if digits else 1):
                parent = self.parent(id)
                if parent is None:
                    raise VersionError(f"'{printable(text)}' goes back beyond the first version")
                id = parent
        return id

    def _base(self, text: str) -> str:
        if text == "HEAD":
            if self.refs.head is None:
                raise VersionError("there is no version yet", hint="`tagit save TAG` makes one")
            return self.refs.head
        named = self.refs.tags.get(text) or self.refs.lines.get(text)
        if named is not None:
            return named
        short = text.lower() if _SHORT.fullmatch(text) else "no id"
        begun = {id: tag for tag, id in self.refs.tags.items() if id.startswith(short)}
        if len(begun) == 1:
            return next(iter(begun))
        if begun:
            raise self._ambiguous(text, begun)
        hint = nearest(text, [*self.refs.tags, *self.refs.lines])
        raise VersionError(f"there is no version '{printable(text)[:200]}'", hint=printable(hint) if hint else None)

    def _ambiguous(self, text: str, found: dict[str, str]) -> VersionError:
        listed = ", ".join(f"{id[:12]} ({printable(found[id])})" for id in sorted(found)[:_LISTED])
        ending = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        return VersionError(f"'{text}' may be {listed}{ending}", hint="write more of it, or the tag")
