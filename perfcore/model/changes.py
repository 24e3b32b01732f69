"""What checks compare, and what they find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from perfcore.model import EMPTY
from perfcore.model.record import Record

if TYPE_CHECKING:
    from perfcore.model.profiles import Profile

ChangeKind = Literal[
    "degradation", "optimization", "drift", "improving drift", "variance", "machine", "same", "cannot tell"
]


RELATIVE = "relative"
"""The metric that is CPU time as a multiple of that of a fixed loop beside it, which varies less than either."""


class Sample(Record, frozen=True, kw_only=True):
    """The runs of one profile or of several of the same configuration, as a check compares them.

    `version` is the full id, or None for a profile that belongs to no version; `profiles` is never empty.
    """

    version: str | None
    profiles: tuple[Profile, ...]
    dirty: bool = False

    @property
    def label(self) -> str:
        short = self.version[:10] if self.version else "pending"
        return short + ("+dirty" if self.dirty else "")


class Pairing(Record, frozen=True, kw_only=True):
    """Two samples of one configuration. `interleaved` says that their runs were taken in turn, so that run k of
    one and run k of the other are a pair. `thresholds` maps a metric to the smallest relative change that
    matters; the key "" is the default. `comparisons` is how many pairings are compared at once: the more, the
    likelier one of them looks like a change by chance. `share` is the part of its chance of a false alarm that a check
    may spend here, less than 1 where the same runs are looked at several times while they grow. `metric` is the one
    that decides, where the user chose it. `aside` says that the baseline is on a line that was merged into the
    target's: what it tells decides nothing. `benchmark` names the one that both samples are reduced to, in a suite.
    `history` reads the series of the configuration, or of the benchmark, over the newest versions, and `suite` the
    pairings of all benchmarks that were measured in the same processes: it is the same object for each of them."""

    baseline: Sample
    target: Sample
    config_id: str
    interleaved: bool = False
    thresholds: Mapping[str, float] = EMPTY
    comparisons: int = 1
    share: float = 1.0
    metric: str | None = None
    aside: bool = False
    benchmark: str = ""
    history: Callable[[], Sequence[Series]] = tuple
    suite: Callable[[], Sequence[Pairing]] = tuple

    @property
    def label(self) -> str:
        return self.target.profiles[0].label


class Unpaired(Record, frozen=True, kw_only=True):
    """A configuration of the target, or a benchmark of its suite, that could not be compared, and why. `side` is the
    only one of two samples or versions that has it, empty where both have it or none is known."""

    label: str
    config_id: str
    version: str
    reason: str
    benchmark: str = ""
    side: Literal["", "baseline", "target"] = ""


class Series(Record, frozen=True, kw_only=True):
    """One metric of one resource over the versions of a branch, oldest first: `values[i]` are the runs that
    were measured for `versions[i]` in the environment `environments[i]`. `comparisons` is how many series are looked at
    at once: the more, the likelier one of them looks like a change by chance. `threshold` is the smallest relative
    change that matters, None where nobody said. `sessions[i]` says in which sessions the runs of `values[i]` were
    measured: in their order each session, empty where it is not known, and how many of the runs are of it.
    `next_versions[i]` is the version of the branch after `versions[i]`, measured or not (none for the newest): a change
    may have come with it. It may be left out, too."""

    config_id: str
    metric: str
    unit: str
    resource: str
    versions: tuple[str, ...]
    environments: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    better: Literal["lower", "higher"] = "lower"
    label: str = ""
    comparisons: int = 1
    threshold: float | None = None
    sessions: tuple[tuple[tuple[str, int], ...], ...] = ()
    next_versions: tuple[str, ...] = ()


class Change(Record, frozen=True, kw_only=True):
    """What a check says of one metric. A `drift` is a slow change for the worse, a `variance` another noise around the
    same level, `machine` a change of what measured and not of the code. `ratio` is target over baseline with the
    interval `low` to `high` at the level `confidence`; `p_value` is that of the test, where there was one. `evidence`
    says in words what the verdict rests on; `needed` is how many interleaved pairs would tell, where that can be said
    of a `cannot tell`, and `reason` in a few words why it cannot (`too few runs`), or what may explain a `machine`.
    `id` stays the same when later data move the estimate.

    `baseline` and `target` are the beginnings of the ids of the last version before the change and of the first
    that shows it. In a history the change may have come with any version from `earliest`, measured or not, to `latest`,
    and `undone` is the version that took it back, if one did; all three are full ids. `contract` is the sentence that
    this is the verdict on, a broken one being a degradation; then `baseline_value` is what was allowed. A drift goes
    from `target` until the version `until` (a full id), and `pace` is its ratio per version; `ratio` is that of all.

    Of a `machine`, `environments` are what measured before and after it: if they are the same, `moved` series of one
    metric, of `measured`, moved together by `ratio`. Of a comparison they are its machine, where others made it too."""

    id: str
    kind: ChangeKind
    metric: str
    unit: str = ""
    resource: str = ""
    config_id: str = ""
    label: str = ""
    baseline: str = ""
    target: str = ""
    baseline_value: float | None = None
    target_value: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    p_value: float | None = None
    primary: bool = True
    evidence: str = ""
    earliest: str = ""
    latest: str = ""
    undone: str = ""
    until: str = ""
    pace: float | None = None
    contract: str = ""
    needed: int | None = None
    reason: str = ""
    environments: tuple[str, ...] = ()
    moved: int | None = None
    measured: int | None = None


class Judgement(Record, frozen=True, kw_only=True):
    """What a check says of a version as a whole. `verdicts` are changes; the `contract` of each is the sentence that it
    is on. `allowed` are the ids of changes that the verdicts allow: they fail no build. `source` names the agreement,
    such as a file; it is the method under which the verdicts are stored, and never changes."""

    source: str
    verdicts: tuple[Change, ...] = ()
    allowed: frozenset[str] = frozenset()
