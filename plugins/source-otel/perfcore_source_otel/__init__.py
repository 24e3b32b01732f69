"""Reads profiles of OpenTelemetry as segments of streams."""

from perfcore_source_otel.driver import OtelSource

__all__ = ["OtelSource"]
