"""Comparison: two programs or versions, measured interleaved until one is known to be slower."""
