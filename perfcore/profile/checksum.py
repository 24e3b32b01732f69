"""A checksum in a profile's JSON, for files whose name does not vouch for their content: pending profiles.

`"seal":"sha1"` stands near the beginning and says that the last field is `"sha1"`, the SHA-1 of all bytes before it.
So no change of a bit can hide it.
"""

from __future__ import annotations

import hashlib
import re

from perfcore.errors import FormatError

KIND = "sha1"
_END = re.compile(rb',"sha1":"([0-9a-f]{40})"\}\s*\Z')
_LENGTH = len(',"sha1":""}') + 40
_SPACE = 16  # white space that an editor may leave at the end


def append(data: bytes) -> bytes:
    """The JSON of an object that says it is sealed, with its checksum."""
    body = memoryview(data)[:-1]
    return b'%s,"sha1":"%s"}' % (body, _digest(body))


def verify(data: bytes, where: str) -> None:
    """FormatError unless sealed JSON is as it was written."""
    start = max(0, len(data) - _LENGTH - _SPACE)
    match = _END.search(data, start)
    if match is None or _digest(memoryview(data)[: match.start()]) != match[1]:
        raise FormatError(
            f"{where} is damaged: its checksum does not fit",
            hint="if it was changed on purpose, take the fields `seal` and `sha1` out of it",
        )


def _digest(data: memoryview) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest().encode()
