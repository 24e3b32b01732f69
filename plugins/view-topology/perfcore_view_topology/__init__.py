"""The view `topology` of perfcore: where on the machine it ran, as one offline page, in the terminal, or as JSON."""

from perfcore_view_topology.view import TopologySettings, TopologyView

__all__ = ["TopologySettings", "TopologyView"]
