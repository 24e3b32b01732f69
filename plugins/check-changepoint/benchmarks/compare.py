"""How well changes are found, and how fast, beside peers: `python benchmarks/compare.py [--each 20]`.

The peers are a t-test over a sliding window, and, where it is installed, two detectors of ruptures. Every one sees the
same histories in the same run. A change counts as found within three versions of its place.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from perfcore_check_changepoint import detect, detect_many

sys.path.insert(0, str(Path(__file__).parent))

from generated import Made, histories, suite

MARGIN = 3
Detector = Callable[[list[float]], list[int]]


def changepoint(values: list[float]) -> list[int]:
    return [change.index for change in detect(values) if change.kind == "level"]


def window_t_test(values: list[float], width: int = 12, least: float = 5.0) -> list[int]:
    """Peaks of Welch's t between the windows before and after every version."""
    data = np.array(values)
    windows = np.lib.stride_tricks.sliding_window_view(data, width)
    means, variances = windows.mean(axis=1), windows.var(axis=1, ddof=1)
    spread = np.sqrt((variances[:-width] + variances[width:]) / width) + 1e-300
    t = np.abs(means[width:] - means[:-width]) / spread
    found: list[int] = []
    while len(t) and t.max() > least:
        place = int(t.argmax())
        found.append(place + width)
        t[max(0, place - width) : place + width] = 0
    return sorted(found)


def _ruptures() -> dict[str, Detector]:
    try:
        import ruptures
    except ImportError:
        return {}

    def kernel(values: list[float]) -> list[int]:
        scaled = np.array(values) / (np.median(np.abs(np.diff(values))) or 1.0)
        return list(ruptures.KernelCPD(kernel="rbf").fit(scaled).predict(pen=0.9 * np.log(len(values))))[:-1]

    def pelt(values: list[float]) -> list[int]:
        data = np.array(values)
        noise = (np.median(np.abs(np.diff(data))) * 1.05) ** 2 or 1.0
        return list(ruptures.Pelt(model="l2", jump=1).fit(data).predict(pen=6 * noise * np.log(len(data))))[:-1]

    return {"ruptures kernel": kernel, "ruptures PELT": pelt}


def matched(found: Sequence[int], truth: Sequence[int]) -> int:
    """The largest number of pairs within the margin; both are in order."""
    pairs, rest = 0, list(found)
    for place in truth:
        near = next((index for index in rest if abs(index - place) <= MARGIN), None)
        if near is not None:
            pairs += 1
            rest = [index for index in rest if index > near]
    return pairs


def f1(results: Iterable[tuple[Sequence[int], Sequence[int]]]) -> float:
    hits = found = true = 0
    for places, truth in results:
        hits, found, true = hits + matched(places, truth), found + len(places), true + len(truth)
    return 2 * hits / (found + true) if found + true else 1.0


def one_by_one(made: list[Made], detectors: dict[str, Detector]) -> None:
    points = sum(len(one.values) for one in made)
    still = [one for one in made if not one.truth]
    quiet = sum(len(one.values) for one in still)
    print(f"{len(made)} histories, {points} points")
    print(f"{'':16} {'F1':>6} {'false alarms / 1,000':>21} {'ms / 1,000 points':>18} {'x time':>7}")
    own = 0.0
    kinds: dict[str, dict[str, float]] = defaultdict(dict)
    for name, detector in detectors.items():
        detector(made[0].values)
        start = time.process_time()
        places = [detector(one.values) for one in made]
        spent = time.process_time() - start
        own = own or spent
        alarms = sum(len(found) for found, one in zip(places, made, strict=True) if not one.truth)
        pairs = [(found, one.truth) for found, one in zip(places, made, strict=True)]
        cells = f"{f1(pairs):6.3f} {1000 * alarms / quiet:21.2f} {1e6 * spent / points:18.2f} {spent / own:7.2f}"
        print(f"{name:16} {cells}")
        for kind in sorted({one.kind for one in made if one.truth}):
            kinds[kind][name] = f1(
                (found, one.truth) for found, one in zip(places, made, strict=True) if one.kind == kind
            )
    print()
    print(f"{'F1 by noise':16} " + " ".join(f"{name:>16}" for name in detectors))
    for kind, values in kinds.items():
        print(f"{kind:16} " + " ".join(f"{values[name]:16.3f}" for name in detectors))


def together(suites: list[list[Made]], detectors: dict[str, Detector]) -> None:
    print()
    print(f"{len(suites)} suites of {len(suites[0])} histories on shared, twice replaced machines: F1")
    found = [detect_many([one.values for one in some]).changes for some in suites]
    pairs = [
        ([change.index for change in changes if change.kind == "level"], one.truth)
        for some, result in zip(suites, found, strict=True)
        for one, changes in zip(some, result, strict=True)
    ]
    print(f"{'detect_many':16} {f1(pairs):6.3f}")
    for name, detector in detectors.items():
        print(f"{name:16} {f1((detector(one.values), one.truth) for some in suites for one in some):6.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=15, help="unchanged histories of every noise")
    parser.add_argument("--suites", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    detectors: dict[str, Detector] = {"changepoint": changepoint, "window t-test": window_t_test, **_ruptures()}
    one_by_one(histories(given.seed, given.each), detectors)
    together([suite(given.seed + number) for number in range(given.suites)], detectors)


if __name__ == "__main__":
    main()
