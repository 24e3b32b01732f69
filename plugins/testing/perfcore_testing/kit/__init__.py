"""For authors of plugins: a new distribution from templates, and the laws of a kind tried on what is installed."""
