"""What a project promises about its speed, and whether a version keeps it."""
