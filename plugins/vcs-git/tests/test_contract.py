"""git keeps the laws of the kind `vcs`."""

from perfcore_vcs_git.contract import GitContract


class TestContract(GitContract):
    """Every law of the kind vcs."""
