"""A request to compare two programs: what runs, where, what decides, and how long it may take."""

from __future__ import annotations

import attrs

from perfcore.model import Job
from perfcore.text import printable


@attrs.frozen(kw_only=True)
class Program:
    """One side of a comparison: `job.cwd` is relative to the tree of the version, or to the working tree for None."""

    name: str
    job: Job
    version: str | None = None

    @property
    def title(self) -> str:
        """The prefix of its errors; empty if the name is the command, which errors show in any case."""
        return "" if self.name == self.job.label else printable(self.name)


@attrs.frozen(kw_only=True)
class Budget:
    """The largest number of pairs and of seconds that a comparison may take; of the `whole`, if preparing the programs
    counts."""

    # A program that is 2 % slower is found after 51 pairs on average, with a threshold of 1 % (docs/comparing.md).
    pairs: int = 200
    # 200 pairs of 10 ms take 2 s; pairs of a second would take minutes, longer than people wait at a terminal.
    seconds: float = 60.0
    whole: bool = False


@attrs.frozen(kw_only=True)
class CompareRequest:
    """Two programs, the metric that decides (None: the check chooses), and the smallest relative change that matters
    (None: the configured one).

    `inputs` are patterns of the files that decide what the programs do, relative to their trees. `again` measures
    programs that are identical; `save` saves the runs as pending profiles. `cpu` is a list of the CPUs to run on.
    """

    programs: tuple[Program, Program]
    metric: str | None = None
    threshold: float | None = None
    budget: Budget = Budget()
    inputs: tuple[str, ...] = ()
    build: bool = True
    rebuild: bool = False
    again: bool = False
    save: bool = False
    cpu: str | None = None
