from perfcore_format_speedscope.contract import SpeedscopeContract


class TestSpeedscope(SpeedscopeContract):
    """Every law of the kind format."""
