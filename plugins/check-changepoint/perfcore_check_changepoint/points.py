"""The results of a detector: frozen, without NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LARGEST = 709.0  # logarithm of nearly the largest float

Shift = Literal["level", "drift", "noise"]


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A version in which the level of a series, or its noise, became another.

    `index` is the first point of the new regime, counted from 0; the change itself lies somewhere in `earliest` to
    `latest`, where `index` is the likeliest. For a change of the level, `before` and `after` are the levels on both
    sides, and `low` to `high` is the interval of their difference; for one of the noise they are its spreads.
    `gain` is the log likelihood (in nats) that the change explains, `p_value` the chance of such a gain anywhere in
    a series in which nothing changes. `undone` is the index at which the level before came back.

    A drift is a change of the level in many small steps: `index` is the first point that has some of it, and `until`
    the last that it grows with.
    """

    index: int
    kind: Shift = "level"
    earliest: int
    latest: int
    before: float
    after: float
    low: float
    high: float
    gain: float
    p_value: float
    undone: int | None = None
    until: int | None = None

    @property
    def size(self) -> float:
        return self.after - self.before

    def may_be_with(self, other: ChangePoint) -> bool:
        """Whether both may have come with one version."""
        return self.earliest <= other.latest and self.latest >= other.earliest

    def renumbered(self, number: Callable[[int], int]) -> ChangePoint:
        """The same change where `number(i)` is what was point i."""
        return replace(
            self,
            index=number(self.index),
            earliest=number(self.earliest),
            latest=number(self.latest),
            undone=None if self.undone is None else number(self.undone),
            until=None if self.until is None else number(self.until),
        )

    def of_logarithms(self) -> ChangePoint:
        """The change of the amounts whose logarithms have this one."""
        before, after = (_exp(level) for level in (self.before, self.after))
        low, high = (_exp(self.before + bound) - before for bound in (self.low, self.high))
        return replace(self, before=before, after=after, low=low, high=high)

    def in_logarithms(self) -> ChangePoint:
        """The change of the logarithms of amounts, which are positive, that have this one."""
        levels = (self.before, self.after, self.before + self.low, self.before + self.high)
        before, after, low, high = (math.log(max(level, _TINY)) for level in levels)
        return replace(self, before=before, after=after, low=low - before, high=high - before)

    def row(self) -> list[object]:
        """What is stored of it: all but `undone`, which all changes of a history tell together."""
        return [getattr(self, name) for name in _STORED]

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> ChangePoint:
        """The change of a row. ValueError or TypeError where it has other fields."""
        return cls(**dict(zip(_STORED, row, strict=True)))


_TINY = 1e-300  # so that no logarithm is infinite
_STORED = tuple(name for name in ChangePoint.__struct_fields__ if name != "undone")


def _exp(logarithm: float) -> float:
    return math.exp(min(logarithm, _LARGEST))


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What many series show at once. `changes` are versions from which on another machine is measured, or in which it
    drifts: their `before` and `after` are factors on the amounts that are typical there. `disturbed` are single
    versions that were measured on a machine that was slower or faster than in the others, and `factor` is how much,
    version by version, NaN where that cannot be told. `moved` are the series that moved with each change, of `measured`
    that were measured on both sides of it."""

    changes: tuple[ChangePoint, ...] = ()
    disturbed: tuple[int, ...] = ()
    factor: tuple[float, ...] = ()
    moved: tuple[tuple[int, ...], ...] = ()
    measured: tuple[int, ...] = ()


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """The change points of many series, in their order, and those of the machine."""

    changes: tuple[tuple[ChangePoint, ...], ...]
    machine: Machine
