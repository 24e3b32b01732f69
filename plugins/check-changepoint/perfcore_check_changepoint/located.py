"""Measured versions and changes with their positions in a series of several environments."""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING

import attrs

from perfcore_check_changepoint.points import ChangePoint
from perfcore_check_changepoint.runs import Indexes, Runs

if TYPE_CHECKING:
    from perfcore.model import Series


@attrs.frozen(eq=False)
class MeasuredVersions:
    """The versions that were measured in one environment, by their indexes in the series, and their runs. `base` is the
    version that was measured before the first of them in any environment, None where there is none."""

    environment: str
    positions: Indexes
    runs: Runs
    base: int | None


@attrs.frozen(eq=False)
class LocatedChange:
    """A change among the versions of one environment: `positions` are the indexes of these versions in the series."""

    environment: str
    positions: Indexes
    change: ChangePoint

    @property
    def position(self) -> int:
        return int(self.positions[self.change.index])

    @property
    def base(self) -> int:
        return int(self.positions[self.change.index - 1])

    @property
    def span(self) -> tuple[int, int]:
        """The versions that may have brought the change: the first and the last."""
        return int(self.positions[self.change.earliest - 1]) + 1, int(self.positions[self.change.latest])

    @property
    def length(self) -> int | None:
        """The number of versions that a drift takes."""
        return None if self.change.until is None else self.change.until - self.change.index + 1

    @property
    def direction(self) -> str:
        return f"{self.change.kind} {'up' if self.change.size > 0 else 'down'}"


@attrs.frozen(eq=False)
class MachineStep:
    """A step of the machine of one environment, and how many series moved with it, of so many that were measured on
    both sides."""

    located: LocatedChange
    series: int
    measured: int


def ratios(change: ChangePoint) -> tuple[float | None, float | None, float | None]:
    """The value after a change over that before, with its interval; None for values of zero or less."""
    if change.before <= 0 or change.after <= 0:
        return None, None, None
    numbers = [change.after / change.before, *(1 + size / change.before for size in (change.low, change.high))]
    if not all(map(math.isfinite, numbers)):
        return None, None, None
    ratio, low, high = numbers
    return ratio, min(max(low, 0.0), ratio), max(high, ratio)


def identity(series: Series, environment: str, kind: str, version: str) -> str:
    """The same for the same change, whatever is measured later."""
    subject = [series.config_id, series.metric, series.resource, environment, kind, version]
    return hashlib.sha256(json.dumps(subject).encode()).hexdigest()[:20]
