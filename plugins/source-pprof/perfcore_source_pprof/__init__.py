"""Reads profiles of pprof as segments of streams."""

from perfcore_source_pprof.driver import PprofSource

__all__ = ["PprofSource"]
