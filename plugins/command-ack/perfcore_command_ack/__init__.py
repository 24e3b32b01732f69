"""`perf check ack`: changes that somebody accepts for good."""
