from perfcore_format_folded.contract import FoldedContract


class TestFolded(FoldedContract):
    """Every law of the kind format."""
