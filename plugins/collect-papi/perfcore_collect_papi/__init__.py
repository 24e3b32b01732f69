"""The collector `papi`: hardware counters of a command or of a region of Python code.

Names are imported when they are used: the process that counts a command imports this package too, and should
have little in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfcore_collect_papi.attribution import PapiMetrics
    from perfcore_collect_papi.binding import EventSet, library
    from perfcore_collect_papi.collector import PapiCollector, PapiSettings
    from perfcore_collect_papi.failure import PapiFailure
    from perfcore_collect_papi.metrics import CpuPerf, Metrics, PerfEntry, Reading
    from perfcore_collect_papi.regions import Region, region
    from perfcore_collect_papi.software import SoftwareSet

_PLACES = {
    "CpuPerf": "metrics",
    "EventSet": "binding",
    "Metrics": "metrics",
    "PapiCollector": "collector",
    "PapiFailure": "failure",
    "PapiMetrics": "attribution",
    "PapiSettings": "collector",
    "PerfEntry": "metrics",
    "Reading": "metrics",
    "Region": "regions",
    "SoftwareSet": "software",
    "library": "binding",
    "region": "regions",
}
__all__ = [
    "CpuPerf",
    "EventSet",
    "Metrics",
    "PapiCollector",
    "PapiFailure",
    "PapiMetrics",
    "PapiSettings",
    "PerfEntry",
    "Reading",
    "Region",
    "SoftwareSet",
    "library",
    "region",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
