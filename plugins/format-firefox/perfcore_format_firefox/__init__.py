"""The format `firefox`: Profiles of the Firefox Profiler, read and written by perfcore."""

from perfcore_format_firefox.driver import FirefoxFormat

__all__ = ["FirefoxFormat"]
