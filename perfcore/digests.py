"""SHA-1 and SHA-256. OpenSSL computes them ten times as fast as Python's own code, but to load it takes as long as it
takes that to hash 300 kB: OpenSSL comes once a command hashes about as much."""

from __future__ import annotations

import functools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import _Hash
    from typing import Any

_slowly = 100_000  # bytes that may still be hashed without OpenSSL


def sha1(*data: bytes | memoryview) -> _Hash:
    """The hash of the data. In FIPS mode OpenSSL refuses it for security, which this is not."""
    return _hashed("sha1", data)


def sha256(*data: bytes | memoryview) -> _Hash:
    return _hashed("sha256", data)


def _hashed(name: str, data: tuple[bytes | memoryview, ...]) -> _Hash:
    global _slowly
    _slowly -= sum(map(len, data))
    digest: _Hash = _maker(name, _slowly > 0)(data[0], usedforsecurity=False)
    for part in data[1:]:
        digest.update(part)
    return digest


@functools.cache
def _maker(name: str, own: bool) -> Any:
    for module in (f"_{name}", "_sha2") if own else ():  # until Python 3.11, and since then
        try:
            return getattr(__import__(module), name)
        except (ImportError, AttributeError):  # as in a Python that is built without
            continue
    import hashlib

    return getattr(hashlib, name)
