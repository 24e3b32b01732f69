"""Names of streams, hosts and versions as keys: any text gives a key, different texts give different ones."""

from __future__ import annotations

import hashlib

SPACE = "receipts/"
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST = 100  # characters; storages take names of up to 150


def escaped(text: str) -> str:
    """A name for a text. Upper-case letters are escaped too: some storages do not tell them apart. A name of a special
    record begins with `@`, which no escaped text does."""
    plain = "".join(
        c if c in _PLAIN else "".join(f"+{byte:02x}" for byte in c.encode("utf-8", "surrogatepass")) for c in text
    )
    if plain.startswith("-"):
        plain = f"+2d{plain[1:]}"
    if len(plain) <= _LONGEST:
        return plain or "+"
    return f"{plain[:40]}+@{hashlib.sha1(text.encode('utf-8', 'surrogatepass'), usedforsecurity=False).hexdigest()}"


def version_prefix(version: str) -> str:
    """The beginning of the keys of a version."""
    return f"{SPACE}{escaped(version)}/"


def receipt_name(stream: str, number: int) -> str:
    """What a segment is called in its version, wherever it is ingested."""
    return f"{escaped(stream)}.{number}"
