"""What is compared with what, and how the result is told."""
