"""The format `chrome-trace`: Trace events of Chrome, clang, tsc and VizTracer, read by perfcore."""

from perfcore_format_chrome_trace.driver import ChromeTraceFormat

__all__ = ["ChromeTraceFormat"]
