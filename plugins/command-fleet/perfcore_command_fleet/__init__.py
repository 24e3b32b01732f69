"""Sampled profiles of a release from many hosts: `perf fleet`."""
