"""The input and the result of a calibration: how small a change the checks of a project detect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from perfcore.model.record import Record

if TYPE_CHECKING:
    from perfcore.model.listener import Listener
    from perfcore.repository.repository import Repository


class CalibrationTask(Record, frozen=True, kw_only=True):
    """The input of `calibrate` of a check: what is tried is the check `method`, or else those that are configured, on
    the history of the branch; with `store` the result is stored."""

    repository: Repository
    method: str | None
    store: bool
    listener: Listener


class CalibrationReport(Protocol):
    """The result of a calibration: a document and a table."""

    def as_json(self) -> dict[str, Any]:
        """As in docs/schemas/calibration.json."""
        ...

    def lines(self) -> Iterator[str]:
        """For people."""
        ...
