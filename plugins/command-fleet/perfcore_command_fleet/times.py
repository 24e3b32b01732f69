"""Times as people give them: a time back from now, or a date; and lengths of boxes."""

from __future__ import annotations

import datetime

from perfcore.config.settings import parse_seconds
from perfcore.errors import UsageError

NS = 1_000_000_000
DAY = 86_400 * NS


def moment(option: str, text: str | None, now: int) -> int | None:
    """`2h` before now, `2026-11-24`, `2026-11-24T12:00`, in ns since 1970 UTC. Dates without a zone are UTC."""
    if text is None:
        return None
    try:
        return now - int(parse_seconds(text) * NS)
    except ValueError:
        pass
    try:
        date = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{option} wants a time such as 2h, 7d or 2026-11-24, got {text!r}") from error
    return int((date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp() * NS)


def length(option: str, text: str) -> int:
    """The length of a box in ns."""
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
    if seconds < 1:
        raise UsageError(f"{option} wants a second at least")
    return int(seconds * NS)


def shown(time: int) -> str:
    """A time to the minute."""
    return datetime.datetime.fromtimestamp(time / NS, datetime.UTC).strftime("%Y-%m-%d %H:%M")
