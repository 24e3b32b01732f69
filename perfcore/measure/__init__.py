"""From a job matrix to pending profiles: matrix, schedule, trees, runner, executor."""
