"""A minor version as an object.

    "tree" blank id LF
    "parent" blank id LF                 but in the first version of a history
    "tag" blank name LF
    "date" blank seconds since 1970 UTC LF
    "author" blank name LF
    LF
    message

in UTF-8; ids as 40 hex digits.
"""

from __future__ import annotations

import re

import attrs

from perfcore.errors import FormatError
from perfcore.model import MinorVersion

_FORM = re.compile(
    r"tree ([0-9a-f]{40})\n(?:parent ([0-9a-f]{40})\n)?"
    r"tag ([^\n]+)\ndate (\d{1,15})\nauthor ([^\n]*)\n\n(.*)",
    re.DOTALL,
)


@attrs.frozen(kw_only=True)
class Version:
    """A tagged snapshot."""

    tree: str
    parent: str | None
    tag: str
    date: int
    author: str = ""
    message: str = ""

    @property
    def subject(self) -> str:
        """The message's first line; the tag where there is none."""
        return self.message.partition("\n")[0] or self.tag

    def minor(self, id: str) -> MinorVersion:
        """The same in perfcore's words."""
        parents = (self.parent,) if self.parent else ()
        return MinorVersion(id=id, parents=parents, author=self.author, date=self.date, subject=self.subject)


def encode(version: Version) -> bytes:
    """The content of the object."""
    parent = f"parent {version.parent}\n" if version.parent else ""
    author = " ".join(version.author.split())
    head = f"tree {version.tree}\n{parent}tag {version.tag}\ndate {version.date}\nauthor {author}\n\n"
    return (head + version.message).encode("utf-8", "backslashreplace")


def decode(content: bytes, id: str) -> Version:
    """The version in an object."""
    match = _FORM.fullmatch(content.decode("utf-8", "replace"))
    if match is None:
        raise FormatError(f"the version {id} is damaged")
    tree, parent, tag, date, author, message = match.groups()
    return Version(tree=tree, parent=parent, tag=tag, date=int(date), author=author, message=message)
