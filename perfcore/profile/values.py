"""The values of a column as a JSON list, written and read in parts: a long column is never as many Python objects."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec

from perfcore.errors import FormatError
from perfcore.profile.table import Column, ColumnBuilder, ColumnSpec, DType, Value
from perfcore.text import encodable

_PART = 16_384
_ENCODER = msgspec.json.Encoder()
_DECODERS: Mapping[DType, msgspec.json.Decoder[list[Any]]] = {
    "i64": msgspec.json.Decoder(list[int | None]),
    "u64": msgspec.json.Decoder(list[int | None]),
    "f64": msgspec.json.Decoder(list[float | str | None]),
    "bool": msgspec.json.Decoder(list[bool | None]),
    "str": msgspec.json.Decoder(list[str | None]),
}
# Where a part ends: after so many texts, or behind the next comma, which stands in texts only.
_TEXTS = re.compile(rb'(?>\s*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"|null)\s*+,?+){1,%d}+' % _PART, re.DOTALL)
_OTHERS = re.compile(rb".{%d}[^,]*+,?+|.++" % (8 * _PART), re.DOTALL)
_DOUBLE = struct.Struct(">d")
_NAN = _DOUBLE.pack(math.nan)


def to_json(column: Column) -> bytes:
    """The list. Numbers that JSON does not have are words, text that is no Unicode has escapes."""
    odd = column.dtype == "f64" and not all(map(math.isfinite, column.data))
    values = iter(column)
    parts = [b"["]
    while chunk := list(islice(values, _PART)):
        if odd:
            chunk = [_word(v) if isinstance(v, float) and not math.isfinite(v) else v for v in chunk]
        parts += (_to_json(chunk)[1:-1], b",")
    return b"".join((*(parts[:-1] or parts), b"]"))


def from_json(data: msgspec.Raw, spec: ColumnSpec, where: str) -> Column:
    """The column. FormatError, opened by `where`, for anything else than values of its dtype."""
    builder = ColumnBuilder(spec.name, spec)
    try:
        for chunk in _parts(data, spec.dtype):
            values = _DECODERS[spec.dtype].decode(chunk)
            if spec.dtype == "f64":
                values = [_number(v, spec.name, where) if type(v) is str else v for v in values]
            builder.extend(values)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FormatError(f"{where}: column {spec.name!r}: {error}") from error
    return builder.build(len(builder))


def _to_json(values: list[Value]) -> bytes:
    try:
        return _ENCODER.encode(values)
    except UnicodeEncodeError:
        return _ENCODER.encode([encodable(v) if isinstance(v, str) else v for v in values])


def _parts(data: msgspec.Raw, dtype: DType) -> Iterator[bytes | msgspec.Raw]:
    """Lists that are one after the other what the list in the data is; the data itself where it is no such list,
    for the decoder to refuse."""
    view = memoryview(data)
    start, end = 1, len(view) - 1
    pattern = _TEXTS if dtype == "str" else _OTHERS
    is_list = end > 0 and bytes(view[:1]) == b"[" and bytes(view[end:]) == b"]"
    while not is_list or start < end:
        match = pattern.match(view, start, end) if is_list else None
        if match is None or (match.end() < end and match[0].rstrip()[-1:] != b","):
            yield data
            return
        start = match.end()
        yield b"[%s]" % (match[0] if start == end else match[0].rstrip()[:-1])


def _word(value: float) -> str:
    """`inf`, `-inf`, `nan`; a NaN of other bits than the usual ones as `nan:fff8000000000000`."""
    packed = _DOUBLE.pack(value)
    return f"nan:{packed.hex()}" if math.isnan(value) and packed != _NAN else str(value)


def _number(word: str, column: str, where: str) -> float:
    if word in ("nan", "inf", "-inf"):
        return float(word)
    if re.fullmatch(r"nan:[0-9a-f]{16}", word):
        (value,) = _DOUBLE.unpack(bytes.fromhex(word[4:]))
        if math.isnan(value):
            return float(value)
    raise FormatError(f"{where}: column {column!r} is f64 and holds {word!r}")
