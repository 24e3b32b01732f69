from perfcore_format_firefox.contract import FirefoxContract


class TestFirefox(FirefoxContract):
    """Every law of the kind format."""
