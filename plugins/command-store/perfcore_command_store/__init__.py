"""`perf rm`, `perf tag`, `perf gc` and `perf fsck`: what is stored, kept in order."""
