"""The parts that compare: series of a branch, pairs of versions, and the run of checks over both."""
