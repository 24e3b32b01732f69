"""How well the check of histories sees a change of one benchmark where whole runs are slow.

    python plugins/check-changepoint/benchmarks/run_factors.py --benchmarks 3 12 50 --suites 20 --seeds 1 2 3

Versions of five runs in one session. All benchmarks of a run share a factor of a standard deviation `shared`; each has
noise of 1 to 3 % of its own (Student's t with 4 degrees of freedom). `before` gives the check the benchmarks as series
of commands of their own, so that only what whole versions share is taken out. A change counts within three versions.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings

from perfcore.model import Series
from perfcore.model.record import replace

RUNS, NEAR = 5, 3


def suite(seed: tuple[int, int], benchmarks: int, versions: int, shared: float, size: float) -> list[Series]:
    """The first benchmark changes in the middle."""
    random = np.random.default_rng([*seed, benchmarks, versions])
    factor = shared * random.standard_normal((versions, RUNS))
    made = []
    for number in range(benchmarks):
        logarithms = factor + random.uniform(0.01, 0.03) * random.standard_t(4, (versions, RUNS)) / math.sqrt(2)
        logarithms[versions // 2 :] += math.log1p(size) if number == 0 else 0.0
        made.append(
            Series(
                config_id="suite",
                metric="cpu",
                unit="ns",
                resource=str(number),
                versions=tuple(f"{version:010d}" for version in range(versions)),
                environments=("machine",) * versions,
                values=tuple(map(tuple, (1e5 * np.exp(logarithms)).tolist())),
                sessions=((("session", RUNS),),) * versions,
                comparisons=benchmarks,
            )
        )
    return made


def judged(made: list[Series]) -> tuple[bool, int]:
    """Whether the planted change shows, and how many others do."""
    middle = len(made[0].versions) // 2
    check = ChangepointCheck(ChangepointSettings())
    changes = [[c for c in each if c.kind != "machine"] for each in check.scan_many(made, {})]
    right = [c for c in changes[0] if abs(int(c.latest) - middle) <= NEAR]
    return bool(right), sum(map(len, changes)) - len(right)


def share(hits: int, of: int) -> str:
    """A rate with its interval of 95 % (E. B. Wilson, 1927)."""
    rate, z = hits / of, 1.96
    middle, half = rate + z * z / (2 * of), z * math.sqrt(rate * (1 - rate) / of + z * z / (4 * of * of))
    low, high = ((middle + sign * half) / (1 + z * z / of) for sign in (-1, 1))
    return f"{100 * rate:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--benchmarks", type=int, nargs="+", default=[3, 12, 50])
    parser.add_argument("--versions", type=int, nargs="+", default=[10, 40])
    parser.add_argument("--shared", type=float, nargs="+", default=[0.0, 0.01, 0.05, 0.1])
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.0, 0.03, 0.05, 0.1])
    parser.add_argument("--suites", type=int, default=20, help="for each seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    print("| versions | benchmarks | shared | change | | found | suites with a false change |")
    print("|---|---|---|---|---|---|---|")
    for versions in args.versions:
        for benchmarks in args.benchmarks:
            for shared in args.shared:
                for size in args.sizes:
                    seeds = [(seed, number) for seed in args.seeds for number in range(args.suites)]
                    suites = [suite(seed, benchmarks, versions, shared, size) for seed in seeds]
                    for name in ("before", "after"):
                        verdicts = [judged(made if name == "after" else _as_commands(made)) for made in suites]
                        hits = share(sum(right for right, _ in verdicts), len(verdicts)) if size else ""
                        false = share(sum(others > 0 for _, others in verdicts), len(verdicts))
                        settings = f"{versions} | {benchmarks} | {100 * shared:g} % | {100 * size:g} %"
                        print(f"| {settings} | {name} | {hits} | {false} |", flush=True)


def _as_commands(made: list[Series]) -> list[Series]:
    return [replace(series, resource="", config_id=series.resource) for series in made]


if __name__ == "__main__":
    main()
