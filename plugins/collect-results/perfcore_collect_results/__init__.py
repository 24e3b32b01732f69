"""The collector `results`: the benchmarks of another harness, which runs as a command."""

__version__ = "0.1.0"
