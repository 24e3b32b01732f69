"""The options of a bisection, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import attrs

from perfcore.errors import UsageError
from perfcore.measure import affinity
from perfcore.text import printable


@attrs.frozen(kw_only=True)
class BisectOptions:
    """The versions to search between, the command to measure, and how sure to be.

    `good` is a version before the change and `bad` one with it; `auto` takes both from the history. Without either, the
    bisection under way goes on. `command` is a list of words (None: the command that was measured for these versions).
    `collector` is that of the earlier profiles by default, or `time`. None for `confidence`, `threshold` and `max_runs`
    means those of the bisection under way, or the defaults. `budget` is in seconds, `cpu` a list of CPUs. `again`
    measures versions although their program and inputs are identical, `register` registers the profiles, `reset`
    discards the bisection under way.
    """

    good: str = ""
    bad: str = ""
    auto: bool = False
    command: tuple[str, ...] | None = None
    shell: bool = False
    cwd: Path | None = None
    env: Mapping[str, str] = {}
    build: bool = True
    rebuild: bool = False
    collector: str | None = None
    metric: str = ""
    function: str = ""
    better: str = ""
    confidence: float | None = None
    threshold: float | None = None
    max_runs: int | None = None
    budget: float | None = None
    cpu: str | None = None
    again: bool = False
    register: bool = False
    reset: bool = False

    def __attrs_post_init__(self) -> None:
        if self.better not in ("", "lower", "higher"):
            raise UsageError(f"--better is lower or higher, not {printable(self.better)}")
        if self.confidence is not None and not 0.5 <= self.confidence < 1:
            raise UsageError("--confidence is a probability from 0.5 to less than 1, such as 0.95")
        if self.threshold is not None and not (math.isfinite(self.threshold) and self.threshold >= 0):
            raise UsageError(
                f"the threshold is {self.threshold:g}",
                hint="a threshold is a share such as 0.02 for 2 %, and 0 or more",
            )
        if self.max_runs is not None and self.max_runs < 8:  # four runs of each end are the least
            raise UsageError("--max-runs is at least 8: each end is run four times")
        if self.cpu is not None:
            affinity.cpus(self.cpu)
        if self.auto and (self.good or self.bad):
            raise UsageError("--auto takes the ends from the history", hint="leave GOOD and BAD away")
        if bool(self.good) != bool(self.bad):
            raise UsageError("two versions are wanted, GOOD and BAD, and 1 is named")

    @property
    def is_new(self) -> bool:
        """Whether the options name a range of versions, so that they are more than "go on"."""
        return self.auto or bool(self.good)
