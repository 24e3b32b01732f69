"""Samples the stacks of a Python service all the time, for `perf fleet`. Needs nothing but the standard library.

from perfcore_fleet_sampler import label, section

with section("request", action="cart"):
    label("customers", "new")
    ...
"""

from perfcore_fleet_sampler.sampler import start, stop
from perfcore_fleet_sampler.sections import label, section

__all__ = ["label", "section", "start", "stop"]
