"""For authors of plugins: contract tests to inherit from, fakes, and fixtures. Needs pytest."""
