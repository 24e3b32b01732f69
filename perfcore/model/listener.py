"""Who hears of work while it goes on. Engines know no console: they report to a listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from perfcore.errors import PerfError


class Listener(Protocol):
    """What an engine reports. Every text is one line and may hold names of strangers: whoever shows it, escapes it."""

    def progress(self, done: int, total: int, text: str) -> None:
        """`done` of `total` steps are over (0 where the total is not known), and `text` is under way; where all of them
        are over, `text` is what was finished."""

    def note(self, text: str) -> None:
        """Something that people should know and that changes no result."""

    def saved(self, name: str) -> None:
        """A profile was saved under this name; it is kept whatever happens next."""

    def failed(self, subject: str, error: PerfError) -> None:
        """A part of the work failed, and the rest goes on."""


class SilentListener:
    """Hears everything and does nothing: the default of the library."""

    def progress(self, done: int, total: int, text: str) -> None: ...

    def note(self, text: str) -> None: ...

    def saved(self, name: str) -> None: ...

    def failed(self, subject: str, error: PerfError) -> None: ...
