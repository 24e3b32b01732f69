"""Performance tests inside pytest: a plugin of pytest, and a collector of perfcore.

Every run of pytest where this is installed imports this module, so it imports nothing.

PYTEST_DONT_REWRITE: a worker has this package before pytest begins, which would be a warning, or an error where the
project makes errors of warnings.
"""
