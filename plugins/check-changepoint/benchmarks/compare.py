"""How well changes are found, and how fast, beside peers: `python benchmarks/compare.py [--each 10] [--seeds 1 2 3]`.

The peers are a t-test over a sliding window and, where they are installed, Apache Otava, the step detection of asv and
two detectors of ruptures (`python -m venv peers && peers/bin/pip install apache-otava asv ruptures`, and this plugin).
Every one sees the same histories in the same run, with the same settings for all. A change counts as found within three
versions of its place; the interval of F1 is of 95 %, from histories drawn again. benchmarks/oracle.py tells what could
be found of the same histories.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np
from perfcore_check_changepoint import detect, detect_many

sys.path.insert(0, str(Path(__file__).parent))

from generated import Made, fresh, histories, partly, suite
from peers import Detector, installed

MARGIN = 3
PATIENCE = 30  # versions after which a change that was not reported is missed
OWN = "detect"


@attrs.frozen
class Counts:
    """Changes that were found, reported, and there."""

    hits: int = 0
    found: int = 0
    true: int = 0

    @property
    def precision(self) -> float:
        return self.hits / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.hits / self.true if self.true else 1.0

    @property
    def f1(self) -> float:
        return 2 * self.hits / (self.found + self.true) if self.found + self.true else 1.0


@attrs.frozen
class Scores:
    """What a detector made of the histories of one seed."""

    rows: Sequence[Counts]  # of every history
    kinds: Mapping[str, Counts]
    alarms: int  # on histories without a change
    quiet: int  # versions of these
    versions: int
    seconds: float


def changepoint(values: list[float]) -> list[int]:
    return [change.index for change in detect(values) if change.kind == "level"]


def matched(found: Sequence[int], truth: Sequence[int]) -> int:
    """The largest number of pairs within the margin; both are in order."""
    pairs, rest = 0, list(found)
    for place in truth:
        near = next((index for index in rest if abs(index - place) <= MARGIN), None)
        if near is not None:
            pairs += 1
            rest = [index for index in rest if index > near]
    return pairs


def tally(found: Sequence[int], truth: Sequence[int]) -> Counts:
    return Counts(matched(found, truth), len(found), len(truth))


def counted(results: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Counts:
    return _sum(tally(found, truth) for found, truth in results)


def resampled(rows: Sequence[Counts], times: int = 1000) -> str:
    """The F1 of these histories, with its interval of 95 % from histories drawn again (bootstrap: B. Efron, 1979)."""
    table = np.array([(row.hits, row.found + row.true) for row in rows])
    drawn = np.random.default_rng(1).multinomial(len(table), np.full(len(table), 1 / len(table)), times) @ table
    low, high = np.quantile(2 * drawn[:, 0] / np.maximum(drawn[:, 1], 1), [0.025, 0.975])
    return f"{_sum(rows).f1:.3f} ({low:.3f} to {high:.3f})"


def scored(detector: Detector, made: Sequence[Made]) -> Scores:
    detector(made[0].values)
    start = time.process_time()
    places = [detector(one.values) for one in made]
    seconds = time.process_time() - start
    results = list(zip(places, made, strict=True))
    kinds = sorted({one.kind for one in made if one.truth})
    return Scores(
        rows=[tally(found, one.truth) for found, one in results],
        kinds={kind: counted((found, one.truth) for found, one in results if one.kind == kind) for kind in kinds},
        alarms=sum(len(found) for found, one in results if not one.truth),
        quiet=sum(len(one.values) for one in made if not one.truth),
        versions=sum(len(one.values) for one in made),
        seconds=seconds,
    )


def delays(detector: Detector, made: Sequence[Made]) -> list[int]:
    """How many versions have the new level when each history, growing by one version, first shows its change."""
    return [_delay(detector, one) for one in made]


def _delay(detector: Detector, one: Made) -> int:
    (place,) = one.truth
    for delay in range(1, PATIENCE + 1):
        if any(abs(index - place) <= MARGIN for index in detector(one.values[: place + delay])):
            return delay
    return PATIENCE + 1


def one_by_one(detectors: Mapping[str, Detector], seeds: Sequence[int], each: int) -> None:
    made = {seed: histories(seed, each) for seed in seeds}
    late = [one for seed in seeds for one in fresh(seed, max(1, each // 4), PATIENCE)]
    count, versions = (sum(map(size, made.values())) for size in (len, lambda some: sum(len(o.values) for o in some)))
    print(f"{count} histories of {versions} versions, seeds {', '.join(map(str, seeds))}; {len(late)} fresh changes")
    print(
        f"{'':24} {'precision':>9} {'recall':>7} {'F1, 95 %':>22} {'false alarms':>13} "
        f"{'delay':>6} {'90 %':>5} {'missed':>7} {'ms':>8} {'x time':>7}"
    )
    kinds: dict[str, dict[str, float]] = defaultdict(dict)
    own = 0.0
    for name, detector in detectors.items():
        scores = [scored(detector, made[seed]) for seed in seeds]
        seconds = sum(score.seconds for score in scores)
        own = own or seconds
        waited = sorted(delays(detector, late))
        print(f"{name:24} {_row(scores, waited)} {1e6 * seconds / versions:8.2f} {seconds / own:7.2f}", flush=True)
        for kind in scores[0].kinds:
            kinds[kind][name] = _sum(score.kinds[kind] for score in scores).f1
    print("false alarms: per 1,000 versions without a change; ms: CPU time per 1,000 versions")
    print()
    print(f"{'F1 by noise':16} " + " ".join(f"{name:>23}" for name in detectors))
    for kind, values in kinds.items():
        print(f"{kind:16} " + " ".join(f"{values[name]:23.3f}" for name in detectors))


def _row(scores: Sequence[Scores], waited: Sequence[int]) -> str:
    rows = [row for score in scores for row in score.rows]
    every = _sum(rows)
    alarms = 1000 * sum(score.alarms for score in scores) / sum(score.quiet for score in scores)
    missed = sum(delay > PATIENCE for delay in waited) / len(waited)
    middle, most = (_waited(waited[int(share * (len(waited) - 1))]) for share in (0.5, 0.9))
    return (
        f"{every.precision:9.3f} {every.recall:7.3f} {resampled(rows):>22} {alarms:13.2f} "
        f"{middle:>6} {most:>5} {missed:7.0%}"
    )


def _waited(delay: int) -> str:
    return str(delay) if delay <= PATIENCE else f">{PATIENCE}"


def _sum(counts: Iterable[Counts]) -> Counts:
    some = list(counts)
    return Counts(*(sum(getattr(one, name) for one in some) for name in ("hits", "found", "true")))


def together(detectors: Mapping[str, Detector], suites: Sequence[Sequence[Made]], what: str) -> None:
    print()
    print(f"{len(suites)} suites of {len(suites[0])} histories {what}")
    found = [detect_many([one.values for one in some]).changes for some in suites]
    pairs = [
        ([change.index for change in changes if change.kind == "level"], one.truth)
        for some, result in zip(suites, found, strict=True)
        for one, changes in zip(some, result, strict=True)
    ]
    results = {"detect_many": counted(pairs)}
    for name, detector in detectors.items():
        results[name] = counted((detector(one.values), one.truth) for some in suites for one in some)
    for name, counts in results.items():
        print(f"{name:24} {counts.precision:9.3f} {counts.recall:7.3f} {counts.f1:6.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10, help="unchanged histories of every noise and seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    detectors: dict[str, Detector] = {OWN: changepoint, **installed()}
    one_by_one(detectors, given.seeds, given.each)
    together(detectors, [suite(seed) for seed in given.seeds], "on shared, twice replaced machines")
    parts = [partly(10 * seed + number) for seed in given.seeds for number in range(5)]
    together({}, parts, "of which a part changes together, with counters and gaps")


if __name__ == "__main__":
    main()
