"""Trust in configuration files that a command changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.config import layers
from perfcore.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path

    from perfcore.config.trust import Trust


def keep_trusted(trust: Trust, path: Path, before: bytes, after: bytes) -> bool:
    """Whether a file is trusted as it is now: also if it was before, which is noted. StorageError where that cannot be
    noted; then the file is as it was, or what ran before would run no more."""
    if trust.covers(layers.parse_layer("project", after, path)):
        return True
    if not trust.covers(layers.parse_layer("project", before, path)):
        return False
    try:
        trust.add(layers.digest(after, path))
    except StorageError:
        if layers.read_bytes(path) == after:
            layers.write_atomically(path, before)
        raise
    return True
