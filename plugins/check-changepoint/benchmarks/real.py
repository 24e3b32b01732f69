"""How well changes are found in real series: `python benchmarks/real.py FOLDER [--seed 1] [--suite]`.

The folder has series in the format of the Turing Change Point Dataset (G. van den Burg and C. Williams, 2020, *An
Evaluation of Change Point Detection Algorithms*): JSON files with `series`, and `annotations.json` with the changes
that people saw. Its univariate series are scored as there: changes match within five points, the recall is the mean
over the annotators, and 0 counts as a change, so that nothing is found in a series without changes.

Or it has noise in which nothing changed: files with a number a line, or a JSON list of numbers, measured of one program
on one machine. Every detection there is a false alarm, and steps of 2, 5 and 10 % are planted in turn, one at a time.
With `--suite`, the series were measured together, value by value (`benchmarks/unchanged.py` records such ones), and are
searched together as well.

Nothing in perfcore is tuned on such series.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from perfcore_check_changepoint import detect, detect_many

sys.path.insert(0, str(Path(__file__).parent))

from compare import MARGIN, changepoint
from peers import Detector, installed

ANNOTATIONS = "annotations.json"
TCPD_MARGIN = 5  # points, as in the publication
STEPS = (0.02, 0.05, 0.10)
PLANTS = 10  # places of a step in every series
SHORTEST = 30  # values of noise: a step is planted in the middle half
LARGEST = 50_000_000  # bytes of a file


@attrs.frozen(eq=False)
class Series:
    """Values, NaN where one is missing, and the changes that each annotator saw; none where these are unknown."""

    name: str
    values: list[float]
    annotations: tuple[tuple[int, ...], ...] = ()


def nothing(values: list[float]) -> list[int]:
    return []


def with_drifts(values: list[float]) -> list[int]:
    """The beginnings of drifts as well, which annotators mark as changes."""
    return sorted(change.index for change in detect(values) if change.kind != "noise")


def read(folder: Path) -> tuple[list[Series], list[Series]]:
    """The annotated series, and those of noise."""
    annotations = _json(folder / ANNOTATIONS) if (folder / ANNOTATIONS).is_file() else {}
    annotated, noise = [], []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name == ANNOTATIONS or path.suffix not in (".json", ".txt", ".csv"):
            continue
        content = _json(path) if path.suffix == ".json" else _lines(path)
        if isinstance(content, Mapping) and content.get("n_dim") == 1 and content.get("name") in annotations:
            seen = tuple(tuple(sorted(places)) for places in annotations[content["name"]].values())
            annotated.append(Series(content["name"], _numbers(content["series"][0]["raw"]), seen))
        elif isinstance(content, list) and len(content) >= SHORTEST:
            noise.append(Series(path.name, _numbers(content)))
    return annotated, noise


def _json(path: Path) -> Any:
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"{path} has more than {LARGEST:,} bytes")
    return json.loads(path.read_text())


def _lines(path: Path) -> list[float]:
    try:
        return [float(line) for line in path.read_text().split()]
    except ValueError:
        return []


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else float(value) for value in values]


def found(detector: Detector, series: Series) -> list[int]:
    """The changes, by the numbers of all points; detectors see those with a value."""
    places = [place for place, value in enumerate(series.values) if not math.isnan(value)]
    return sorted({places[index] for index in detector([series.values[place] for place in places])})


def annotated_f1(changes: Sequence[int], series: Series) -> float:
    """That of the publication; an index is the first point after a change."""
    reported = {0, *changes}
    every = {0}.union(*series.annotations)
    precision = _matched(every, reported) / len(reported)
    recalls = [_matched({0, *seen}, reported) / len({0, *seen}) for seen in series.annotations]
    recall = sum(recalls) / len(recalls)
    return 2 * precision * recall / (precision + recall)


def _matched(truth: set[int], reported: set[int]) -> int:
    rest, pairs = set(reported), 0
    for place in sorted(truth):
        near = min((index for index in rest if abs(index - place) <= TCPD_MARGIN), default=None)
        if near is not None:
            rest.discard(near)
            pairs += 1
    return pairs


def planted(detector: Detector, series: Series, size: float, random: np.random.Generator) -> tuple[int, int]:
    """How many steps of this size are found, of how many."""
    count, hits = len(series.values), 0
    for place in random.integers(count // 4, 3 * count // 4, PLANTS).tolist():
        values = [value * (1 + size * (index >= place)) for index, value in enumerate(series.values)]
        changes = found(detector, attrs.evolve(series, values=values))
        hits += any(abs(change - place) <= MARGIN for change in changes)
    return hits, PLANTS


def beside(others: Sequence[Series], series: Series) -> Detector:
    """Searches values of one series together with the others, which were measured beside it."""
    place = others.index(series)

    def search(values: list[float]) -> list[int]:
        rows = [values if position == place else other.values for position, other in enumerate(others)]
        return [change.index for change in detect_many(rows).changes[place] if change.kind == "level"]

    return search


def interval(hits: int, count: int) -> str:
    """A share with its interval of 95 % (E. B. Wilson, 1927, JASA 22(158))."""
    z, share = 1.96, hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return f"{share:4.0%} ({max(middle - half, 0):.0%} to {min(middle + half, 1):.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1, help="of the places of planted steps")
    parser.add_argument("--suite", action="store_true", help="the series of noise were measured together")
    given = parser.parse_args()
    annotated, noise = read(given.folder)
    if not annotated and not noise:
        raise SystemExit(f"no series in {given.folder}: neither JSON files with annotations nor lists of numbers")
    own = {"nothing": nothing, "detect": changepoint, "detect, with drifts": with_drifts}
    detectors: dict[str, Detector] = {**own, **installed()}
    if annotated:
        print(f"{len(annotated)} annotated series, {sum(len(series.values) for series in annotated)} points")
        for name, detector in detectors.items():
            scores = np.array([annotated_f1(found(detector, series), series) for series in annotated])
            resampled = np.random.default_rng(given.seed).choice(scores, (2000, len(scores))).mean(axis=1)
            low, high = np.quantile(resampled, [0.025, 0.975])
            print(f"{name:24} F1 {scores.mean():.3f} ({low:.3f} to {high:.3f}, of series drawn again)", flush=True)
    if noise:
        versions = sum(len(series.values) for series in noise)
        print(
            f"{len(noise)} series of noise, {versions} values; false alarms in 1,000, and planted steps that are found"
        )
        every = {name: [detector] * len(noise) for name, detector in detectors.items()}
        if given.suite:
            every["detect_many"] = [beside(noise, series) for series in noise]
        for name, searched in every.items():
            alarms = sum(len(found(*pair)) for pair in zip(searched, noise, strict=True))
            shares = []
            for size in STEPS:
                random = np.random.default_rng(given.seed)
                counts = [planted(*pair, size, random) for pair in zip(searched, noise, strict=True)]
                shares.append(f"{size:.0%}: {interval(sum(hits for hits, _ in counts), sum(n for _, n in counts))}")
            print(f"{name:24} {1000 * alarms / versions:6.2f}   " + "   ".join(shares), flush=True)


if __name__ == "__main__":
    main()
