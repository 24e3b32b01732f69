"""What executors for other machines share: plans and answers as bytes, a worker behind pipes, trees in bundles."""
