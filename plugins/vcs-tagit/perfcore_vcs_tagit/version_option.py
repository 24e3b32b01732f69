"""`tagit --version`."""

from __future__ import annotations


def print_version() -> None:
    """Print what this is."""
    from importlib.metadata import version

    print(f"tagit {version('perfcore-vcs-tagit')}")
