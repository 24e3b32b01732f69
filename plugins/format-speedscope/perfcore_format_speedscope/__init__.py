"""The format `speedscope`: Files of speedscope, read and written by perfcore."""

from perfcore_format_speedscope.driver import SpeedscopeFormat

__all__ = ["SpeedscopeFormat"]
