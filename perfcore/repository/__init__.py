"""One opened repository: its location, creation, entries, registration and imported files, behind a facade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository

__all__ = ["Repository"]

if not TYPE_CHECKING:  # a part of the package does not need all of it

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from perfcore.repository import repository

        return getattr(repository, name)
