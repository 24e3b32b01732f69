"""Hypothesis strategies for what perfcore stores: columns, tables, profiles, entries. Needs hypothesis."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from perfcore.model import Entry, Header, Profile, Tool, is_tag
from perfcore.profile.table import Column, ColumnBuilder, ColumnSpec, Table
from perfcore_testing.hostile import NAMES

if TYPE_CHECKING:
    from perfcore.profile.table import DType

I64 = st.integers(-(2**63), 2**63 - 1)
U64 = st.integers(0, 2**64 - 1)
# Any bits as well, as hypothesis makes few of the 2^53 NaNs, and formats have to keep theirs.
F64 = st.floats() | U64.map(lambda bits: float(struct.unpack("<d", struct.pack("<Q", bits))[0]))
TEXT = st.sampled_from(NAMES) | st.text(st.characters(codec="utf-8"), max_size=12)
WORDS = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,12}", fullmatch=True)
TAGS = st.sampled_from([name for name in NAMES if is_tag(name)]) | WORDS
IDS = st.binary(min_size=20, max_size=20).map(bytes.hex)
JSON = st.recursive(
    st.none() | st.booleans() | I64 | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
FACTS = st.dictionaries(TEXT, JSON, max_size=3)
_VALUES: dict[DType, st.SearchStrategy[Any]] = {
    "i64": st.integers(-3, 300) | I64,
    "u64": U64,
    "f64": F64,
    "bool": st.booleans(),
    "str": TEXT,
}


@st.composite
def columns(draw: st.DrawFn, name: str = "x", rows: int | None = None) -> Column:
    """A column of any dtype, unit and role, with or without missing values."""
    dtype = draw(st.sampled_from(tuple(_VALUES)))
    spec = ColumnSpec(
        name,
        dtype,
        draw(TEXT),
        draw(st.sampled_from(("value", "dimension", "order", "benchmark"))),
        draw(st.sampled_from(("lower", "higher"))),
    )
    values = _VALUES[dtype]
    if draw(st.booleans()):
        values = values | st.none()
    drawn = draw(st.lists(values, min_size=rows or 0, max_size=20 if rows is None else rows))
    builder = ColumnBuilder(name, spec)
    builder.extend(drawn)
    return builder.build(len(drawn))


@st.composite
def tables(draw: st.DrawFn, name: str = "resources", max_rows: int = 20) -> Table:
    """A table of any columns, also of none, with any number of rows up to `max_rows`."""
    rows = draw(st.integers(0, max_rows))
    names = draw(st.lists(TEXT, max_size=5, unique=True))
    return Table(name, tuple(draw(columns(column_name, rows)) for column_name in names), rows)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """A profile of a type and with tables that nobody has heard of."""
    names = draw(st.lists(st.sampled_from(("resources", "runs", "stacks")) | TEXT, max_size=3, unique=True))
    header = Header(
        type=draw(WORDS),
        argv=tuple(draw(st.lists(TEXT, max_size=3))),
        cmd=draw(TEXT),
        args=draw(TEXT),
        workload=draw(TEXT),
        shell=draw(st.booleans()),
        units=draw(st.dictionaries(TEXT, TEXT, max_size=2)),
        exitcode=draw(st.none() | st.integers(-64, 255)),
        tags=tuple(draw(st.lists(TEXT, max_size=2))),
    )
    return Profile(
        header=header,
        created=draw(I64),
        collector=draw(tools()),
        postprocessors=tuple(draw(st.lists(tools(), max_size=2))),
        machine=draw(FACTS),
        config_id=draw(st.just("") | IDS),
        environment_id=draw(st.just("") | IDS),
        sources=tuple(draw(st.lists(IDS, max_size=2))),
        origin=draw(st.none() | IDS | TEXT),
        dirty=draw(st.booleans()),
        notes=tuple(draw(st.lists(TEXT, max_size=2))),
        tables={name: draw(tables(name)) for name in names},
    )


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    return Tool(name=draw(TEXT), version=draw(TEXT), params=draw(FACTS), sampling=draw(FACTS))


@st.composite
def entries(draw: st.DrawFn, tombstones: bool = True) -> Entry:
    """An entry of an index. Ids and times come from few, so that entries differ in little."""
    texts = st.lists(TEXT, max_size=2).map(tuple)
    return Entry(
        profile=draw(st.sampled_from(("00" * 20, "ab" * 20, "ff" * 20)) | IDS),
        created=draw(st.sampled_from((0, 1, -1)) | I64),
        name=draw(TEXT),
        type=draw(st.just("") | WORDS),
        tables=tuple(draw(st.lists(IDS, max_size=2))),
        cmd=draw(TEXT),
        args=draw(TEXT),
        workload=draw(TEXT),
        collector=draw(TEXT),
        postprocessors=draw(texts),
        tags=tuple(draw(st.lists(TAGS, max_size=2, unique=True))),
        config_id=draw(st.just("") | IDS),
        environment_id=draw(st.just("") | IDS),
        tombstone=draw(st.booleans()) if tombstones else False,
    )
