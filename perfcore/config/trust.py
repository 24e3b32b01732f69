"""Which contents of versioned files the user has trusted: their hashes, one a line, in a file of the user's own."""

from __future__ import annotations

import os
from pathlib import Path

import attrs

from perfcore.config.layers import Layer
from perfcore.errors import StorageError, UntrustedError


@attrs.frozen
class Trust:
    """The list at `path`, outside every repository: a clone cannot bring its own."""

    path: Path

    def holds(self, digest: str) -> bool:
        try:
            return digest in self.path.read_text().split()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror}") from error

    def add(self, digest: str) -> None:
        """Trust a content for good. Appending is atomic, so two commands may do it at once."""
        if self.holds(digest):
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, f"{digest}\n".encode())
            finally:
                os.close(handle)
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror}") from error

    def covers(self, layer: Layer) -> bool:
        """Whether nothing in the layer runs, or its content was trusted, or it is the user's own."""
        return layer.name not in ("project", "local") or not layer.running or self.holds(layer.digest)

    def require(self, layer: Layer | None) -> None:
        """UntrustedError unless the layer is covered."""
        if layer is not None and not self.covers(layer):
            raise UntrustedError(
                f"{layer.path} says what is run ({', '.join(layer.running)}) and you have not trusted it yet",
                hint="read it, then say `perf config trust`",
            )
