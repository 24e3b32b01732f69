"""A profile of perfcore from the message Profile of pprof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import attrs
from perfcore_sample_kit import SampleRecorder

from perfcore.errors import FormatError
from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import NOWHERE, Frame
from perfcore.text import encodable
from perfcore_format_pprof import schema, wire

_OURS = {theirs: ours for ours, theirs in schema.UNITS.items()}
_LAST_NANOSECOND = 2**63 - 1
# Names of labels by which Go, Node and others say whose sample it is.
_THREADS = ("thread", "thread name", "thread_name", "thread id", "thread_id", "tid")
_PROCESSES = ("process", "process name", "process_name", "process_id", "pid")

M = TypeVar("M")


@attrs.frozen
class _Function:
    name: int = 0
    system_name: int = 0
    file: int = 0
    first_line: int = 0


@attrs.frozen
class _Location:
    """`lines` are pairs of a function and a line, the innermost of inlined functions first."""

    mapping: int = 0
    address: int = 0
    lines: tuple[tuple[int, int], ...] = ()


@attrs.frozen
class _Message:
    """The parts of the message that are read, before names and references are followed."""

    metrics: Sequence[tuple[int, int]]
    samples: Sequence[bytes]
    mappings: Mapping[int, int]
    locations: Mapping[int, _Location]
    functions: Mapping[int, _Function]
    strings: Sequence[str]
    created: int
    default: int


def profile(data: bytes, *, name: str, created: int) -> Profile:
    """FormatError where the bytes are no such message, or refer to what it does not have."""
    return _Reader(_message(data)).profile(name, created)


def _message(data: bytes) -> _Message:
    every: dict[int, list[wire.Field]] = {}
    for field in wire.fields(data):
        every.setdefault(field[0], []).append(field)

    def numbered(kind: int, read: Callable[[bytes], tuple[int, M]]) -> dict[int, M]:
        return dict(read(field[3]) for field in every.get(kind, ()))

    def last(kind: int) -> int:
        return wire.signed(every[kind][-1][2]) if kind in every else 0

    return _Message(
        metrics=[_numbers(field[3], schema.TYPE, schema.UNIT) for field in every.get(schema.SAMPLE_TYPE, ())],
        samples=[field[3] for field in every.get(schema.SAMPLE, ())],
        mappings=numbered(schema.MAPPING, lambda part: _numbers(part, schema.ID, schema.MAPPING_FILENAME)),
        locations=numbered(schema.LOCATION, _location),
        functions=numbered(schema.FUNCTION, _function),
        strings=[field[3].decode("utf-8", "backslashreplace") for field in every.get(schema.STRING_TABLE, ())],
        created=last(schema.TIME_NANOS),
        default=last(schema.DEFAULT_SAMPLE_TYPE),
    )


def _numbers(part: bytes, first: int, second: int) -> tuple[int, int]:
    """Two numbers of a message."""
    values = {number: value for number, _, value, _ in wire.fields(part)}
    return values.get(first, 0), values.get(second, 0)


def _location(part: bytes) -> tuple[int, _Location]:
    values, lines = {}, []
    for number, _, value, data in wire.fields(part):
        if number == schema.LINE:
            lines.append(_numbers(data, schema.FUNCTION_ID, schema.LINE_NUMBER))
        else:
            values[number] = value
    mapping, address = values.get(schema.LOCATION_MAPPING, 0), values.get(schema.ADDRESS, 0)
    return values.get(schema.ID, 0), _Location(mapping, address, tuple(lines))


def _function(part: bytes) -> tuple[int, _Function]:
    values = {number: value for number, _, value, _ in wire.fields(part)}
    keys = (schema.FUNCTION_NAME, schema.SYSTEM_NAME, schema.FILENAME, schema.START_LINE)
    return values.get(schema.ID, 0), _Function(*(values.get(key, 0) for key in keys))


class _Reader:
    """Follows the references of a message."""

    def __init__(self, message: _Message) -> None:
        self._message = message
        self._frames: dict[int, list[Frame]] = {}

    def profile(self, name: str, created: int) -> Profile:
        message = self._message
        metrics = [(self._text(kind) or "samples", self._unit(unit)) for kind, unit in message.metrics]
        if not metrics or len(set(metrics)) < len(metrics):
            raise FormatError("it names no metrics, or one twice", hint="is it a profile of pprof?")
        recorder = SampleRecorder([ColumnSpec(each, "i64", unit, "value") for each, unit in self._ordered(metrics)])
        order = [metrics.index(each) for each in self._ordered(metrics)]
        stacks: dict[tuple[int, ...], int] = {}
        for part in message.samples:
            locations, values, labels = self._sample(part)
            if len(values) != len(metrics):
                raise FormatError(f"a sample has {len(values)} values, not {len(metrics)}")
            if locations not in stacks:
                frames = self._stack(locations)
                stacks[locations] = recorder.stacks.add(frames) if locations else NOWHERE
            amounts = [values[at] for at in order]
            thread, process = _first(labels, _THREADS), _first(labels, _PROCESSES)
            recorder.add(stacks[locations], amounts, thread=thread, process=process)
        stored = message.created if 0 < message.created <= _LAST_NANOSECOND else created
        return recorder.profile(Tool(name="pprof"), created=stored, name=name)

    def _ordered(self, metrics: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """The default metric first, as pprof shows it."""
        default = self._text(self._message.default) if self._message.default else ""
        return sorted(metrics, key=lambda metric: metric[0] != default)

    def _unit(self, text: int) -> str:
        unit = self._text(text)
        return _OURS.get(unit, unit)

    def _sample(self, part: bytes) -> tuple[tuple[int, ...], list[int], dict[str, str]]:
        locations: list[int] = []
        values: list[int] = []
        labels: dict[str, str] = {}
        for field in wire.fields(part):
            if field[0] == schema.LOCATION_ID:
                locations += wire.numbers(field)
            elif field[0] == schema.VALUE:
                values += map(wire.signed, wire.numbers(field))
            elif field[0] == schema.LABEL:
                key, text = self._label(field[3])
                labels.setdefault(key, text)
        return tuple(locations), values, labels

    def _label(self, part: bytes) -> tuple[str, str]:
        values = {number: value for number, _, value, _ in wire.fields(part)}
        text = self._text(values[schema.STR]) if values.get(schema.STR) else str(wire.signed(values.get(schema.NUM, 0)))
        return self._text(values.get(schema.KEY, 0)), text

    def _stack(self, locations: Sequence[int]) -> Iterator[Frame]:
        """The frames, outermost first; the format has the innermost first."""
        for location in reversed(locations):
            if location not in self._frames:
                self._frames[location] = list(self._location_frames(location))
            yield from self._frames[location]

    def _location_frames(self, number: int) -> Iterator[Frame]:
        location = self._message.locations.get(number)
        if location is None:
            raise FormatError(f"there is no location {number}")
        for function_number, line in reversed(location.lines):
            function = self._message.functions.get(function_number)
            if function is None:
                raise FormatError(f"there is no function {function_number}")
            name = self._text(function.name) or self._text(function.system_name)
            first = _line(function.first_line)
            yield Frame(name, self._text(function.file), _line(line) or first, first)
        if not location.lines:
            # Not symbolized: the address in the file that is mapped there.
            file = self._message.mappings.get(location.mapping, 0)
            yield Frame(f"{location.address:#x}", self._text(file))

    def _text(self, number: int) -> str:
        if not 0 <= number < len(self._message.strings):
            if number == 0:
                return ""
            raise FormatError(f"there is no text {number}: there are {len(self._message.strings)}")
        return encodable(self._message.strings[number])


def _first(labels: Mapping[str, str], keys: Sequence[str]) -> str:
    return next((labels[key] for key in keys if key in labels), "")


def _line(line: int) -> int | None:
    return line if 0 < line < 2**31 else None
