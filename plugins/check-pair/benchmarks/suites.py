"""How often the benchmarks of a suite are judged right, with and without what they share in each pair.

    python plugins/check-pair/benchmarks/suites.py --benchmarks 6 12 50 --suites 20 --seeds 1 2 3

The runs of a suite share a factor of a standard deviation `shared`; each benchmark has noise of 1 to 3 % of its own
(Student's t with 4 degrees of freedom). Intervals have 95 % (E. B. Wilson, 1927), for `found` over the first changed
benchmark of each suite, as the benchmarks of one are not independent.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_testing.check import measured, pairing

from perfcore.model import Pairing
from perfcore.model.record import replace

PLANTED = (("none", 0.0), ("one", 0.03), ("one", 0.05), ("one", 0.10), ("third", 0.05), ("all", 0.05))
CHANGES = ("degradation", "optimization")


def suite(
    seed: tuple[int, int], benchmarks: int, pairs: int, shared: float, changed: int, size: float
) -> list[Pairing]:
    random = np.random.default_rng([*seed, benchmarks])
    factor = shared * random.standard_normal((2, pairs))
    made = []
    for number in range(benchmarks):
        logarithms = factor + random.uniform(0.01, 0.03) * random.standard_t(4, (2, pairs)) / math.sqrt(2)
        logarithms[1] += math.log1p(size) if number < changed else 0.0
        sides = (measured(side.tolist(), session="session") for side in 1e5 * np.exp(logarithms))
        made.append(replace(pairing(*sides), benchmark=str(number), comparisons=benchmarks))
    return made


def kinds(made: list[Pairing], together: bool) -> list[str]:
    check = PairCheck(PairSettings())

    def whole() -> list[Pairing]:
        return made

    each = [replace(of_benchmark, suite=whole if together else tuple) for of_benchmark in made]
    return [check.compare(of_benchmark)[0].kind for of_benchmark in each]


def share(hits: int, of: int) -> str:
    """A rate with Wilson's interval."""
    rate, z = hits / of, 1.96
    middle, half = rate + z * z / (2 * of), z * math.sqrt(rate * (1 - rate) / of + z * z / (4 * of * of))
    low, high = ((middle + sign * half) / (1 + z * z / of) for sign in (-1, 1))
    return f"{100 * rate:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--benchmarks", type=int, nargs="+", default=[3, 6, 12, 50, 200])
    parser.add_argument("--shared", type=float, nargs="+", default=[0.0, 0.01, 0.05, 0.1])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--suites", type=int, default=20, help="for each seed")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    args = parser.parse_args()
    print("| benchmarks | shared | changed | | found | suites with a false verdict | false verdicts of benchmarks |")
    print("|---|---|---|---|---|---|---|")
    for benchmarks in args.benchmarks:
        for shared in args.shared:
            for planted, size in PLANTED:
                changed = {"none": 0, "one": 1, "third": benchmarks // 3, "all": benchmarks}[planted]
                seeds = [(seed, number) for seed in args.seeds for number in range(args.suites)]
                suites = [suite(seed, benchmarks, args.pairs, shared, changed, size) for seed in seeds]
                for together in (False, True):
                    judged = [kinds(made, together) for made in suites]
                    false = [sum(kind in CHANGES for kind in of_suite[changed:]) for of_suite in judged]
                    hits = share(sum(of_suite[0] == CHANGES[0] for of_suite in judged), len(judged)) if changed else ""
                    unchanged = (benchmarks - changed) * len(judged)
                    cells = [
                        f"{benchmarks} | {100 * shared:g} % | {planted} {100 * size:g} %",
                        "suite" if together else "each alone",
                        hits,
                        share(sum(map(bool, false)), len(judged)) if unchanged else "",
                        f"{100 * sum(false) / unchanged:.1f} %" if unchanged else "",
                    ]
                    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
