"""Reads files of sampled stacks: folded stacks, py-spy, Austin, and `perf script`."""

from perfcore_source_stacks.driver import PerfScriptSource, StacksSource

__all__ = ["PerfScriptSource", "StacksSource"]
