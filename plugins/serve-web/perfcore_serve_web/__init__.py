"""`perf serve`: a local web interface to a performance history."""
