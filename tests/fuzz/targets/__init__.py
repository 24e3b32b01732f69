"""One target a decoder: bytes that a stranger may hand over go in, and the laws in `law` hold."""

from . import fleets, harnesses, repositories, stores, texts, tools
from .law import TARGETS

__all__ = ["TARGETS", "fleets", "harnesses", "repositories", "stores", "texts", "tools"]
