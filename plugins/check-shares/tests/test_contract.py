"""The contract of checks."""

from __future__ import annotations

from perfcore_check_shares.contract import SharesContract


class TestShares(SharesContract):
    """As users ask for it."""
