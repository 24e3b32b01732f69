"""How often bisection under noise is right, and how many runs it takes.

    python benchmarks/bisection.py [--simulations 300] [--seeds 1 2 3] [--rows 1] [--jobs 2]

64 versions, one of which is slower by a step. The noise of a run is log-normal, skewed to the right; one run in twenty
is a spike of 20 to 100 %. Runs of the ends count. The policies:

    one run       what `git bisect run` does: one run for each step, bad if it is past the middle of the ends
    median of 15  the same with the median of 15 runs
    perfcore      perfcore_command_bisect.bisection, sure to 95 %, at most 120 runs; preparing a version costs nothing
    … built       the same where getting a version ready costs as much as five runs, so that it is run more often

Who gives up is not right; with a step of 0 %, who blames no version is. For perfcore the share that is right is shown
beside the mean of the probability that it stated, and beside the share of intervals that held the true step. "drift"
adds an offset to each session, of so many percent (standard deviation).
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from perfcore_command_bisect import bayes as bisection
from perfcore_command_bisect.search import Observation, Question
from perfcore_command_bisect.search import answer as likeliest

VERSIONS, SHAPE, MOST = 64, 0.6, 120
SPREAD = math.sqrt((math.exp(SHAPE**2) - 1) * math.exp(SHAPE**2))
Outcome = tuple[bool, int, float, bool]  # right, runs, stated, step in its interval
Case = tuple[float, float, float]

ROWS: tuple[Case, ...] = (
    (0.05, 0.03, 0.0),
    (0.0, 0.03, 0.0),
    (0.10, 0.03, 0.0),
    (0.03, 0.03, 0.0),
    (0.10, 0.10, 0.0),
    (0.20, 0.03, 0.0),
    (0.05, 0.03, 0.03),
    (0.05, 0.03, 0.06),
)


def run(chance: random.Random, level: float, noise: float) -> float:
    amount = level * (1 + noise * (math.exp(SHAPE * chance.gauss(0, 1)) - 1) / SPREAD)
    return amount * (1 + chance.uniform(0.2, 1)) if chance.random() < 0.05 else amount


def halving(seed: str, case: Case, times: int) -> Outcome:
    """Bisection that believes the median of so many runs."""
    chance = random.Random(seed)
    step, noise, drift = case
    culprit, taken = chance.randrange(1, VERSIONS), 0

    def measured(place: int) -> float:
        nonlocal taken
        taken += times
        machine = 1 + drift * chance.gauss(0, 1)
        level = machine * (1 + step if place >= culprit else 1.0)
        return statistics.median(run(chance, level, noise) for _ in range(times))

    middle = (measured(0) + measured(VERSIONS - 1)) / 2
    good, bad = 0, VERSIONS - 1
    while bad - good > 1:
        place = (good + bad) // 2
        if measured(place) > middle:
            bad = place
        else:
            good = place
    return step > 0 and bad == culprit, taken, math.nan, False


def one_run(seed: str, case: Case) -> Outcome:
    return halving(seed, case, 1)


def median_of_15(seed: str, case: Case) -> Outcome:
    return halving(seed, case, 15)


def perfcore(seed: str, case: Case, setup: float = 0.0) -> Outcome:
    chance = random.Random(seed)
    step, noise, drift = case
    culprit = chance.randrange(1, VERSIONS)
    question = Question(places=VERSIONS)
    evidence: list[Observation] = []
    while True:
        belief = bisection.believe(question, evidence)
        answer = likeliest(question, belief)
        chosen = bisection.choose(question, belief, setup)
        found = bisection.found(question, belief)
        if found or chosen is None or bisection.alike(belief, MOST) or belief.runs[2] >= MOST:
            if not step:
                return not found, belief.runs[2], math.nan, False
            held = belief.low <= math.log1p(step) <= belief.high
            return found and answer.places == (culprit,), belief.runs[2], answer.probability, held
        machine, session = 1 + drift * chance.gauss(0, 1), f"{len(evidence)}"
        for place, times in ((chosen.place, chosen.times), (chosen.end, chosen.end_times)):
            level = machine * (1 + step if place >= culprit else 1.0)
            amounts = tuple(run(chance, level, noise) for _ in range(times))
            evidence.append(Observation(place, amounts, session))


def built(seed: str, case: Case) -> Outcome:
    return perfcore(seed, case, 5.0)


POLICIES: dict[str, Callable[[str, Case], Outcome]] = {
    "one run": one_run,
    "median of 15": median_of_15,
    "perfcore": perfcore,
    "… built": built,
}


def simulated(work: tuple[str, str, Case]) -> Outcome:
    policy, seed, case = work
    return POLICIES[policy](seed, case)


def show(name: str, seed: str, outcomes: Sequence[Outcome]) -> None:
    right, runs = (statistics.fmean(column) for column in list(zip(*outcomes, strict=True))[:2])
    line = f"  {name:<13} seed {seed:<4} {100 * right:5.1f} % right  {runs:6.1f} runs"
    if not math.isnan(outcomes[0][2]):
        stated, held = statistics.fmean(o[2] for o in outcomes), statistics.fmean(o[3] for o in outcomes)
        line += f"   stated {100 * stated:.1f} %   step in its interval {100 * held:.0f} %"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--seeds", nargs="+", default=["1", "2", "3"])
    parser.add_argument("--rows", type=int, default=len(ROWS), help="how many of the cases")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), choices=list(POLICIES))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        for case in ROWS[: options.rows]:
            print(f"step {100 * case[0]:g} %, noise {100 * case[1]:g} %, drift {100 * case[2]:g} %", flush=True)
            for name in options.policies:
                for seed in options.seeds:
                    work = [(name, f"{seed} {number}", case) for number in range(options.simulations)]
                    show(name, seed, list(pool.map(simulated, work, chunksize=4)))


if __name__ == "__main__":
    main()
