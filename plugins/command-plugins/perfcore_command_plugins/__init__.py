"""`perf plugins`: what is installed, and whether it works."""
