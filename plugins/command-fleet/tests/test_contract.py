"""It keeps the contract of its kind."""

from __future__ import annotations

from perfcore_command_fleet.contract import FleetCommandContract


class TestFleet(FleetCommandContract):
    """Every rule of the kind command."""
