"""Collects samples and makes a profile of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from perfcore.errors import FormatError
from perfcore.model import Header, Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import NOWHERE, StackBuilder
from perfcore.profile.table import Column, column, table
from perfcore.text import encodable
from perfcore_sample_kit.samples import PROCESS, THREAD, TIME, Number

_LAST_NANOSECOND = 2**63 - 1


class SampleRecorder:
    """Samples, in any order of threads and in the order of time within each. `stacks` numbers their stacks."""

    def __init__(self, metrics: Sequence[ColumnSpec]) -> None:
        """The types of the metrics are those of their amounts, whatever the specifications say."""
        self.stacks = StackBuilder()
        self._metrics = tuple(metrics)
        self._rows: list[int] = []
        self._keys: list[tuple[str, str]] = []
        self._time: list[int] = []
        self._has_time = True
        self._amounts: list[list[Number]] = [[] for _ in metrics]

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self, stack: int, amounts: Sequence[Number], *, time: float | None = None, thread: str = "", process: str = ""
    ) -> None:
        """One sample in a stack, -1 where that is not known, at a time in nanoseconds. If it follows another one in the
        same stack of the same thread, the two become one row. FormatError for amounts beyond what numbers can store."""
        key = (process, thread)
        if time is None:
            self._has_time = False
        if self._rows and self._rows[-1] == stack and self._keys[-1] == key:
            for values, amount in zip(self._amounts, amounts, strict=True):
                values[-1] = _storable(values[-1] + _storable(amount))
            return
        self._rows.append(stack)
        self._keys.append(key)
        self._time.append(_nanoseconds(time))
        for values, amount in zip(self._amounts, amounts, strict=True):
            values.append(_storable(amount))

    def profile(self, tool: Tool, *, created: int, name: str) -> Profile:
        """The profile of what was collected; FormatError where that is nothing."""
        if not self._rows:
            raise FormatError("the file holds no samples")
        columns = [column("stack", [None if row == NOWHERE else row for row in self._rows], dtype="i64")]
        if self._has_time:
            columns.append(column(TIME, self._time, dtype="i64", unit="ns", role="order"))
        for at, title in enumerate((PROCESS, THREAD)):
            names = [encodable(key[at]) for key in self._keys]
            if any(names):
                columns.append(column(title, names, dtype="str"))
        columns += [_amounts(spec, values) for spec, values in zip(self._metrics, self._amounts, strict=True)]
        return Profile(
            header=Header(type="sample", cmd=encodable(name)),
            created=created,
            collector=tool,
            tables={"resources": table("resources", columns), **self.stacks.tables()},
        )


def _storable(amount: Number) -> Number:
    # Compared exactly: an integer beyond the largest float cannot be added to a float.
    if not abs(amount) <= sys.float_info.max:
        raise FormatError("an amount is larger than numbers are stored")
    return amount


def _nanoseconds(time: float | None) -> int:
    if time is None or not math.isfinite(time):
        return 0
    return max(-_LAST_NANOSECOND, min(round(time), _LAST_NANOSECOND))


def _amounts(spec: ColumnSpec, values: Sequence[Number]) -> Column:
    if any(isinstance(value, float) for value in values):
        values = [float(value) for value in values]
    return column(spec.name, values, unit=spec.unit, role="value", better=spec.better)
