"""The metrics of a long history as columns, in one row of the read model: a row for each profile takes several times as
long to read. Versions that are measured later are read by themselves, until they are enough for a new row."""

from __future__ import annotations

import contextlib
import functools
import itertools
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from perfcore_check_kit import run_values
from perfcore_check_kit.run_values import MetricValues, Sessions

if TYPE_CHECKING:
    from perfcore.store.read_model import ReadModel

_FEWEST = 128  # versions that are worth a row: fewer are looked at by themselves, as those beside a version are
_NEW = 32  # versions that are worth another one
_FORMAT = 1
_SPACE = "value columns"
_ABSENT = -1  # amounts of a version that does not have the metric

Profiles = tuple[str, ...]
Better = Literal["lower", "higher"]


class Column(msgspec.Struct, frozen=True, array_like=True):
    """One metric: how many amounts each version has, and all of them (int64, float64). `sessions` is the number of the
    column of sessions, which many metrics share."""

    key: str
    unit: str
    better: Better
    counts: bytes
    data: bytes
    sessions: int

    def values(self, versions: int) -> list[tuple[float, ...]]:
        """The amounts of the first versions."""
        counts, amounts = array("q", self.counts)[:versions], array("d", self.data).tolist()
        if counts and counts.count(count := counts[0]) == len(counts) and count > 0:  # as nearly always
            return list(zip(*[iter(amounts[: count * versions])] * count, strict=True))
        bounds = itertools.accumulate((max(0, count) for count in counts), initial=0)
        return [tuple(amounts[start:end]) for start, end in itertools.pairwise(bounds)]

    def is_in(self, versions: int) -> bool:
        """Whether any of the first versions has the metric."""
        return any(count != _ABSENT for count in array("q", self.counts)[:versions])

    def fits(self, row: _Row) -> bool:
        counts = array("q", self.counts)
        amounts = sum(counts) + counts.count(_ABSENT)
        return len(counts) == len(row.versions) and amounts * 8 == len(self.data) and self.sessions < len(row.sessions)


class _Row(msgspec.Struct, frozen=True, array_like=True):
    """The metrics of versions, which are told by their profiles, in the order in which they first appear."""

    format: int = _FORMAT
    versions: tuple[Profiles, ...] = ()
    sessions: tuple[tuple[Sessions, ...], ...] = ()
    metrics: tuple[Column, ...] = ()

    @property
    def is_whole(self) -> bool:
        lengths = {len(self.versions), *map(len, self.sessions)}
        return self.format == _FORMAT and len(lengths) == 1 and all(column.fits(self) for column in self.metrics)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Row)


class KeptColumns:
    """What is kept of a configuration: its row with the metrics of the first `known` versions of a history, by key."""

    def __init__(self, row: _Row, versions: Sequence[Profiles], model: ReadModel | None, group: str) -> None:
        self._row = row
        self._versions = versions
        self._model = model
        self.group = group
        shared = min(len(row.versions), len(versions))
        self.known = next((at for at in range(shared) if row.versions[at] != versions[at]), shared)
        self.columns: Mapping[str, Column] = {c.key: c for c in row.metrics if c.is_in(self.known)}

    @classmethod
    def none(cls) -> KeptColumns:
        return cls(_Row(), (), None, "")

    @classmethod
    def of(cls, model: ReadModel, config_id: str, versions: Sequence[Profiles]) -> KeptColumns:
        """Of a history with these profiles; nothing of a short one."""
        if len(versions) < _FEWEST:
            return cls.none()
        group = run_values.group("columns", config_id)
        with contextlib.suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            row = _DECODER.decode(model.get(_SPACE, "", group) or b"")
            if row.is_whole:
                return cls(row, versions, model, group)
        return cls(_Row(), versions, model, group)

    def sessions(self, column: Column) -> tuple[Sessions, ...]:
        return self._row.sessions[column.sessions][: self.known]

    def renew(self, metrics: Mapping[str, Amounts]) -> None:
        """Keep the metrics of all versions where many are new. A row of a longer history stays, and so does one of a
        metric that has several units."""
        is_due = len(self._versions) >= max(self.known + _NEW, len(self._row.versions))
        if self._model is None or not is_due or not all(amounts.are_alike for amounts in metrics.values()):
            return
        sessions: dict[tuple[Sessions, ...], int] = {}
        columns = [amounts.column(key, sessions) for key, amounts in metrics.items()]
        row = _Row(versions=tuple(self._versions), sessions=tuple(sessions), metrics=tuple(columns))
        with contextlib.suppress(UnicodeEncodeError):  # a name that is no Unicode has no row
            self._model.put(_SPACE, {"": _ENCODER.encode(row)}, self.group)


class Amounts:
    """A metric over the versions of a history: in a column as far as it goes, then by version, None where one does not
    have it. They are in the unit of the newest; what is in another one is left out."""

    def __init__(self, kept: KeptColumns, column: Column | None, rest: Sequence[MetricValues | None]) -> None:
        last: MetricValues | Column | None = next((values for values in reversed(rest) if values is not None), column)
        assert last is not None, "some version has it"
        self.unit, self.better = last.unit, last.better
        self._kept, self._column = kept, column
        self._rest = rest

    @functools.cached_property
    def values(self) -> tuple[tuple[float, ...], ...]:
        known, column = self._kept.known, self._column
        first = column.values(known) if column is not None and column.unit == self.unit else [()] * known
        return (*first, *[() if values is None or values.unit != self.unit else values.values for values in self._rest])

    @functools.cached_property
    def sessions(self) -> tuple[Sessions, ...]:
        known, column = self._kept.known, self._column
        first: tuple[Sessions, ...] = ((),) * known
        if column is not None and column.unit == self.unit:
            first = self._kept.sessions(column)
        rest = [() if values is None or values.unit != self.unit else values.sessions for values in self._rest]
        return (*first, *rest) if rest else first  # the same object as of other metrics, where it is

    @property
    def are_alike(self) -> bool:
        """Whether all of them are in one unit."""
        parts = (self._column, *self._rest)
        return {(part.unit, part.better) for part in parts if part is not None} == {(self.unit, self.better)}

    def column(self, key: str, sessions: dict[tuple[Sessions, ...], int]) -> Column:
        """All of them as a column; `sessions` numbers the columns of sessions."""
        known = self._kept.known
        counts = array("q", [_ABSENT] * known if self._column is None else self._column.counts)[:known]
        counts.extend(_ABSENT if values is None else len(values.values) for values in self._rest)
        return Column(
            key,
            self.unit,
            self.better,
            counts.tobytes(),
            array("d", itertools.chain.from_iterable(self.values)).tobytes(),
            sessions.setdefault(self.sessions, len(sessions)),
        )
