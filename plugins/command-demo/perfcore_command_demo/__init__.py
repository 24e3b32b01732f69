"""The tour of `perf demo`: a small real repository, measured and checked."""
