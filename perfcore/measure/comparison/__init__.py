"""Two programs or versions compared until one is known to be slower."""
