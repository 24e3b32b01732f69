"""How often two versions of different sessions get a false verdict: `python benchmarks/across_sessions.py`.

The offsets of sessions are normal with a standard deviation of 1 to 8 %, and runs vary by `--noise` around them. One
version in ten of the history changed the code, by 3 to 15 %. The target is as fast as its baseline or slower by
`--slower`. The history is measured in one session for each version (`one version`), in sessions of four versions, or
each version in two. Shares are of all comparisons, with their 95 % interval (E. B. Wilson, 1927) and the least and
greatest of a seed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import measured, pairing, sample

from perfcore.model import Pairing, Series
from perfcore.model.record import replace

RUNS, NOISE = 10, 0.02
OFFSETS = (0.01, 0.03, 0.05, 0.08)
LENGTHS = (0, 2, 4, 8, 16, 32)
LAYOUTS = ("one version", "four versions", "twice")


@attrs.frozen
class Outcome:
    """Of a comparison: whether the interval holds the truth, the verdict, and half the width of the interval."""

    covered: bool
    changed: bool
    slower: bool
    half: float


def sessions_of(version: int, layout: str) -> list[str]:
    """The names of the sessions in which a version of a history was measured."""
    if layout == "four versions":
        return [f"session {version // 4}"]
    if layout == "twice":
        return [f"session {version}", f"session {version} again"]
    return [f"session {version}"]


def compared(
    offset: float, versions: int, layout: str, slower: float, noise: float, draw: np.random.Generator
) -> Pairing:
    """A comparison of the next version with the last of a history of so many versions before both."""
    changed = draw.uniform(0.03, 0.15, versions + 1) * draw.choice([-1, 1], versions + 1)
    levels = np.cumsum(changed * (draw.random(versions + 1) < 0.1)).tolist()
    levels.append(levels[-1] + math.log1p(slower))
    offsets: dict[str, float] = {}
    values, names = [], []
    for version, level in enumerate(levels):
        sessions = sessions_of(version, layout) if version < versions else [f"compared {version}"]
        for session in sessions:
            offsets.setdefault(session, draw.normal(0, offset))
        runs = [level + offsets[session] + draw.normal(0, noise, RUNS // len(sessions)) for session in sessions]
        values.append(tuple((5e6 * np.exp(np.concatenate(runs))).tolist()))
        names.append(tuple((session, RUNS // len(sessions)) for session in sessions))
    series = Series(
        config_id="c" * 40,
        metric="cpu",
        unit="ns",
        resource="",
        versions=tuple(f"{version:040}" for version in range(len(levels))),
        environments=("e" * 40,) * len(levels),
        values=tuple(values),
        sessions=tuple(names),
    )
    sides = [
        sample(measured(list(values[index]), session=names[index][0][0], environment_id="e" * 40), f"{index:040}")
        for index in (versions, versions + 1)
    ]
    history = (series,) if versions else ()
    return replace(
        pairing(*(side.profiles[0] for side in sides)), baseline=sides[0], target=sides[1], history=lambda: history
    )


def outcomes(
    offset: float, versions: int, layout: str, slower: float, noise: float, each: int, seed: int
) -> Iterator[Outcome]:
    check = PairCheck(PairSettings(resamples=1000))
    draw = np.random.default_rng((seed, round(offset * 1000), versions, LAYOUTS.index(layout), round(slower * 100)))
    for _ in range(each):
        (change,) = check.compare(compared(offset, versions, layout, slower, noise, draw))
        assert change.low is not None
        assert change.high is not None
        yield Outcome(
            covered=change.low <= 1 + slower <= change.high,
            changed=change.kind in ("degradation", "optimization"),
            slower=change.kind == "degradation",
            half=math.log(change.high / change.low) / 2,
        )


def wilson(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    z, share = 1.96, hits / count
    center, half = share + z * z / (2 * count), z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    return (center - half) / (1 + z * z / count), (center + half) / (1 + z * z / count)


def shown(seeds: Sequence[Sequence[bool]]) -> str:
    hits, count = sum(map(sum, seeds)), sum(map(len, seeds))
    low, high = wilson(hits, count)
    shares = [100 * sum(flags) / len(flags) for flags in seeds]
    interval = f"{100 * low:.1f} to {100 * high:.1f}"
    return f"{100 * hits / count:.1f} % ({interval}; seeds {min(shares):.0f} to {max(shares):.0f})"


def row(
    layout: str, versions: int, offset: float, slower: float, noise: float, each: int, seeds: Sequence[int]
) -> list[str]:
    same, changed = (
        [list(outcomes(offset, versions, layout, factor, noise, each, seed)) for seed in seeds]
        for factor in (0.0, slower)
    )
    return [
        layout,
        str(versions),
        f"{100 * offset:g} %",
        shown([[outcome.covered for outcome in seed] for seed in same]),
        shown([[outcome.changed for outcome in seed] for seed in same]),
        shown([[outcome.slower for outcome in seed] for seed in changed]),
        f"{100 * np.median([outcome.half for seed in same for outcome in seed]):.1f} %",
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--slower", type=float, default=0.15)
    parser.add_argument("--noise", type=float, default=NOISE)
    parser.add_argument("--offsets", type=float, nargs="+", default=OFFSETS)
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=LAYOUTS)
    parser.add_argument("--versions", type=int, nargs="+", default=LENGTHS)
    args = parser.parse_args()
    slower = f"+{100 * args.slower:g} % called slower"
    print(f"| measured in | versions before | offsets | holds the truth | false verdicts | {slower} | half width |")
    print("|---|---|---|---|---|---|---|")
    for layout in args.layouts:
        for versions in args.versions:
            for offset in args.offsets:
                cells = row(layout, versions, offset, args.slower, args.noise, args.each, args.seeds)
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
