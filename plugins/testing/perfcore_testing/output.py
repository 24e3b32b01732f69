"""An output that remembers, for views and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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
        said = "".join(f"\nsaid: {text}" for text in self.said)
        return f"<FakeOutput wrote {len(self.data)} bytes>\n{self.data.decode('utf-8', 'replace')}{said}"
