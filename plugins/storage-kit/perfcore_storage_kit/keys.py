"""Which strings are keys of a storage, as `perfcore.hookspecs.Storage` says it.

For storages elsewhere: the one in a folder has stricter rules, and is loaded by every command.
"""

from __future__ import annotations

import re

from perfcore.errors import StorageError
from perfcore.text import clip, printable

BEGUN = r"[A-Za-z0-9._+@][A-Za-z0-9._+@-]*"
NAME = rf"{BEGUN}(?<!\.)"
KEY = rf"{NAME}(?:/{NAME})*"
_IS_KEY = re.compile(KEY)
_IS_PREFIX = re.compile(rf"(?:{NAME}/)*(?:{BEGUN})?")
_RULE = "names joined by '/', of letters, digits and '._-+@', that neither begin with '-' nor end with '.'"


def is_key(text: str) -> bool:
    return _IS_KEY.fullmatch(text) is not None


def check_key(key: str) -> None:
    """StorageError for anything that is not a key."""
    if not is_key(key):
        raise refusal("a key", key)


def check_prefix(prefix: str) -> None:
    """StorageError for what no key can begin with."""
    if not _IS_PREFIX.fullmatch(prefix):
        raise refusal("the beginning of a key", prefix)


def refusal(role: str, text: str) -> StorageError:
    """The error for a text that is not what it should be, such as `a key`."""
    return StorageError(f"'{shown(text)}' is not {role}", hint=f"keys are {_RULE}")


def shown(key: str) -> str:
    """A key, or what was meant to be one, for a message."""
    return clip(printable(key), 100)
