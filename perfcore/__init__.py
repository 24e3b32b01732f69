"""perfcore, a performance version system."""

__version__ = "0.1.0"
