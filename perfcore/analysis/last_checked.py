"""When versions were checked last: in the read model, because a check with the same result as before writes no note."""

from __future__ import annotations

from perfcore.repository.repository import Repository
from perfcore.text import encodable

_SPACE = "checked"


def remember(repository: Repository, version: str, time: int) -> None:
    """A version was checked (ns since 1970 UTC)."""
    repository.store.read_model.put(_SPACE, {encodable(version): str(time).encode()})


def checked(repository: Repository, version: str) -> int:
    """When a version was checked last (ns since 1970 UTC); 0 if that is unknown."""
    time = repository.store.read_model.get(_SPACE, encodable(version)) or b"0"
    return int(time) if time.isdigit() else 0
