"""Reads the trace streams of Devel::StatProfiler."""

from perfcore_source_statprofiler.driver import StatprofilerSource

__all__ = ["StatprofilerSource"]
