"""tagit keeps the laws of the kind `vcs`."""

from perfcore_vcs_tagit.contract import TagitContract


class TestContract(TagitContract):
    """Every law of the kind vcs."""
