"""The receipts of fleets keep the laws of shared sets."""

from perfcore_fleet_kit.contract import ReceiptSetContract


class TestReceiptSet(ReceiptSetContract):
    """Every law of the kind set."""
