"""Finding, checking, calling and observing plugins. Nobody else imports stevedore or pluggy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfcore.plugins.registry import Plugins

__all__ = ["Plugins"]

if not TYPE_CHECKING:  # what is installed can be asked for without loading what calls it

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from perfcore.plugins import registry

        return getattr(registry, name)
