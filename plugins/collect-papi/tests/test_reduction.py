"""What readings amount to: nothing is lost, wherever threads go."""

from __future__ import annotations

import attrs
from hypothesis import given
from hypothesis import strategies as st
from perfcore_collect_papi.launcher import Group, Sample
from perfcore_collect_papi.reduction import Reducer

GROUPS = (Group(source="papi", events=("A", "B")), Group(source="software", events=("C",)))
CPUS = (0, 1, 2)


def sample(number: int, kept: bool, *values: tuple[int, int, int, tuple[int, ...]]) -> Sample:
    return Sample(timestamp=1000 + number, elapsed=number, kept=kept, last=False, values=values)


def reduced(samples: list[Sample]) -> Reducer:
    reducer = Reducer(GROUPS, CPUS)
    for one in samples:
        reducer.take(attrs.evolve(one, last=one is samples[-1]))
    return reducer


def test_cpus_have_streams_of_their_own() -> None:
    samples = [
        sample(0, True, (0, 0, 0, (10, 100)), (0, 1, 1, (5, 50)), (1, 0, 0, (7,))),
        sample(1, True, (0, 0, 0, (15, 110)), (0, 1, 1, (5, 50)), (1, 0, 0, (9,))),
    ]
    first, second = reduced(samples).snapshots
    assert first.counts == {0: {"A": 10, "B": 100, "C": 7}, 1: {"A": 5, "B": 50}}
    assert second.counts == {0: {"A": 5, "B": 10, "C": 2}, 1: {"A": 0, "B": 0}}
    assert (second.timestamp, second.elapsed) == (1001, 1)


def test_a_thread_that_moves_is_split_and_one_that_ended_stays() -> None:
    samples = [
        sample(0, False, (1, 77, 0, (10,))),
        sample(1, False, (1, 77, 2, (15,))),
        sample(2, True, (1, 77, -1, (18,))),
    ]
    (taken,) = reduced(samples).snapshots
    assert taken.counts == {0: {"C": 10}, 2: {"C": 8}}


def test_a_cpu_that_is_not_known_is_told_once() -> None:
    samples = [sample(number, True, (1, 9, 9, (number,))) for number in range(3)]
    reducer = reduced(samples)
    taken = reducer.snapshots
    assert [one.counts for one in taken] == [{-1: {"C": 0}}, {-1: {"C": 1}}, {-1: {"C": 1}}]
    assert len(reducer.warnings) == 1


@given(
    st.lists(
        st.tuples(st.booleans(), st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 99)), min_size=3, max_size=3)),
        min_size=1,
        max_size=20,
    )
)
def test_the_sum_of_all_snapshots_is_what_was_counted(steps: list[tuple[bool, list[tuple[int, int]]]]) -> None:
    """Of three threads that move about and come to an end."""
    counters = [0, 0, 0]
    samples = []
    for number, (kept, moves) in enumerate(steps):
        counters = [counter + more for counter, (_, more) in zip(counters, moves, strict=True)]
        values = [
            (1, thread, cpu, (counter,)) for thread, (counter, (cpu, _)) in enumerate(zip(counters, moves, strict=True))
        ]
        samples.append(sample(number, kept or number == len(steps) - 1, *values))
    taken = reduced(samples).snapshots
    assert sum(counts["C"] for one in taken for counts in one.counts.values()) == sum(counters)
    assert len(taken) == sum(one.kept for one in samples)
    assert {cpu for one in taken for cpu in one.counts} <= {-1, *CPUS}
