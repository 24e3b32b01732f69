"""The collector `papi`: hardware counters of a command or of a region of Python code.

Names are imported when they are used: the process that counts a command imports this package too, and should
have little in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfcore_collect_papi.collector import PapiCollector, PapiSettings
    from perfcore_collect_papi.failure import PapiFailure
    from perfcore_collect_papi.metrics import CpuPerf, Metrics, PerfEntry, Reading

_PLACES = {
    "CpuPerf": "metrics",
    "Metrics": "metrics",
    "PapiCollector": "collector",
    "PapiFailure": "failure",
    "PapiSettings": "collector",
    "PerfEntry": "metrics",
    "Reading": "metrics",
}
__all__ = ["CpuPerf", "Metrics", "PapiCollector", "PapiFailure", "PapiSettings", "PerfEntry", "Reading"]


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
