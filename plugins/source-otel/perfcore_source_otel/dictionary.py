"""The tables that the profiles of a message share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfcore_pprof_kit import wire
from perfcore_pprof_kit.message import line_of, text_of

from perfcore.errors import FormatError
from perfcore.profile.stacks import Frame
from perfcore_source_otel import schema

Fields = dict[int, list[wire.Field]]


def grouped(data: bytes) -> Fields:
    """The fields of a message by their numbers."""
    fields: Fields = {}
    for field in wire.fields(data):
        fields.setdefault(field[0], []).append(field)
    return fields


def number(fields: Fields, key: int) -> int:
    """The value of a number; 0 where it is not there."""
    return wire.signed(fields[key][-1][2]) if key in fields else 0


def fixed(fields: Fields, key: int) -> int:
    """The value of a number of 8 bytes."""
    return int.from_bytes(fields[key][-1][3], "little") if key in fields else 0


def message(fields: Fields, key: int) -> bytes:
    """The bytes of a message or a text; empty where it is not there."""
    return fields[key][-1][3] if key in fields else b""


class Dictionary:
    """Follows references to tables. FormatError for one to what is not there. Rows are decoded when they are used."""

    def __init__(self, data: bytes) -> None:
        fields = grouped(data)

        def rows(key: int) -> list[bytes]:
            return [field[3] for field in fields.get(key, ())]

        self._strings = [text.decode("utf-8", "backslashreplace") for text in rows(schema.STRINGS)]
        self._mappings, self._locations = rows(schema.MAPPINGS), rows(schema.LOCATIONS)
        self._functions, self._stacks = rows(schema.FUNCTIONS), rows(schema.STACKS)
        self._attributes = rows(schema.ATTRIBUTES)
        self._frames: dict[int, list[Frame]] = {}
        self._pairs: dict[int, tuple[str, str]] = {}

    def text(self, at: int) -> str:
        return text_of(self._strings, at)

    def stack(self, at: int) -> Iterator[Frame]:
        """The frames, outermost first; the tables have the innermost first."""
        locations: list[int] = []
        for field in grouped(_row(self._stacks, at, "stack")).get(schema.STACK_LOCATIONS, ()):
            locations += wire.numbers(field)
        for location in reversed(locations):
            if location not in self._frames:
                self._frames[location] = list(self._location(location))
            yield from self._frames[location]

    def attribute(self, at: int) -> tuple[str, str]:
        """(name, value) of an attribute; the value is empty where it is none of text, number or truth."""
        if at not in self._pairs:
            fields = grouped(_row(self._attributes, at, "attribute"))
            self._pairs[at] = (self.text(number(fields, schema.KEY)), self._value(message(fields, schema.VALUE)))
        return self._pairs[at]

    def pair(self, data: bytes) -> tuple[str, str]:
        """(name, value) of an attribute of a resource."""
        fields = grouped(data)
        index = number(fields, schema.KEY_TEXT)
        key = self.text(index) if index else message(fields, schema.KEY).decode("utf-8", "backslashreplace")
        return key, self._value(message(fields, schema.VALUE))

    def _value(self, data: bytes) -> str:
        fields = grouped(data)
        if schema.STRING_VALUE in fields:
            return message(fields, schema.STRING_VALUE).decode("utf-8", "backslashreplace")
        if schema.STRING_INDEX in fields:
            return self.text(number(fields, schema.STRING_INDEX))
        if schema.INT_VALUE in fields:
            return str(number(fields, schema.INT_VALUE))
        if schema.BOOL_VALUE in fields:
            return "true" if number(fields, schema.BOOL_VALUE) else "false"
        return ""

    def _location(self, at: int) -> Iterator[Frame]:
        fields = grouped(_row(self._locations, at, "location"))
        for line in reversed(fields.get(schema.LINES, ())):
            yield self._line(grouped(line[3]))
        if schema.LINES not in fields:
            # Not symbolized: the address in the file that is mapped there.
            mapping = number(fields, schema.LOCATION_MAPPING)
            file = grouped(_row(self._mappings, mapping, "mapping")) if mapping else {}
            address = number(fields, schema.ADDRESS) & 0xFFFF_FFFF_FFFF_FFFF
            yield Frame(f"{address:#x}", self.text(number(file, schema.MAPPING_FILENAME)))

    def _line(self, fields: Fields) -> Frame:
        function = grouped(_row(self._functions, number(fields, schema.LINE_FUNCTION), "function"))
        names = (self.text(number(function, key)) for key in (schema.FUNCTION_NAME, schema.SYSTEM_NAME))
        first = line_of(number(function, schema.START_LINE))
        line = line_of(number(fields, schema.LINE_NUMBER)) or first
        return Frame(next(filter(None, names), ""), self.text(number(function, schema.FILENAME)), line, first)


def _row(rows: Sequence[bytes], at: int, what: str) -> bytes:
    if not 0 <= at < len(rows):
        raise FormatError(f"there is no {what} {at}: there are {len(rows)}")
    return rows[at]
