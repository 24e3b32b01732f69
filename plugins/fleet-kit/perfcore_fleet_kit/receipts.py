"""Receipts: what is stored of a segment, besides its profile. `docs/fleet.md` describes them."""

from __future__ import annotations

import struct
import zlib
from typing import Annotated, TypeVar

import msgspec
from perfcore_storage_kit import sets

from perfcore.errors import FormatError
from perfcore.hookspecs import Part, Section
from perfcore_fleet_kit.briefs import MAX_PAYLOAD, WHOLE, Brief, Briefs
from perfcore_fleet_kit.glue import Piece

FORMAT = 1
_LENGTH = struct.Struct("<I")  # in front of the beginnings of a pack's receipts
_BOUND = 1 << 62  # of every number: so columns and ranks hold them


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One segment of a stream. `shard` is the host that ingested it. `samples` are those of each part, `time` is in ns.
    `codes` are ids of texts by number, `tables` those of the tables of the profile; `profile` is empty once the samples
    have expired."""

    format: int = FORMAT
    stream: str
    number: int
    source: str
    shard: str
    profile: str
    digest: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40}$")]
    length: int
    begin: int
    end: int
    clock: str = "file"
    whole: bool = True
    period: int = 0
    labels: dict[str, str] = {}
    parts: list[Part] = []
    samples: list[int] = []
    ended: list[Section] = []
    opened: list[Section] = []
    loose: tuple[tuple[str, str], ...] = ()
    parent: tuple[str, int] | None = None
    codes: dict[int, str] = {}
    tables: list[str] = []
    problem: str = ""

    def __post_init__(self) -> None:
        if self.length < 0 or max(map(abs, (self.number, self.end, self.total, self.period, self.length))) >= _BOUND:
            raise ValueError("a number is beyond the bounds of the format")

    @property
    def host(self) -> str:
        return self.labels.get("host", "")

    @property
    def ids(self) -> list[str]:
        """The objects that it refers to."""
        return [*filter(None, (self.profile,)), *self.tables, *self.codes.values()]

    @property
    def total(self) -> int:
        return sum(self.samples)

    def piece(self) -> Piece:
        return Piece(self.number, self.parts, self.ended, self.opened, self.loose)

    def rank(self) -> int:
        return self.length + (WHOLE if self.whole else 0)

    def brief(self) -> Brief:
        """What lists and ingestion need of it."""
        return Brief(
            stream=self.stream,
            number=self.number,
            host=self.host,
            end=self.end,
            total=self.total,
            period=self.period,
            whole=self.whole,
            digest=self.digest,
            length=self.length,
            expired=not self.profile,
        )


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """Receipts of one box in one record, by their names."""

    format: int = FORMAT
    receipts: dict[str, Receipt]


class Tombstone(msgspec.Struct, frozen=True, kw_only=True):
    """Segments that have expired: what later segments of their streams need of them, and what is kept for ever. `top`
    are the functions with most samples (inclusive, exclusive) of each box."""

    format: int = FORMAT
    expired: dict[str, Receipt]
    boxes: list[ExpiredBox]
    time: int = 0


class ExpiredBox(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of a box that has expired."""

    begin: int
    end: int
    segments: int
    hosts: list[str]
    samples: int
    time: int
    top: list[tuple[str, int, int]]


T = TypeVar("T", Receipt, Pack, Tombstone)
V = TypeVar("V")


def encode(value: Receipt | Pack | Tombstone) -> bytes:
    """The record of a receipt, a pack or a tombstone."""
    members = [value] if isinstance(value, Receipt) else _members(value)
    rank = value.rank() if isinstance(value, Receipt) else 0
    ids = dict.fromkeys(id for receipt in members for id in receipt.ids)
    of = value.digest if isinstance(value, Receipt) else "0" * 40
    payload = zlib.compress(msgspec.json.encode(value), 6)
    if isinstance(value, Pack):
        briefs = Briefs.of(receipt.brief() for receipt in members).encode()
        payload = _LENGTH.pack(len(briefs)) + briefs + payload
    return sets.encode(sets.Record(rank, of, tuple(ids), payload))


def decode(record: sets.Record, type: type[T], where: str) -> T:
    """What a record holds. FormatError where it is damaged, or newer."""
    payload = record.payload
    if type is Pack:
        payload = payload[_LENGTH.size + _briefs_length(payload, where) :]
    value = _decoded(payload, type, where)
    if value.format != FORMAT:
        raise FormatError(f"{where} is of format {value.format}", hint="upgrade perfcore")
    return value


def decode_briefs(record: sets.Record, where: str) -> Briefs:
    """The beginnings of the receipts of a pack."""
    payload = record.payload
    try:
        return Briefs.decode(payload[_LENGTH.size : _LENGTH.size + _briefs_length(payload, where)], where)
    except FormatError:
        # Of a perfcore that writes them otherwise: the receipts say the same, and take longer.
        return Briefs.of(receipt.brief() for receipt in decode(record, Pack, where).receipts.values())


def _briefs_length(payload: bytes, where: str) -> int:
    if len(payload) < _LENGTH.size:
        raise FormatError(f"{where} is damaged: it is cut short")
    return int(_LENGTH.unpack_from(payload)[0])


def _decoded(payload: bytes, type: type[V], where: str) -> V:
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(payload, MAX_PAYLOAD)
        if not inflater.eof or inflater.unconsumed_tail:
            raise FormatError(f"{where} is damaged: it is cut short or too large")
        return msgspec.json.decode(data, type=type)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(f"{where} is damaged: {error}") from error


def _members(value: Pack | Tombstone) -> list[Receipt]:
    return [*(value.receipts if isinstance(value, Pack) else value.expired).values()]


def husk(receipt: Receipt) -> Receipt:
    """A receipt without samples: enough for the sections and the dynamic code of other segments."""
    return msgspec.structs.replace(receipt, profile="", parts=[], samples=[], tables=[])
