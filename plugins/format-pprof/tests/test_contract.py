from perfcore_format_pprof.contract import PprofContract


class TestPprof(PprofContract):
    """Every law of the kind format."""
