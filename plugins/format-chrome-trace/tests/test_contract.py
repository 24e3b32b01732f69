from perfcore_format_chrome_trace.contract import ChromeTraceContract


class TestChromeTrace(ChromeTraceContract):
    """Every law of the kind format."""
