"""Decisions of people about changes."""

from __future__ import annotations

from perfcore.model.record import Record

CONFIRMED, ACCEPTED, FIXED, FALSE_ALARM, ENVIRONMENT = "confirmed", "accepted", "fixed", "false alarm", "environment"
WITHDRAWN = "new"
SILENT = {ACCEPTED: "accepted", FALSE_ALARM: "a false alarm", ENVIRONMENT: "explained by the environment"}
"""The states by which a change fails no check, in words. A confirmed change is a regression, and a fix has to show."""


class Decision(Record, frozen=True, kw_only=True):
    """Who decided what about a change (`change` is its id), when and why. `accepted` says that it fails no check.
    `what` is the change in words, `place` says between which versions of what it is, so that another method's word for
    it is known; `ratio`, `low` and `high` are its size as it was. `fixed_in` is the version of a fix. A decision ends
    with the day `until_date`, at the version `until_version`, or where the relative change is beyond `limit`."""

    change: str
    why: str
    author: str
    time: int
    what: str = ""
    place: tuple[str, ...] = ()
    accepted: bool = True
    format: int = 1
    state: str = ACCEPTED
    fixed_in: str = ""
    until_date: str = ""
    until_version: str = ""
    limit: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def withdrawn(self) -> bool:
        return self.state == WITHDRAWN or (self.state == ACCEPTED and not self.accepted)


class Standing(Record, frozen=True):
    """A decision as it stands: `reopened` says in words why it holds no longer."""

    decision: Decision
    reopened: str = ""

    @property
    def silences(self) -> bool:
        """Whether the change fails no check."""
        return self.decision.accepted and not self.reopened
