"""The job matrix: commands, arguments, workloads and collectors, of which every combination is measured."""
