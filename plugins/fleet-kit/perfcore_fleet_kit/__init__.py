"""Receipts of sampled profiles from many hosts, and their union: what sources and `perf fleet` share."""
