"""How fast the machine was beside the runs: what one and the same work took then, as `collect time` writes it.

A thread on the other half of a core, also one of another virtual machine, makes programs slower by up to 60 % for
milliseconds to hours, and no counter of a virtual machine tells. In 10 histories of 14 or 15 sessions of unchanged
programs of 16 to 28 ms on 2 virtual CPUs of such a host, the logarithm of the ratio of the CPU times of two sessions
had the root mean square 0.03, 0.06, 0.08, 0.12 and 0.40 where the slowness of the slower one was below 0.06, from there
to 0.1, to 0.15, to 0.25, and above.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from perfcore.model import Profile
from perfcore.named_tuple import NamedTuple

# Below it, sessions differ as on a calm machine.
SLOW = 0.1  # of a logarithm
BUSY = "the machine was busy"  # why a check cannot tell, in a few words
_MOST = 2**63


class Speed(NamedTuple):
    """The CPU time that the work took in a session, in ns: on the whole, and when the machine was fast."""

    usual: int
    fast: int
    work: str


def of_profiles(profiles: Iterable[Profile]) -> list[Speed]:
    """What the profiles say; nothing of those whose collector tried no work."""
    speeds = []
    for profile in profiles:
        facts = profile.collector.sampling
        usual, fast, work = facts.get("reference"), facts.get("reference_fast"), facts.get("reference_work")
        if type(usual) is type(fast) is int and 0 < fast <= usual < _MOST and isinstance(work, str):
            speeds.append(Speed(usual, fast, work))
    return speeds


def slowness(sessions: Collection[Speed], every: Iterable[Speed]) -> float:
    """The logarithm of how many times as long the work took in these sessions as when the machine was fast in `every`
    session: in the fastest of few, and in the lower quartile of many; 0 where nobody tried."""
    fast: dict[str, list[int]] = {}
    for speed in every:
        fast.setdefault(speed.work, []).append(speed.fast)
    slow = [math.log(speed.usual / sorted(fast[speed.work])[len(fast[speed.work]) // 4]) for speed in sessions]
    return sum(slow) / len(slow) if slow else 0.0
