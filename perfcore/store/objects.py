"""Objects: immutable content under the SHA-1 of `<kind> <type> <length>` NUL content, compressed with zlib."""

from __future__ import annotations

import re
import zlib
from itertools import pairwise

from perfcore.digests import sha1
from perfcore.errors import FormatError
from perfcore.named_tuple import NamedTuple

MAX_BYTES = 1 << 28  # 256 MiB: a damaged length must not fill the memory
_MAX_HEADER = 300  # _HEADER matches at most 247
_LONG = 1 << 16  # bytes: as long as a plane of a full piece of a table
_STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_RLE)
_SAMPLE = 1 << 12  # bytes that tell whether a part repeats what stood before
_MAX_RATIO = 1040  # zlib cannot expand further than 1032 times (https://zlib.net/zlib_tech.html); the rest is slack
_HEADER = re.compile(rb"([a-z][a-z0-9-]{0,30}) ([a-z0-9][a-z0-9.-]{0,200}) (0|[1-9][0-9]{0,11})\0")
_TYPE = re.compile(r"[a-z0-9][a-z0-9.-]{0,200}")
ID = re.compile(r"[0-9a-f]{40}")


class Object(NamedTuple):
    """`kind` is `profile`, `table`, `note`, ...; `type` a word that says more."""

    kind: str
    type: str
    content: bytes


def identify(item: Object) -> str:
    """The id of an object."""
    return sha1(_header(item), item.content).hexdigest()


def encode(item: Object) -> tuple[str, bytes]:
    """(id, stored bytes) of an object."""
    check_type(item.kind, item.type)
    if len(item.content) > MAX_BYTES:
        raise FormatError(f"a {item.kind} of {len(item.content):,} bytes is over the limit of {MAX_BYTES:,}")
    data = _header(item) + item.content
    return sha1(data).hexdigest(), _deflated(data, item.type)


def _deflated(data: bytes, type: str) -> bytes:
    """A zlib stream (RFC 1950)."""
    if len(data) < _LONG:
        return zlib.compress(data, 6)
    # Some planes vary so much that references to what stood before make them longer: choosing for each made 100,000
    # stacks a seventh shorter, and 100,000 amounts of a normal distribution a twentieth.
    bounds = [0, *range(len(data) % _LONG or _LONG, len(data) + 1, _LONG)]  # parts end where planes do
    # What is long is to be written quickly; but stacks are most of a profile, and written once for many versions.
    level = 6 if type == "stacks" else 1
    parts = [_shorter(data[start:end], level, end == len(data)) for start, end in pairwise(bounds)]
    # RFC 1950, section 2.2: deflate with a window of 32 KiB, its flags and check; the blocks; their checksum.
    return b"".join((b"\x78\x5e", *parts, zlib.adler32(data).to_bytes(4, "big")))


def _shorter(part: bytes, level: int, is_last: bool) -> bytes:
    """A part of a stream, with references to what stood before or with runs of one byte alone: what is shorter of a
    sample."""
    sample = part[len(part) // 2 :][:_SAMPLE]
    strategy = min(_STRATEGIES, key=lambda strategy: len(_stream(sample, level, strategy, True)))
    return _stream(part, level, strategy, is_last)


def _stream(part: bytes, level: int, strategy: int, is_last: bool) -> bytes:
    deflater = zlib.compressobj(level, wbits=-zlib.MAX_WBITS, strategy=strategy)
    mode = zlib.Z_FINISH if is_last else zlib.Z_SYNC_FLUSH  # a flush ends at a byte: parts can be joined
    return deflater.compress(part) + deflater.flush(mode)


def check_type(kind: str, type: str, where: str = "") -> None:
    """FormatError where a word cannot be the type of an object."""
    if not _TYPE.fullmatch(type):
        raise FormatError(
            f"{where}{': ' if where else ''}{type!r} is no type of a {kind}: "
            "lower-case letters, digits, dots and hyphens are allowed"
        )


def decode(data: bytes, id: str) -> Object:
    """The object, verified against its id. FormatError names it when a single bit of it is off."""
    # A few bits of a zlib stream carry nothing, such as those that fill up its last byte: no check can see them.
    item = inflate(data, f"object {id}")
    if identify(item) != id:
        raise FormatError(f"object {id} is damaged: its content does not have this id")
    return item


def is_compressed(data: bytes) -> bool:
    """Whether the bytes begin as those of a stored object do."""
    return len(data) > 1 and data[0] == 0x78 and int.from_bytes(data[:2], "big") % 31 == 0


def inflate(data: bytes, name: str) -> Object:
    """The object in these bytes, its id unchecked. Never inflates more than the header announces."""
    inflater = zlib.decompressobj()
    try:
        start = inflater.decompress(data, _MAX_HEADER)  # no more than a header, before its length was checked
        if not (match := _HEADER.match(start)):
            raise FormatError(f"{name} is damaged: it does not begin with a header")
        length = int(match[3])
        if length > MAX_BYTES or length > len(data) * _MAX_RATIO:
            raise FormatError(f"{name} is damaged: it claims to hold {length:,} bytes")
        missing = length + match.end() - len(start)
        content = start[match.end() :]
        if missing >= 0:
            content += inflater.decompress(inflater.unconsumed_tail, missing + 1)  # one more shows that it goes on
    except zlib.error as error:
        raise FormatError(f"{name} is damaged: {error}") from error
    if len(content) != length or not inflater.eof or inflater.unused_data:
        raise FormatError(f"{name} is damaged: it is cut short or holds more than it says")
    return Object(match[1].decode(), match[2].decode(), content)


def _header(item: Object) -> bytes:
    return b"%s %s %d\0" % (item.kind.encode(), item.type.encode(), len(item.content))


def folder_in_place(key: str) -> str:
    """What to say of a key whose place a folder has taken."""
    return f"a folder stands where {key} should be"


def not_stored(key: str) -> str:
    """What to say of a key with bytes that begin as nothing does that is written there."""
    return f"{key} is no object, index or list of notes, and may have been any of them"
