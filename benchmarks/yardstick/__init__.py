"""The yardstick: perfcore against Perun, git and hyperfine. `python -m benchmarks.yardstick --help`."""
