"""The format `pprof`: Profiles of pprof, read and written by perfcore."""

from perfcore_format_pprof.driver import PprofFormat

__all__ = ["PprofFormat"]
