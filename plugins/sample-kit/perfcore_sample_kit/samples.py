"""Samples of a profile as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from perfcore.errors import NotFoundError
from perfcore.model import Profile
from perfcore.model.record import Record
from perfcore.profile.stacks import NOWHERE, Frame, Stacks, has_stacks, references
from perfcore.profile.table import Column, Table
from perfcore.text import encodable

TIME, THREAD, PROCESS, POSITION = "time", "thread", "process", "position"
UNKNOWN = "[unknown]"
"""The name of a function that has none."""
_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

Number: TypeAlias = int | float


class Track(Record, frozen=True):
    """The samples of one thread: positions in the columns of `Samples`, in the order of time."""

    process: str
    thread: str
    rows: Sequence[int]


class Samples(Record, frozen=True):
    """Column by column, one item for each sample. `rows[i]` is a stack or -1, `time[i]` nanoseconds; `time` is None
    where the profile has none, and `position` where it does not tell the order by numbers either."""

    stacks: Stacks
    rows: Sequence[int]
    metrics: tuple[Column, ...]
    time: Sequence[Number] | None
    thread: Sequence[str]
    process: Sequence[str]
    position: Sequence[int] | None = None

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the samples of a thread is known."""
        return self.time is not None or self.position is not None

    @classmethod
    def of(cls, profile: Profile) -> Samples:
        """NotFoundError where the profile has no stacks or no numbers, FormatError where they cannot be followed."""
        resources = profile.table("resources")
        if resources is None or "stack" not in resources.names or not has_stacks(profile.tables):
            raise NotFoundError("the profile has no call stacks", hint="`perf show PROFILE table` shows what it has")
        metrics = tuple(column for column in resources.values() if column.dtype in ("i64", "u64", "f64"))
        if not metrics:
            raise NotFoundError("the profile has no column of amounts")
        return cls(
            stacks=Stacks.of(profile.tables),
            rows=references(resources, "stack", profile.tables),
            metrics=metrics,
            time=times(resources),
            thread=_names(resources, THREAD),
            process=_names(resources, PROCESS),
            position=positions(resources),
        )

    def frame(self, stack: int) -> Frame:
        """The innermost frame of a stack, in texts that can be encoded."""
        row = self.stacks.frame[stack]
        function = NOWHERE if row == NOWHERE else self.stacks.function[row]
        if function == NOWHERE:
            return Frame(UNKNOWN)
        name, file = encodable(self.stacks.names[function]), encodable(self.stacks.files[function])
        return Frame(name or UNKNOWN, file, self.stacks.line(stack), self.stacks.first_lines[function])

    def tracks(self) -> list[Track]:
        """The threads in the order of their first samples; one without a name where there are none."""
        rows: dict[tuple[str, str], list[int]] = {}
        for row, key in enumerate(zip(self.process, self.thread, strict=True)):
            rows.setdefault(key, []).append(row)
        keys: Sequence[Number] | None = self.time if self.time is not None else self.position
        if keys is not None:
            for order in rows.values():
                order.sort(key=keys.__getitem__)
        return [Track(*key, order) for key, order in rows.items()]


def times(resources: Table) -> list[Number] | None:
    """Nanoseconds of each row; None where any has none, because there is no order then."""
    column = resources.get(TIME)
    if column is None or column.role != "order" or column.unit not in _NANOSECONDS:
        return None
    factor = _NANOSECONDS[column.unit]
    if any(not isinstance(value, int | float) or value != value for value in column):
        return None
    return [value * factor for value in column]  # type: ignore[operator,misc]


def positions(resources: Table) -> list[int] | None:
    """The number of each row in the order of time; None where any has none."""
    column = resources.get(POSITION)
    if column is None or column.role != "order" or column.dtype != "i64" or column.valid is not None:
        return None
    return list(column)  # type: ignore[arg-type]


def _names(resources: Table, name: str) -> list[str]:
    column = resources.get(name)
    if column is None or column.role != "dimension":
        return [""] * resources.rows
    return ["" if value is None else str(value) for value in column]
