"""Compares two samples of runs of one configuration: same, slower, faster, or inconclusive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from perfcore.model.record import Record
from perfcore.settings import OptionInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.model import Change, Pairing


class PairSettings(Record, frozen=True, kw_only=True):
    """The limits that a change has to exceed to count."""

    # With 0.02 and 12 interleaved pairs, none of 60 unchanged programs of 5 ms was called slower, and all of 60 that
    # were 5 % slower (table in README.md, benchmarks/measure.py).
    threshold: Annotated[
        float, OptionInfo("Smallest relative change that matters (0.02 is 2 %), if none is configured.", minimum=0)
    ] = 0.02
    # Context switches and other metrics vary by some percent by themselves; ten of them stand beside every comparison.
    other_threshold: Annotated[
        float, OptionInfo("The same for wall time and every other metric beside the primary one.", minimum=0)
    ] = 0.05
    # Rank tests call 15 to 43 % of unchanged blocks of runs different (README.md): a machine drifts by up to 10 %.
    drift: Annotated[
        float,
        OptionInfo("How much the machine may drift between runs that were not interleaved (0.1 is 10 %).", minimum=0),
    ] = 0.1
    # Without a history, 0.2 has at most 5 % false verdicts where offsets of sessions have a standard deviation of 5 %,
    # and 10 % at 8 % (benchmarks/across_sessions.py). With 0.1 these were 12 and 29 %.
    session_drift: Annotated[
        float,
        OptionInfo(
            "How much two sessions may differ in times, and in all but sizes and counts, where the history does not "
            "tell (0.2 is 20 %; 0: they do not differ).",
            minimum=0,
        ),
    ] = 0.2
    # From one of 24 sessions on a busy machine to the next, the peak memory of 10 of 11 unchanged programs differed by
    # 1.1 % at most, the page faults of 13 of 14 by 3.8 % (benchmarks/steady_quantities.py).
    size_drift: Annotated[
        float,
        OptionInfo(
            "The same for sizes, such as peak memory, and for counts that the speed of the machine does not move, such "
            "as instructions; never more than session_drift.",
            minimum=0,
        ),
    ] = 0.05
    # The usual level. The exact signed-rank test falls below it from 6 pairs on: its least p-value is 2 / 2^6 = 0.031.
    alpha: Annotated[float, OptionInfo("A change needs a p-value below this.", minimum=1e-6, maximum=0.5)] = 0.05
    # The usual alternative level for metrics that no build depends on; it needs 8 pairs instead of 6.
    other_alpha: Annotated[
        float, OptionInfo("The same for every metric beside the primary one.", minimum=1e-6, maximum=0.5)
    ] = 0.01
    # The 5 % of `alpha`. Intervals of 6 pairs held the truth in 88 to 92 % of samples, of 8 or more in 91 to 99 %
    # (README.md).
    confidence: Annotated[float, OptionInfo("Level of the interval of the ratio.", minimum=0.5, maximum=0.9999)] = 0.95
    # Counts of instructions and sizes of files repeat exactly; times in nanoseconds hardly ever do so three times.
    constant_runs: Annotated[
        int, OptionInfo("Runs of each side after which a value that never varied counts as exact.", minimum=1)
    ] = 3
    # Of 4,000 samples 100 lie beyond each bound of an interval of 95 %.
    resamples: Annotated[int, OptionInfo("Samples the bootstrap draws.", minimum=200, maximum=1_000_000)] = 4000
    across_environments: Annotated[
        bool, OptionInfo("Decide also between profiles that were measured in different environments.")
    ] = False


class PairCheck:
    """The check `pair`: CPU time decides, wall time and whatever else was measured stand beside it."""

    Settings = PairSettings

    def __init__(self, settings: PairSettings) -> None:
        self.settings = settings

    def compare(self, pairing: Pairing) -> Sequence[Change]:
        from perfcore_check_pair.comparison import compare

        return compare(pairing, self.settings)
