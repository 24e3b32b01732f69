"""The format `v8`: CPU and heap profiles of V8 (Node.js, Chrome), read by perfcore."""

from perfcore_format_v8.driver import V8Format

__all__ = ["V8Format"]
