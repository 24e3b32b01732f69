"""Which metrics the speed of the machine does not move: sizes, and counts of what a program does.

A session moves times, and with them all that is counted while time passes: cycles, samples, switches, scores. What is
neither a size nor known by its name or declaration may be of these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfcore_check_pair.samples import Metric

_SIZES = frozenset({"B", "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB", "bytes"})
# `PAPI_TOT_INS`, `INST_RETIRED`, `allocs/op`, `minor_faults`, `page-faults`; no faults that read a disk.
_COUNTS = re.compile(r"instructions|inst_retired|_ins$|alloc|(minor|page).faults", re.IGNORECASE)


def is_steady(name: str, metric: Metric) -> bool:
    """Whether the metric is a size, a count of this kind, or declared to be the same in every run."""
    if metric.units <= _SIZES:
        return True
    return metric.exact or (metric.units <= {""} and _COUNTS.search(name) is not None)
