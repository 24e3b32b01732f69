"""The message Profile of pprof, with its references followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import attrs

from perfcore.errors import FormatError
from perfcore.named_tuple import NamedTuple
from perfcore.profile.stacks import Frame
from perfcore.text import encodable
from perfcore_pprof_kit import schema, wire

OURS = {theirs: ours for ours, theirs in schema.UNITS.items()}
"""Our units by those of pprof."""

M = TypeVar("M")


class Label(NamedTuple):
    """A label of a sample. A number is given as text."""

    key: str
    text: str
    is_number: bool


class Sample(NamedTuple):
    """`locations` are the innermost first, `values` in the order of `Message.metrics`."""

    locations: tuple[int, ...]
    values: list[int]
    labels: list[Label]


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


class Message:
    """A profile. FormatError, here and later, where the bytes are no such message or refer to what it does not have.
    `time` and `duration` are in ns, `period` in the unit of `period_type`; 0 where they are not there."""

    def __init__(self, data: bytes) -> None:
        every: dict[int, list[wire.Field]] = {}
        for field in wire.fields(data):
            every.setdefault(field[0], []).append(field)

        def numbered(kind: int, read: Callable[[bytes], tuple[int, M]]) -> dict[int, M]:
            return dict(read(field[3]) for field in every.get(kind, ()))

        def last(kind: int) -> int:
            return wire.signed(every[kind][-1][2]) if kind in every else 0

        self._strings = [field[3].decode("utf-8", "backslashreplace") for field in every.get(schema.STRING_TABLE, ())]
        self._samples = [field[3] for field in every.get(schema.SAMPLE, ())]
        self._mappings: Mapping[int, int] = numbered(
            schema.MAPPING, lambda part: _numbers(part, schema.ID, schema.MAPPING_FILENAME)
        )
        self._locations = numbered(schema.LOCATION, _location)
        self._functions = numbered(schema.FUNCTION, _function)
        self._frames: dict[int, list[Frame]] = {}
        self.metrics = [self._value_type(field[3]) for field in every.get(schema.SAMPLE_TYPE, ())]
        if not self.metrics or len(set(self.metrics)) < len(self.metrics):
            raise FormatError("it names no metrics, or one twice", hint="is it a profile of pprof?")
        self.period_type = (
            self._value_type(every[schema.PERIOD_TYPE][-1][3]) if schema.PERIOD_TYPE in every else ("", "")
        )
        self.default = self._text(last(schema.DEFAULT_SAMPLE_TYPE))
        self.time, self.duration = last(schema.TIME_NANOS), last(schema.DURATION_NANOS)
        self.period = last(schema.PERIOD)

    def samples(self) -> Iterator[Sample]:
        """The samples, each with a value of each metric."""
        for content in self._samples:
            sample = self._sample(content)
            if len(sample.values) != len(self.metrics):
                raise FormatError(f"a sample has {len(sample.values)} values, not {len(self.metrics)}")
            yield sample

    def stack(self, locations: Sequence[int]) -> Iterator[Frame]:
        """The frames of a sample, outermost first."""
        for location in reversed(locations):
            if location not in self._frames:
                self._frames[location] = list(self._location_frames(location))
            yield from self._frames[location]

    def _value_type(self, part: bytes) -> tuple[str, str]:
        """(name, unit in our words) of a metric."""
        kind, unit = (self._text(key) for key in _numbers(part, schema.TYPE, schema.UNIT))
        return kind or "samples", OURS.get(unit, unit)

    def _sample(self, part: bytes) -> Sample:
        locations: list[int] = []
        values: list[int] = []
        labels: list[Label] = []
        for field in wire.fields(part):
            if field[0] == schema.LOCATION_ID:
                locations += wire.numbers(field)
            elif field[0] == schema.VALUE:
                values += map(wire.signed, wire.numbers(field))
            elif field[0] == schema.LABEL:
                labels.append(self._label(field[3]))
        return Sample(tuple(locations), values, labels)

    def _label(self, part: bytes) -> Label:
        values = {number: value for number, _, value, _ in wire.fields(part)}
        key = self._text(values.get(schema.KEY, 0))
        if values.get(schema.STR):
            return Label(key, self._text(values[schema.STR]), False)
        return Label(key, str(wire.signed(values.get(schema.NUM, 0))), True)

    def _location_frames(self, number: int) -> Iterator[Frame]:
        location = self._locations.get(number)
        if location is None:
            raise FormatError(f"there is no location {number}")
        for function_number, line in reversed(location.lines):
            function = self._functions.get(function_number)
            if function is None:
                raise FormatError(f"there is no function {function_number}")
            name = self._text(function.name) or self._text(function.system_name)
            first = line_of(function.first_line)
            yield Frame(name, self._text(function.file), line_of(line) or first, first)
        if not location.lines:
            # Not symbolized: the address in the file that is mapped there.
            file = self._mappings.get(location.mapping, 0)
            yield Frame(f"{location.address:#x}", self._text(file))

    def _text(self, number: int) -> str:
        return text_of(self._strings, number)


def text_of(strings: Sequence[str], number: int) -> str:
    """A text of a table whose first one is empty. FormatError where there is none."""
    if not 0 <= number < len(strings):
        if number == 0:
            return ""
        raise FormatError(f"there is no text {number}: there are {len(strings)}")
    return encodable(strings[number])


def line_of(line: int) -> int | None:
    """A line; None for what is none."""
    return line if 0 < line < 2**31 else None


def _numbers(part: bytes, first: int, second: int) -> tuple[int, int]:
    """Two numbers of a message."""
    values = {key: value for key, _, value, _ in wire.fields(part)}
    return values.get(first, 0), values.get(second, 0)


def _location(part: bytes) -> tuple[int, _Location]:
    values, lines = {}, []
    for key, _, value, data in wire.fields(part):
        if key == schema.LINE:
            lines.append(_numbers(data, schema.FUNCTION_ID, schema.LINE_NUMBER))
        else:
            values[key] = value
    mapping, address = values.get(schema.LOCATION_MAPPING, 0), values.get(schema.ADDRESS, 0)
    return values.get(schema.ID, 0), _Location(mapping, address, tuple(lines))


def _function(part: bytes) -> tuple[int, _Function]:
    values = {number: value for number, _, value, _ in wire.fields(part)}
    keys = (schema.FUNCTION_NAME, schema.SYSTEM_NAME, schema.FILENAME, schema.START_LINE)
    return values.get(schema.ID, 0), _Function(*(values.get(key, 0) for key in keys))
