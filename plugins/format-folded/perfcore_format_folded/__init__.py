"""The format `folded`: one line for each call stack, as flame graph tools read and write it."""

from perfcore_format_folded.driver import FoldedFormat

__all__ = ["FoldedFormat"]
