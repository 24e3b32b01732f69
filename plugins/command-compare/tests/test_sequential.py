"""The rule of growing comparisons, and the loop that follows it, with runs and verdicts that are made up."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_command_compare.batches import Look, Samples, interim_looks, stop_reason
from perfcore_command_compare.request import Budget
from perfcore_command_compare.sequential import looks, settles, shares
from perfcore_testing.check import measured

from perfcore.errors import CommandFailedError
from perfcore.model import Change, Job, Measured
from perfcore.model.record import replace

SAME = Change(id="1", kind="same", metric="cpu", ratio=1.0, low=0.99, high=1.01)
UNKNOWN = Change(id="1", kind="cannot tell", metric="cpu", ratio=1.0, low=0.9, high=1.1, needed=500)
SLOWER = Change(id="1", kind="degradation", metric="cpu", ratio=1.1, low=1.05, high=1.15)
SMALLEST = 0.02


@given(st.integers(2, 100_000))
def test_looks_grow_up_to_the_last_and_are_even_before(most: int) -> None:
    found = looks(most)
    assert found[-1] == most
    assert list(found) == sorted(set(found))
    assert all(pairs % 2 == 0 for pairs in found[:-1])
    assert found[0] == min(12, most)


@given(st.integers(2, 100_000))
def test_all_looks_together_spend_one_chance(most: int) -> None:
    found = shares(len(looks(most)))
    assert len(found) == len(looks(most))
    assert sum(found) == pytest.approx(1)
    assert min(found) > 0
    assert found[-1] >= 0.5


@pytest.mark.parametrize(
    ("change", "settled"),
    [
        (SAME, True),
        (UNKNOWN, False),
        (SLOWER, True),
        (replace(SLOWER, low=1.01), False),
        (replace(SLOWER, low=None, high=None), True),
        (replace(SLOWER, kind="optimization", ratio=0.9, low=0.8, high=0.97), True),
        (replace(SLOWER, kind="optimization", ratio=0.9, low=0.8, high=0.99), False),
    ],
)
def test_an_interval_settles_it_that_lies_on_one_side_of_what_matters(change: Change, settled: bool) -> None:
    assert settles(change, SMALLEST) is settled


@pytest.mark.parametrize(
    ("changes", "late", "last", "why"),
    [
        ([SAME], False, False, "decided"),
        ([UNKNOWN], False, False, None),
        ([UNKNOWN], False, True, "pairs"),
        ([UNKNOWN], True, True, "budget"),
        ([replace(SLOWER, low=1.01)], False, False, None),
        ([replace(SLOWER, low=1.01)], False, True, "decided"),
        ([], False, False, "hopeless"),
        ([replace(UNKNOWN, ratio=None, needed=None)], False, False, "hopeless"),
        ([replace(UNKNOWN, ratio=None, needed=6)], False, False, None),
        ([UNKNOWN, SAME], False, False, None),
    ],
)
def test_why_nothing_more_is_measured(changes: list[Change], late: bool, last: bool, why: str | None) -> None:
    assert stop_reason(changes, SMALLEST, late=late, last=last) == why


class Bench:
    """A program and another, each run of which takes a second; what was asked of it and what it gave."""

    def __init__(self, *, disturbed: int = 0, seconds: float = 1.0, exact: Sequence[str] = ()) -> None:
        self.schedules: list[Mapping[str, Any]] = []
        self.decided: list[tuple[int, float]] = []
        self.now = 0.0
        self.disturbed = disturbed
        self.seconds = seconds
        self.exact = exact
        self.jobs = Job(argv=("a",), cmd="a"), Job(argv=("b",), cmd="b", version="v" * 40, dirty=True)

    def measure(self, schedule: Mapping[str, Any]) -> Sequence[Measured]:
        self.schedules.append(schedule)
        runs = schedule["repeat"] + min(self.disturbed, schedule["retry_disturbed"])
        self.now += 2 * runs * self.seconds
        profile = measured([1_000_000] * runs, session=str(len(self.schedules)), exact=self.exact)
        return [Measured(job=job, profile=profile) for job in self.jobs]

    def decide(self, verdict: Callable[[int], Change]) -> Callable[[Samples, float], tuple[Sequence[Change], float]]:
        def decided(samples: Samples, share: float) -> tuple[Sequence[Change], float]:
            counts = [sum(profile.tables["runs"].rows for profile in sample.profiles) for sample in samples]
            assert counts[0] == counts[1]
            self.decided.append((counts[0], share))
            return [verdict(counts[0])], SMALLEST

        return decided

    def compare(self, verdict: Callable[[int], Change], *, pairs: int = 50, seconds: float = 1e6) -> list[Look]:
        effort = Budget(pairs=pairs, seconds=seconds)
        return list(interim_looks(self.jobs, self.measure, self.decide(verdict), effort, lambda: self.now))


def test_batches_grow_until_the_verdict_settles() -> None:
    bench = Bench()
    found = bench.compare(lambda pairs: SAME if pairs >= 18 else UNKNOWN)
    assert [look.pairs for look in found] == [12, 18]
    assert [look.stopped for look in found] == [None, "decided"]
    assert [look.index for look in found] == [1, 2]
    assert found[-1].seconds == 38
    assert [schedule["repeat"] for schedule in bench.schedules] == [1, 12, 6]  # the first pair does not count


def test_without_a_verdict_every_look_is_taken_and_the_whole_chance_is_spent() -> None:
    bench = Bench()
    found = bench.compare(lambda pairs: UNKNOWN)
    assert [look.pairs for look in found] == [12, 18, 28, 42, 50]
    assert found[-1].stopped == "pairs"
    assert found[-1].share == pytest.approx(1)
    assert sum(share for _, share in bench.decided) == pytest.approx(1)


def test_a_difference_that_may_be_smaller_than_matters_counts_at_the_end_only() -> None:
    found = Bench().compare(lambda pairs: replace(SLOWER, low=1.001))
    assert [look.stopped for look in found] == [None, None, None, None, "decided"]


def test_an_empty_purse_ends_it_with_all_that_was_not_spent() -> None:
    bench = Bench()
    found = bench.compare(lambda pairs: UNKNOWN, seconds=30)
    assert [look.pairs for look in found] == [12, 14]
    assert found[-1].stopped == "budget"
    assert found[-1].share == pytest.approx(1)
    assert bench.now <= 30


def test_a_budget_of_nothing_still_has_an_answer() -> None:
    (look,) = Bench().compare(lambda pairs: UNKNOWN, seconds=0)
    assert (look.pairs, look.stopped, look.share) == (1, "budget", 1)


@pytest.mark.parametrize(("seconds", "pairs"), [(0.5, 1), (3.9, 1), (4, 1), (6, 2), (9, 3)])
def test_the_first_pair_counts_only_where_there_is_no_time_for_another(seconds: float, pairs: int) -> None:
    bench = Bench()
    (look,) = bench.compare(lambda pairs: UNKNOWN, seconds=seconds)
    assert look.pairs == pairs
    assert bench.now <= max(2, seconds)


@given(st.integers(2, 300), st.floats(0, 2000), st.integers(0, 5), st.floats(0.001, 10))
def test_whatever_the_effort_there_is_one_last_look_and_one_chance(
    pairs: int, seconds: float, disturbed: int, each: float
) -> None:
    bench = Bench(disturbed=disturbed, seconds=each)
    found = bench.compare(lambda pairs: UNKNOWN, pairs=pairs, seconds=seconds)
    assert [look.stopped is None for look in found] == [True] * (len(found) - 1) + [False]
    assert found[-1].share == pytest.approx(1)
    assert sum(share for _, share in bench.decided) == pytest.approx(1)
    assert all(a.pairs <= b.pairs for a, b in itertools.pairwise(found))
    assert found[-1].pairs <= pairs


def test_disturbed_runs_are_taken_again_up_to_a_quarter() -> None:
    bench = Bench(disturbed=100)
    bench.compare(lambda pairs: SAME)
    assert [(schedule["repeat"], schedule["retry_disturbed"]) for schedule in bench.schedules] == [(1, 0), (12, 3)]


@pytest.mark.parametrize(("most", "again"), [(12, [0]), (13, [1]), (14, [2]), (18, [3, 0])])
def test_runs_that_are_taken_again_count_among_the_pairs_that_are_allowed(most: int, again: list[int]) -> None:
    bench = Bench(disturbed=100)
    found = bench.compare(lambda pairs: UNKNOWN, pairs=most)
    assert [schedule["retry_disturbed"] for schedule in bench.schedules[1:]] == again
    assert found[-1].pairs == most


def test_short_programs_are_warmed_up_in_every_batch_and_long_ones_once() -> None:
    for seconds, warmups in ((0.01, [0, 1]), (10, [0, 0])):
        bench = Bench(seconds=seconds)
        bench.compare(lambda pairs: SAME)
        assert [schedule.get("warmup") for schedule in bench.schedules] == warmups


def test_samples_have_the_versions_of_their_jobs() -> None:
    bench = Bench()
    first, second = bench.compare(lambda pairs: SAME)[-1].samples
    assert (first.version, first.dirty) == (None, False)
    assert (second.version, second.dirty) == ("v" * 40, True)
    assert len(first.profiles) == len(second.profiles) == len(bench.schedules) - 1


def test_a_job_that_fails_ends_it_with_its_error() -> None:
    bench = Bench()

    def fail(schedule: Mapping[str, Any]) -> Sequence[Measured]:
        done = bench.measure(schedule)
        return [done[0], Measured(job=bench.jobs[1], error=CommandFailedError("it failed"))]

    with pytest.raises(CommandFailedError, match="it failed"):
        list(interim_looks(bench.jobs, fail, bench.decide(lambda pairs: SAME), Budget(pairs=9, seconds=9), lambda: 0.0))


def test_one_pair_decides_a_metric_that_is_declared_exact() -> None:
    bench = Bench(exact=["cpu"])
    (look,) = bench.compare(lambda runs: replace(SLOWER, low=None, high=None))
    assert (look.pairs, look.stopped, look.share, len(bench.schedules)) == (1, "decided", 0.0, 1)


def test_one_pair_decides_nothing_for_another_metric_than_the_exact_one() -> None:
    bench = Bench(exact=["bytes"])
    assert bench.compare(lambda runs: SAME)[0].pairs == 12


def test_an_exact_metric_that_one_pair_does_not_decide_is_measured_like_any_other() -> None:
    bench = Bench(exact=["cpu"])
    looks = bench.compare(lambda runs: UNKNOWN if runs < 18 else SAME)
    assert [look.pairs for look in looks] == [12, 18]
