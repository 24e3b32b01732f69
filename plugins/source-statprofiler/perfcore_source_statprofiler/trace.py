"""Reads one trace: each distinct stack is parsed once, and recognised by the bytes that it is written as.

A sample whose bytes behind the weight were seen before is the same stack. The end of a sample is looked for as bytes
(`02 00`), which may also stand inside of it; such a beginning is remembered as one (`_GOES_ON`).

Of the bytes only their hash is kept, 64 bits under a key that Python draws for each process: the bytes of the stacks of
a fleet take more memory than everything else. Of a million stacks, two have one hash with a chance of 3 in 10^8.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import attrs
from perfcore_fleet_kit.stack_tree import StackSet

from perfcore.errors import FormatError
from perfcore_source_statprofiler import fields
from perfcore_source_statprofiler.fields import IncompleteError, TraceHeader
from perfcore_source_statprofiler.packets import Packets
from perfcore_source_statprofiler.sections import Counts, Sections

_END = b"\x02\x00"
_GOES_ON = -2  # in `StackCache.by_hash`: the sample does not end here
FIRST_LOCAL = -3  # stacks of this file alone, with dynamic code, count down from here
_MAX_SAMPLE = 4 << 20  # bytes
_MAX_STACKS = 200_000  # that are recognised, some 20 MB; then all are forgotten
_MAX_EVENTS = 20_000  # the same for labels, beginnings and ends of sections
_MAX_FRAMES = 100_000  # of frames that are recognised by their bytes
_MAX_CODES = 32 << 20  # characters of all texts of one file
_DYNAMIC = re.compile(r"\(eval ([0-9]{1,9})\)")
_NO_LINE = -1
_CODE = 8
_EMPTY = bytes((1, 2, 0, 0, 0, 2, 0))
"""A sample of weight 0. The writer puts it behind the end of a file that ends with a section."""
_TEXTS = {198: 1, 199: 1, 200: 2}  # of the beginning and the end of a section, and of a label

# (name, file, line, first line); the number of its text in place of a file of dynamic code
_Frame = tuple[str, str | int, int | None, int | None]


class StackCache:
    """Stacks that were parsed, by the hash of their bytes; shared by the files of one tree."""

    def __init__(self, slow_ops: frozenset[str]) -> None:
        self.stacks = StackSet()
        self.slow_ops = slow_ops
        self.by_hash: dict[int, int] = {}
        self.events: dict[bytes, tuple[str, ...]] = {}
        self.event_slack = dict.fromkeys(_TEXTS, 0)
        self._frames: dict[bytes, tuple[_Frame, int]] = {}
        self._slack = dict.fromkeys((3, 4, 5, 6), 0)

    def parse(self, data: bytes, at: int, trace: Trace) -> tuple[int, int]:
        """(stack, position behind the sample) of a sample from its operation on."""
        op, position = fields.name(data, at)
        frames: list[_Frame] = []
        numbers: list[int] = []
        codes: list[tuple[int, str]] = []
        start = at
        cached_frame, slack, length = self._frames.get, self._slack, len(data)
        while True:
            if position + 1 >= length:
                raise IncompleteError
            tag, size = data[position], data[position + 1]
            if tag == 2:
                _, end = fields.varint(data, position + 1)
                break
            if tag == _CODE:  # a text is written when a frame is the first that needs it
                code, frame_end = _parse_code(data, position)
                codes.append(code)
                start += frame_end - position
                position = frame_end
                continue
            if tag not in slack:
                raise FormatError(f"a sample holds a record {tag}")
            # Sizes leave out some bytes, the same number for each kind of frame: with it, most frames are recognised.
            frame_end = position + 2 + size + slack[tag]
            cached = cached_frame(data[position:frame_end]) if size < 128 else None
            if cached is None:
                cached, frame_end = self._frame(data, position, tag)
            frames.append(cached[0])
            numbers.append(cached[1])
            position = frame_end
            if position - start > _MAX_SAMPLE:
                raise FormatError(f"a sample has more than {_MAX_SAMPLE:,} bytes")
        if frames and op in self.slow_ops:
            slow = _op_frame(op, frames[0])
            frames.insert(0, slow)
            numbers.insert(0, self._number(slow))
        if self.stacks.is_full:
            raise FormatError("the trace has too many different stacks")
        is_local = _NO_LINE in numbers
        if is_local:
            stack = trace.add_local(frames)
        else:
            stack = self.stacks.stack(reversed(numbers))
        for number, text in codes:
            trace.add_code(number, text)
        if not codes:  # else who recognised the sample would not take its texts
            self._remember(data, at, end, stack, trace if is_local else None)
        return stack, end

    def put(self, frames: list[_Frame]) -> int:
        """The stack of frames without dynamic code, innermost first."""
        return self.stacks.stack(map(self._number, reversed(frames)))

    def _remember(self, data: bytes, at: int, end: int, stack: int, local: Trace | None) -> None:
        if len(self.by_hash) > _MAX_STACKS:
            self.by_hash.clear()
        start = at
        while (candidate := data.find(_END, start)) != end - 2:
            if candidate < 0 or candidate > end - 2:
                return  # an end of another size than 0: it is parsed each time
            self.by_hash[hash(data[at:candidate])] = _GOES_ON
            start = candidate + 1
        key = hash(data[at : end - 2])
        self.by_hash[key] = stack
        if local is not None:
            local.keys.append(key)

    def _frame(self, data: bytes, at: int, tag: int) -> tuple[tuple[_Frame, int], int]:
        """((frame, its number), position behind)"""
        size, start = fields.varint(data, at + 1)
        frame, end = _parse_frame(data, start, tag)
        self._slack[tag] = max(0, end - start - size)
        if len(self._frames) >= _MAX_FRAMES:
            self._frames.clear()
        parsed = self._frames[data[at:end]] = (frame, self._number(frame))
        return parsed, end

    def _number(self, frame: _Frame) -> int:
        name, file, line, first = frame
        return _NO_LINE if isinstance(file, int) else self.stacks.numbers.frame(name, file, line, first)


@attrs.define
class Trace:
    """What one file says. `problem` is why it is not whole, if it is damaged; a file that ends early without damage
    is still being written."""

    path: Path
    cache: StackCache
    header: TraceHeader = attrs.field(factory=TraceHeader)
    sections: Sections = attrs.field(factory=Sections)
    codes: dict[int, str] = attrs.field(factory=dict)
    code_size: int = 0
    whole: bool = False
    problem: str = ""
    digest: str = ""
    length: int = 0
    keys: list[int] = attrs.field(factory=list)
    local: list[list[_Frame]] = attrs.field(factory=list)

    def add_local(self, frames: list[_Frame]) -> int:
        """The number of a stack with dynamic code, whose texts are not known before the file ends."""
        self.local.append(frames)
        return FIRST_LOCAL - (len(self.local) - 1)

    def add_code(self, number: int, text: str) -> None:
        """Take the text of dynamic code, as long as they are not too much for the memory."""
        self.code_size += len(text) + 100
        if self.code_size < _MAX_CODES:
            self.codes[number] = text

    def read(self) -> None:
        """Read the file. FormatError where not even the header is there."""
        digest = hashlib.sha1(usedforsecurity=False)
        with self.path.open("rb") as file:
            packets = Packets(file, digest)
            packets.head()
            try:
                self._read(packets)
            finally:
                for key in self.keys:
                    self.cache.by_hash.pop(key, None)
                self.keys.clear()
        self.digest, self.length = digest.hexdigest(), packets.length
        self.problem = self.problem or packets.problem
        if self.problem:
            self.whole = False

    def _read(self, packets: Packets) -> None:
        data, has_header = b"", False
        for chunk in packets.chunks():
            data += chunk
            at = 0
            if not has_header:
                try:
                    self.header, at = fields.header(data)
                except IncompleteError:
                    if len(data) > fields.MAX_HEADER:
                        raise FormatError("the header does not end") from None
                    continue
                has_header = True
            if self.whole:
                if not _EMPTY.startswith(data):
                    break
                continue
            try:
                data = data[self._records(data, at) :]
            except FormatError as error:
                self.problem = f"a record is damaged: {error.message}"
                return
        if not has_header:
            raise FormatError(packets.problem or "the trace ends inside of its header")
        if data and data != _EMPTY * self.whole and not self.problem:
            self.problem = "there is more behind the end of the file" if self.whole else "the last record is cut short"

    def _records(self, data: bytes, at: int) -> int:
        """Take whole records; gives the position of the first that is not."""
        size, find = len(data), data.find
        stack_of = self.cache.by_hash.get
        counts: Counts | None = None
        start = at
        try:
            while at < size:
                start = at
                if data[at] != 1:
                    at = self._event(data, at)
                    if self.whole:
                        return at
                    counts = None
                    continue
                at += 1
                while data[at] > 127:
                    at += 1
                weight = data[at + 1]
                at += 2
                if weight > 127:
                    weight, at = fields.varint(data, at - 1)
                end = find(_END, at)
                stack = None if end < 0 else stack_of(hash(data[at:end]))
                while stack == _GOES_ON:
                    end = find(_END, end + 1)
                    stack = None if end < 0 else stack_of(hash(data[at:end]))
                if stack is None:
                    stack, at = self.cache.parse(data, at, self)
                else:
                    at = end + 2
                if counts is None:
                    counts = self.sections.counts()
                counts[stack] += weight
            start = at
        except (IncompleteError, IndexError):
            pass
        if size - start > fields.MAX_TEXT + _MAX_SAMPLE:
            raise FormatError(f"a record has more than {fields.MAX_TEXT + _MAX_SAMPLE:,} bytes")
        return start

    def _event(self, data: bytes, at: int) -> int:
        """Take a record that is no sample; gives the position behind."""
        tag = data[at]
        texts = _TEXTS.get(tag)
        if texts is None:
            return self._other(data, at, tag)
        # As of frames, sizes leave out some bytes, which depends on the writer.
        end = at + 2 + data[at + 1] + self.cache.event_slack[tag]
        event = self.cache.events.get(data[at:end])
        if event is None:
            event, end = self._parse_event(data, at, texts)
        if tag == 198:
            self.sections.begin(*event)
        elif tag == 199:
            self.sections.end(*event)
        else:
            self.sections.label(*event)
        return end

    def _parse_event(self, data: bytes, start: int, texts: int) -> tuple[tuple[str, ...], int]:
        """(texts, position behind)"""
        size, first = fields.varint(data, start + 1)
        at, values = first, []
        for _ in range(texts):
            value, at = fields.name(data, at)
            values.append(value)
        self.cache.event_slack[data[start]] = max(0, at - first - size)
        events = self.cache.events
        if at - start < 128:
            if len(events) >= _MAX_EVENTS:
                events.clear()
            events[data[start:at]] = tuple(values)
        return tuple(values), at

    def _other(self, data: bytes, at: int, tag: int) -> int:
        if tag == _CODE:
            code, at = _parse_code(data, at)
            self.add_code(*code)
            return at
        _, at = fields.varint(data, at + 1)
        if tag in (196, 197):
            self.whole = True
        else:
            raise FormatError(f"the record {tag} is unknown")
        return at


def _parse_code(data: bytes, at: int) -> tuple[tuple[int, str], int]:
    """((number, text), position behind) of dynamic code."""
    _, at = fields.varint(data, at + 1)
    text, at = fields.text(data, at)
    number, at = fields.varint(data, at)
    return (number, text), at


def _parse_frame(data: bytes, at: int, tag: int) -> tuple[_Frame, int]:
    if tag == 6:
        file, at = fields.name(data, at)
        line, at = fields.varint(data, at)
        return ("main", file, fields.signed(line), None), at
    if tag == 4:
        file, at = fields.name(data, at)
        line, at = fields.varint(data, at)
        return ("eval", _code(file), fields.signed(line), None), at
    package, at = fields.name(data, at)
    sub, at = fields.name(data, at)
    if tag == 5:
        return _native(package, sub), at
    file, at = fields.name(data, at)
    code_number, at = fields.varint(data, at)
    first, at = fields.varint(data, at)
    line, first = fields.signed(code_number), fields.signed(first)
    if line == _NO_LINE:
        return _native(package, sub), at
    return (f"{package}::{sub}", _code(file), line, first if first > 0 else None), at


def _native(package: str, sub: str) -> _Frame:
    return f"{package}::{sub}", f"xs:{package.replace('::', '/')}.pm", None, None


def _op_frame(op: str, innermost: _Frame) -> _Frame:
    return f"CORE::{op}", innermost[1], None, None


def _code(file: str) -> str | int:
    match = _DYNAMIC.fullmatch(file) if file.startswith("(") else None
    return int(match[1]) if match else file
