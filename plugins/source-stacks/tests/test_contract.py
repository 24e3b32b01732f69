"""They keep the contract of their kind."""

from __future__ import annotations

from perfcore_source_stacks.contract import PerfScriptContract, StacksContract


class TestStacks(StacksContract):
    """Every rule of the kind source."""


class TestPerfScript(PerfScriptContract):
    """Every rule of the kind source."""
