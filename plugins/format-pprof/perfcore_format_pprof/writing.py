"""A profile as the message Profile of pprof."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from perfcore_pprof_kit import schema, wire
from perfcore_sample_kit import Samples
from perfcore_sample_kit.samples import PROCESS, THREAD

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.profile.stacks import NOWHERE
from perfcore.profile.table import Column
from perfcore.text import encodable, printable

_IN_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_Key = tuple[int, str, str]  # stack, process, thread


def message(profile: Profile, samples: Samples) -> bytes:
    """Each stack of a thread is one sample with the sums of all metrics: pprof keeps no order in time."""
    return b"".join(_Writer(profile, samples).parts())


class _Writer:
    def __init__(self, profile: Profile, samples: Samples) -> None:
        self._profile, self._samples = profile, samples
        self._strings: dict[str, int] = {"": 0}
        self._functions: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._locations: dict[int, tuple[int, bytes]] = {}

    def parts(self) -> Iterator[bytes]:
        scales = [_scale(column, self._profile) for column in self._samples.metrics]
        for column, (_, unit) in zip(self._samples.metrics, scales, strict=True):
            kind = wire.number(schema.TYPE, self._text(column.name)) + wire.number(schema.UNIT, self._text(unit))
            yield wire.message(schema.SAMPLE_TYPE, kind)
        factors = [factor for factor, _ in scales]
        for key, values in self._sums(factors).items():
            yield wire.message(schema.SAMPLE, self._sample(key, values))
        for _, location in self._locations.values():
            yield wire.message(schema.LOCATION, location)
        for _, function in self._functions.values():
            yield wire.message(schema.FUNCTION, function)
        comment = self._text(self._profile.label)
        for text in self._strings:
            yield wire.message(schema.STRING_TABLE, text.encode())
        yield wire.number(schema.TIME_NANOS, self._profile.created)
        yield wire.packed(schema.COMMENT, [comment]) if comment else b""
        yield wire.number(schema.DEFAULT_SAMPLE_TYPE, self._text(self._samples.metrics[0].name))

    def _sums(self, factors: Sequence[float]) -> dict[_Key, list[int]]:
        samples = self._samples
        sums: dict[_Key, list[float]] = {}
        for row, key in enumerate(zip(samples.rows, samples.process, samples.thread, strict=True)):
            amounts = sums.setdefault(key, [0] * len(factors))
            for at, (column, factor) in enumerate(zip(samples.metrics, factors, strict=True)):
                amounts[at] += (column[row] or 0) * factor  # type: ignore[operator]  # a number: see Samples.metrics
        return {key: [_whole(amount, samples.metrics[at]) for at, amount in enumerate(sums[key])] for key in sums}

    def _sample(self, key: _Key, values: Sequence[int]) -> bytes:
        stack, process, thread = key
        labels = [(PROCESS, process), (THREAD, thread)]
        return (
            wire.packed(schema.LOCATION_ID, self._path(stack))
            + wire.packed(schema.VALUE, values)
            + b"".join(wire.message(schema.LABEL, self._label(*label)) for label in labels if label[1])
        )

    def _label(self, key: str, text: str) -> bytes:
        return wire.number(schema.KEY, self._text(key)) + wire.number(schema.STR, self._text(text))

    def _path(self, stack: int) -> Iterator[int]:
        """The locations of a stack, innermost first."""
        stacks = self._samples.stacks
        while stack != NOWHERE:
            frame = stacks.frame[stack]
            if frame not in self._locations:
                location_id = len(self._locations) + 1
                self._locations[frame] = location_id, self._location(location_id, stack)
            yield self._locations[frame][0]
            stack = stacks.parent[stack]

    def _location(self, number: int, stack: int) -> bytes:
        frame = self._samples.frame(stack)
        key = frame.name, frame.file
        if key not in self._functions:
            function = len(self._functions) + 1
            content = (
                wire.number(schema.ID, function)
                + wire.number(schema.FUNCTION_NAME, self._text(frame.name))
                + wire.number(schema.SYSTEM_NAME, self._text(frame.name))
                + wire.number(schema.FILENAME, self._text(frame.file))
                + wire.number(schema.START_LINE, max(0, frame.first_line or 0))
            )
            self._functions[key] = function, content
        line = wire.number(schema.FUNCTION_ID, self._functions[key][0])
        line += wire.number(schema.LINE_NUMBER, max(0, frame.line or 0))
        return wire.number(schema.ID, number) + wire.message(schema.LINE, line)

    def _text(self, text: str) -> int:
        return self._strings.setdefault(encodable(text), len(self._strings))


def _scale(column: Column, profile: Profile) -> tuple[float, str]:
    """A factor and pprof's name of the unit: times that are not whole numbers are written in nanoseconds."""
    unit = column.unit or profile.header.units.get(column.name, "")
    if column.dtype == "f64" and unit in _IN_NANOSECONDS:
        return _IN_NANOSECONDS[unit], schema.UNITS["ns"]
    return 1, schema.UNITS.get(unit, unit)


def _whole(amount: float, column: Column) -> int:
    """An int64, which is the only type of values that pprof has."""
    if not math.isfinite(amount) or not -(2**63) <= round(amount) < 2**63:
        raise FormatError(f"{printable(column.name)} has an amount of {amount}, and pprof holds 64 bits")
    return round(amount)
