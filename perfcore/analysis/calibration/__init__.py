"""What the checks can see, tried on the history of the project itself."""
