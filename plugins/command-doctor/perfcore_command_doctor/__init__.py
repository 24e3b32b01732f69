"""`perf doctor`: what makes this machine unfit for measuring."""
