"""An output that remembers, for views and commands."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfcore.config.layers import Config
    from perfcore.errors import PerfError
    from perfcore.library import History
    from perfcore.plugins.registry import Plugins
    from perfcore.repository.repository import Repository
    from perfcore.store.lookup import Ref


class FakeOutput:
    """The `Output` of `perfcore.hookspecs`, in memory. With a path, what is written goes to that file too.

    What cannot be encoded as UTF-8 (lone surrogates) is refused, as it would be by a real output.
    """

    def __init__(self, width: int | None = None, color: bool = False, path: Path | None = None) -> None:
        self.width = width
        self.color = color
        self.path = path
        self.said: list[str] = []
        self._written = bytearray()
        if path is not None:
            path.write_bytes(b"")

    def write(self, text: str) -> None:
        self.write_bytes(text.encode("utf-8"))

    def write_bytes(self, data: bytes) -> None:
        self._written += data
        if self.path is not None:
            with self.path.open("ab") as file:
                file.write(data)

    def say(self, text: str) -> None:
        text.encode("utf-8")
        self.said.append(text)

    @property
    def data(self) -> bytes:
        """Everything that was written."""
        return bytes(self._written)

    @property
    def text(self) -> str:
        """The same as text."""
        return self.data.decode("utf-8")

    @property
    def lines(self) -> list[str]:
        """The text without its newlines."""
        return self.text.split("\n")[:-1] if self.text.endswith("\n") else self.text.split("\n")

    def __repr__(self) -> str:
        messages = "".join(f"\nsaid: {text}" for text in self.said)
        return f"<FakeOutput wrote {len(self.data)} bytes>\n{self.data.decode('utf-8', 'replace')}{messages}"


class FakeContext(FakeOutput):
    """The `CommandContext` of `perfcore.hookspecs` for a directory. Its output stays in memory, its history is real."""

    def __init__(self, directory: Path | None = None, width: int | None = None, color: bool = False) -> None:
        super().__init__(width, color)
        self.directory = Path() if directory is None else directory

    @functools.cached_property
    def history(self) -> History:
        from perfcore.library import open_repository

        return open_repository(self.directory)

    @property
    def repository(self) -> Repository:
        return self.history.repository

    @property
    def plugins(self) -> Plugins:
        return self.history.repository.plugins

    @property
    def config(self) -> Config:
        return self.history.repository.config

    def find(self, name: str) -> list[Ref]:
        return self.repository.find(name)

    def output_to(self, path: Path | None, *, force: bool = False, browse: bool = False) -> None:
        """All output stays in memory, also that for a file."""

    def line(self, text: str = "") -> None:
        self.write(f"{text}\n")

    def json(self, value: Any) -> None:
        self.line(json.dumps(value, indent=2))

    def warn(self, text: str) -> None:
        self.say(f"warning: {text}")

    def paint(self, text: str, color: str) -> str:
        return text

    def confirm(self, question: str) -> bool:
        return False

    def progress(self, done: int, total: int, text: str) -> None: ...

    def clear_progress(self) -> None: ...

    def note(self, text: str) -> None:
        self.say(f"note: {text}")

    def saved(self, name: str) -> None: ...

    def failed(self, subject: str, error: PerfError) -> None:
        self.say(f"perf: {subject}: {error}")
