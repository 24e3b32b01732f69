"""perfcore, a performance version system.

from perfcore import open_repository
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from perfcore.library import History as History
    from perfcore.library import open_repository as open_repository

__version__ = "0.1.0"
_LIBRARY = ("History", "open_repository")


def __getattr__(name: str) -> object:
    """The library, imported when it is asked for: `perf --version` needs nothing of it."""
    if name in _LIBRARY:
        from perfcore import library

        return getattr(library, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*globals(), *_LIBRARY))
