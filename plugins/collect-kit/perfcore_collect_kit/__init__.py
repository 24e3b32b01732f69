"""What collectors share that start programs: from a job to its process, and exit statuses in words."""
