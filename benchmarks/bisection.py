"""How often bisection under noise is right, and how many runs it takes.

    python benchmarks/bisection.py [--simulations 300] [--seeds 1 2 3] [--rows 0 1 2] [--jobs 2]

64 versions, one of which is slower by a step. The noise of a run is log-normal, skewed to the right; one run in twenty
is a spike of 20 to 100 %. "heavy" noise is Student's t with 2.5 degrees of freedom, of which the noise is the scale;
one run in ten is such a spike. Runs of the ends count. The policies:

    one run       what `git bisect run` does: one run for each step, bad if it is past the middle of the ends
    median of 15  the same with the median of 15 runs
    perfcore      perfcore_command_bisect.bisection, sure to 95 %, at most 120 runs; preparing a version costs nothing
    … built       the same where getting a version ready costs as much as five runs, so that it is run more often

Who gives up is not right; with a step of 0 %, who blames no version is. For perfcore the share that is right is shown
beside the share that blamed another version, the mean of the probability that was stated where a version was blamed,
and the share of intervals that held the true step where the right one was. "drift" adds an offset to each session, of
so many percent (standard deviation); "later" is another step, in a version after the one that is asked for.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from perfcore_command_bisect import bayes as bisection
from perfcore_command_bisect.search import Observation, Question
from perfcore_command_bisect.search import answer as likeliest

VERSIONS, SHAPE, MOST = 64, 0.6, 120
SPREAD = math.sqrt((math.exp(SHAPE**2) - 1) * math.exp(SHAPE**2))
FREEDOM = 2.5  # of heavy noise


class Outcome(NamedTuple):
    """How a bisection ended. `stated` is nan if it blamed no version, `size` is whether the interval held the step."""

    right: bool
    runs: int
    stated: float = math.nan
    size: bool = False


class Case(NamedTuple):
    """What is simulated: the step, the noise of a run, the drift of sessions, heavy noise, and a later step."""

    step: float
    noise: float = 0.03
    drift: float = 0.0
    heavy: bool = False
    later: float = 0.0


ROWS = (
    Case(0.05),
    Case(0.0),
    Case(0.05, heavy=True),
    Case(0.05, drift=0.03),
    Case(0.05, drift=0.06),
    Case(0.64, later=0.15),
    Case(0.026),
    Case(0.10),
    Case(0.03),
    Case(0.10, 0.10),
    Case(0.20),
    Case(0.0, heavy=True),
)


def run(chance: random.Random, level: float, case: Case) -> float:
    if case.heavy:
        # Student's t: a normal number through the root of the mean of squares of others. No time is below zero.
        size = chance.gauss(0, 1) / math.sqrt(chance.gammavariate(FREEDOM / 2, 2) / FREEDOM)
        amount = level * max(0.05, 1 + case.noise * size)
    else:
        amount = level * (1 + case.noise * (math.exp(SHAPE * chance.gauss(0, 1)) - 1) / SPREAD)
    spikes = 0.1 if case.heavy else 0.05
    return amount * (1 + chance.uniform(0.2, 1)) if chance.random() < spikes else amount


def halving(seed: str, case: Case, times: int) -> Outcome:
    """Bisection that believes the median of so many runs."""
    chance = random.Random(seed)
    culprit, taken = chance.randrange(1, VERSIONS), 0

    def measured(place: int) -> float:
        nonlocal taken
        taken += times
        machine = 1 + case.drift * chance.gauss(0, 1)
        level = machine * (1 + case.step if place >= culprit else 1.0)
        return statistics.median(run(chance, level, case) for _ in range(times))

    middle = (measured(0) + measured(VERSIONS - 1)) / 2
    good, bad = 0, VERSIONS - 1
    while bad - good > 1:
        place = (good + bad) // 2
        if measured(place) > middle:
            bad = place
        else:
            good = place
    return Outcome(case.step > 0 and bad == culprit, taken)


def one_run(seed: str, case: Case) -> Outcome:
    return halving(seed, case, 1)


def median_of_15(seed: str, case: Case) -> Outcome:
    return halving(seed, case, 15)


def perfcore(seed: str, case: Case, setup: float = 0.0) -> Outcome:
    chance = random.Random(seed)
    last = VERSIONS - 1 if case.later else VERSIONS
    culprit = chance.randrange(1, last)
    second = chance.randrange(culprit + 1, VERSIONS) if case.later else VERSIONS
    question = Question(places=VERSIONS)
    evidence: list[Observation] = []
    while True:
        belief = bisection.believe(question, evidence)
        answer = likeliest(question, belief)
        chosen = bisection.choose(question, belief, setup)
        found = bisection.found(question, belief)
        if found or chosen is None or bisection.alike(belief, MOST) or belief.runs[2] >= MOST:
            _, low, high = belief.change
            right = found and answer.places == (culprit,) if case.step else not found
            stated = answer.probability if found else math.nan
            return Outcome(right, belief.runs[2], stated, low <= math.log1p(case.step) <= high)
        machine, session = 1 + case.drift * chance.gauss(0, 1), f"{len(evidence)}"
        for place, times in ((chosen.place, chosen.times), (chosen.end, chosen.end_times)):
            level = machine * (1 + case.step if place >= culprit else 1.0) * (1 + case.later * (place >= second))
            amounts = tuple(run(chance, level, case) for _ in range(times))
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
    named = [outcome for outcome in outcomes if not math.isnan(outcome.stated)]
    if named:
        stated = statistics.fmean(outcome.stated for outcome in named)
        sizes = [outcome.size for outcome in named if outcome.right]
        wrong = (len(named) - len(sizes)) / len(outcomes)
        line += f"   blamed another {100 * wrong:.1f} %   stated {100 * stated:.1f} %"
        if sizes:
            line += f"   step in its interval {100 * statistics.fmean(sizes):.0f} %"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=300)
    parser.add_argument("--seeds", nargs="+", default=["1", "2", "3"])
    parser.add_argument(
        "--rows", nargs="+", type=int, default=list(range(len(ROWS))), help="which of the cases, from 0"
    )
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), choices=list(POLICIES))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        for case in (ROWS[row] for row in options.rows):
            tails = "heavy " * case.heavy
            sizes = f"step {100 * case.step:g} %, {tails}noise {100 * case.noise:g} %, drift {100 * case.drift:g} %"
            print(f"{sizes}, later {100 * case.later:g} %", flush=True)
            for name in options.policies:
                for seed in options.seeds:
                    work = [(name, f"{seed} {number}", case) for number in range(options.simulations)]
                    show(name, seed, list(pool.map(simulated, work, chunksize=4)))


if __name__ == "__main__":
    main()
