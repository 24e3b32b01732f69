from perfcore_format_v8.contract import CpuContract, HeapContract


class TestCpuProfile(CpuContract):
    """Every law of the kind format."""


class TestHeapProfile(HeapContract):
    """Every law of the kind format."""
