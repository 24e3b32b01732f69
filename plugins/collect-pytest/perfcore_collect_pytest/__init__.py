"""Performance tests inside pytest: a plugin of pytest, and a collector of perfcore.

Every run of pytest where this is installed imports this module, so it imports nothing.
"""
