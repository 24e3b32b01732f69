"""The contract of views, for every form."""

from __future__ import annotations

from perfcore_view_topology.contract import TopologyContract


class TestTopology(TopologyContract):
    """As users ask for it."""
