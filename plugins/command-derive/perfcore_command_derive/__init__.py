"""`perf postprocess` and `perf aggregate`: profiles of perfcore that are made of others."""
