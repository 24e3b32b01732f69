"""It keeps the contract of its kind."""

from __future__ import annotations

from perfcore_source_otel.contract import OtelContract


class TestOtel(OtelContract):
    """Every rule of the kind source."""
