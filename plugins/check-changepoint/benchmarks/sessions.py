"""What sessions do to the changes that are found: `python benchmarks/sessions.py [--most 64] [--each 20]`.

Histories of 200 versions are measured in sessions of 64 at most, on a machine whose sessions are off by 1 to 3 %. A
version differs from the next by 1 to 2 %, half of it in every session anew. Two of three histories have a step of one
and a half times that: where two stretches meet, or elsewhere. The same is measured in one session, in stretches, in
stretches that share an eighth, and in sessions that take turns, as `perf collect` does; the check is told of the
sessions, or is not. A change counts as found within eight versions, with half to one and a half times its
size.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import attrs
import numpy as np
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from pools import history

from perfcore.measure.sessions import planned
from perfcore.model import Change, Series
from perfcore.model.record import replace

VERSIONS, RUNS = 200, 5
PLACES = (128, 100)  # of steps: where two stretches meet, and elsewhere
MARGIN = 8  # a step of one and a half times the noise is not located better


@attrs.frozen
class Counts:
    """Of histories: how many changes they hold, how many of these were found, and what was found beside."""

    histories: int = 0
    true: int = 0
    hits: int = 0
    false: int = 0
    errors: tuple[float, ...] = ()


def plans(most: int) -> dict[str, list[tuple[int, ...]]]:
    """The versions of every session, with so many at most."""
    return {
        "one session": [tuple(range(VERSIONS))],
        "stretches": stretches(most, 0),
        "stretches that share versions": stretches(most, most // 8),
        "sessions that take turns": planned(VERSIONS, most),
    }


def stretches(most: int, shared: int) -> list[tuple[int, ...]]:
    """Sessions one after the other, neighbours with so many versions in common."""
    starts = range(0, VERSIONS - shared, most - shared)
    return [tuple(range(start, min(start + most, VERSIONS))) for start in starts]


def measured(plan: Sequence[Sequence[int]], step: float, place: int, seed: int) -> tuple[Series, float]:
    """A history as it is measured so, and the size of its step."""
    draw = np.random.default_rng(seed)
    noise = draw.uniform(0.01, 0.02)
    offsets = draw.uniform(0.01, 0.03, len(plan)) * draw.choice([-1, 1], len(plan))
    own = draw.normal(0, noise * math.sqrt(0.5), VERSIONS) + step * noise * (np.arange(VERSIONS) >= place)
    runs: list[list[float]] = [[] for _ in range(VERSIONS)]
    sessions: list[list[tuple[str, int]]] = [[] for _ in range(VERSIONS)]
    for number, places in enumerate(plan):
        for version in places:
            level = own[version] + offsets[number] + draw.normal(0, noise * math.sqrt(0.5))
            runs[version] += (5e6 * np.exp(level + draw.normal(0, noise, RUNS))).tolist()
            sessions[version].append((f"session {number}", RUNS))
    return history(runs, sessions=sessions), math.exp(step * noise) - 1


def counted(counts: Counts, found: Sequence[Change], place: int, size: float) -> Counts:
    errors = [abs((c.ratio or 1) - 1 - size) for c in found if abs(int(c.target) - place) <= MARGIN]
    near = [error for error in sorted(errors) if error <= size / 2][:1]
    return Counts(
        histories=counts.histories + 1,
        true=counts.true + bool(size),
        hits=counts.hits + bool(near),
        false=counts.false + len(found) - len(near),
        errors=(*counts.errors, *near),
    )


def tried(plan: Sequence[Sequence[int]], told: bool, each: int, seed: int) -> Counts:
    counts = Counts()
    check = ChangepointCheck(ChangepointSettings())
    for number in range(each):
        for step, place in ((0.0, 0), *((1.5, place) for place in PLACES)):
            series, size = measured(plan, step, place, 10_000 * seed + number)
            given = series if told else replace(series, sessions=())
            counts = counted(counts, check.scan(given, None)[0], place, size)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=64)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    print("| measured in | sessions told | measurements | false in a history, of each seed | found | size off by |")
    print("|---|---|---|---|---|---|")
    for name, plan in plans(args.most).items():
        for told in (False, True):
            some = [tried(plan, told, args.each, seed) for seed in args.seeds]
            false = ", ".join(f"{counts.false / counts.histories:.2f}" for counts in some)
            found = sum(counts.hits for counts in some) / sum(counts.true for counts in some)
            errors = [error for counts in some for error in counts.errors]
            cells = [name, "yes" if told else "no", str(sum(map(len, plan))), false]
            print(f"| {' | '.join(cells)} | {found:.2f} | {100 * np.mean(errors):.1f} % |", flush=True)


if __name__ == "__main__":
    main()
