"""Environments of versions: made by venv, uv, conda or a command, and shared by what they are made of."""

__version__ = "0.1.0"
