"""`perf diff`: the difference of two profiles of perfcore, by function where there are stacks."""
