"""Formats of other benchmark harnesses: a module with one driver for each, and `suite`, which they share."""
