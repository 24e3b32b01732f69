"""Text files of given numbers of lines or bytes, the same for the same spec: workloads of a job matrix."""
