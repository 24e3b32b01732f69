"""What a new plugin is called: the name that users type, and what follows from it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping

import attrs

from perfcore.errors import UsageError, nearest
from perfcore.hookspecs import KINDS
from perfcore.plugins.installed import HOOK
from perfcore.text import brief

# With the longest prefix, `perfcore-postprocess-`, the name of a distribution has 49 characters at most.
LONGEST = 28
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_SHORT: Mapping[str, str] = {
    "collector": "collect",
    "postprocessor": "postprocess",
    "notifier": "notify",
    HOOK: "hooks",
}
_KINDS = (*KINDS, HOOK)


@attrs.frozen
class Named:
    """A kind and a name: `collector`, `my-wall`."""

    kind: str
    name: str

    @property
    def word(self) -> str:
        """The part of the distribution's name that tells the kind."""
        return _SHORT.get(self.kind, self.kind)

    @property
    def distribution(self) -> str:
        return f"perfcore-{self.word}-{self.name.replace('_', '-')}"

    @property
    def package(self) -> str:
        return f"perfcore_{self.word}_{self.identifier}"

    @property
    def identifier(self) -> str:
        return self.name.replace("-", "_")

    @property
    def capitalized(self) -> str:
        """How the names of its classes begin."""
        return "".join(word.capitalize() for word in self.identifier.split("_"))


def named(kind: str, name: str) -> Named:
    """UsageError for a kind that there is not, and for a name that would not do."""
    kind = HOOK if kind == _SHORT[HOOK] else kind
    if kind not in _KINDS:
        raise UsageError(f"there is no kind {brief(kind)}", hint=nearest(kind, _KINDS) or ", ".join(_KINDS))
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{brief(name)} is no name for a plugin",
            hint="a name is lower-case letters and digits, apart by single hyphens, such as my-wall",
        )
    if len(name) > LONGEST:
        raise UsageError(f"{brief(name)} is too long: a name has at most {LONGEST} characters")
    if keyword.iskeyword(name):
        raise UsageError(f"{name!r} is a word of Python's own, take another name")
    return Named(kind, name)
