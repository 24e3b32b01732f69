"""Which run is taken when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfcore.errors import UsageError
from perfcore.measure import schedule
from perfcore.measure.schedule import LEAST_RUNS, Schedule, Turn

_schedules = st.builds(
    lambda repeat, warmup, order: Schedule(repeat=repeat, warmup=warmup, order=order),
    st.integers(1, 6),
    st.integers(0, 3),
    st.sampled_from(["interleaved", "blocks", "random"]),
)


def _clock(step: float = 1.0) -> Iterator[float]:
    now = 0.0
    while True:
        yield now
        now += step


def _turns(*schedules: Schedule, step: float = 1.0) -> list[Turn]:
    ticks = _clock(step)
    return list(schedule.turns(list(schedules), lambda: next(ticks)))


@given(st.lists(_schedules, min_size=1, max_size=4))
def test_every_job_gets_its_runs_and_its_warm_up(schedules: list[Schedule]) -> None:
    turns = _turns(*schedules)
    counted = Counter((turn.job, turn.warmup) for turn in turns)
    for number, wanted in enumerate(schedules):
        assert counted[number, False] == wanted.repeat
        assert counted[number, True] == wanted.warmup


@given(st.lists(_schedules, min_size=1, max_size=4))
def test_no_two_runs_of_a_job_share_a_block_and_warm_up_comes_first(schedules: list[Schedule]) -> None:
    turns = _turns(*schedules)
    assert len({(turn.job, turn.block) for turn in turns}) == len(turns)
    assert [turn.warmup for turn in turns] == sorted((turn.warmup for turn in turns), reverse=True)
    assert [turn.block for turn in turns] == sorted(turn.block for turn in turns)


def test_jobs_take_turns_every_other_block_backwards() -> None:
    turns = _turns(Schedule(repeat=3, warmup=0), Schedule(repeat=3, warmup=0))
    assert [turn.job for turn in turns] == [0, 1, 1, 0, 0, 1]
    assert [turn.position for turn in turns] == [0, 1, 0, 1, 0, 1]


def test_runs_follow_where_no_other_job_takes_turns_and_no_time_is_set() -> None:
    alone, limited = Schedule(repeat=3, warmup=2), Schedule(repeat=3, warmup=0, budget=100.0)
    assert [turn.following for turn in _turns(alone)] == [0, 0, 2, 1, 0]
    assert {turn.following for turn in _turns(limited)} == {0}
    assert [turn.following for turn in _turns(alone, Schedule(repeat=5, warmup=0))] == [0] * 8 + [1, 0]
    in_blocks = (Schedule(repeat=2, warmup=0, order="blocks"),) * 2
    assert [turn.following for turn in _turns(*in_blocks)] == [1, 0, 1, 0]


def test_in_blocks_a_job_is_finished_before_the_next_and_shares_no_block_with_it() -> None:
    turns = _turns(Schedule(repeat=2, warmup=0, order="blocks"), Schedule(repeat=2, warmup=0, order="blocks"))
    assert [turn.job for turn in turns] == [0, 0, 1, 1]
    assert [turn.block for turn in turns] == [0, 1, 2, 3]


def test_random_is_the_same_random_every_time() -> None:
    jobs = [Schedule(repeat=5, warmup=0, order="random")] * 4
    assert _turns(*jobs) == _turns(*jobs)
    assert [turn.job for turn in _turns(*jobs)] != [0, 1, 2, 3] * 5


def test_a_budget_ends_by_the_clock_but_not_before_the_least_runs() -> None:
    assert len(_turns(Schedule(budget=10, warmup=0), step=1)) > LEAST_RUNS
    assert len(_turns(Schedule(budget=10, warmup=0), step=1000)) == LEAST_RUNS


def test_jobs_that_share_the_time_share_the_budget() -> None:
    alone = len(_turns(Schedule(budget=100, warmup=0)))
    both = Counter(turn.job for turn in _turns(Schedule(budget=100, warmup=0), Schedule(budget=100, warmup=0)))
    assert alone - 1 <= both[1] <= both[0] <= alone + 1


def test_later_layers_are_the_stronger() -> None:
    assert schedule.make({"repeat": 3, "warmup": 2}, {"repeat": 5}, where="here") == Schedule(repeat=5, warmup=2)


def test_options_of_the_schedule_are_told_from_those_of_the_collector() -> None:
    ours, theirs = schedule.split_options({"repeat": 1, "retry-disturbed": 2, "depth": 3})
    assert ours == {"repeat": 1, "retry_disturbed": 2}
    assert theirs == {"depth": 3}


@pytest.mark.parametrize("values", [{"repeat": 0}, {"repeat": "x"}, {"budget": -1}, {"order": "any"}, {"reps": 3}])
def test_what_makes_no_sense_is_a_usage_error(values: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="here"):
        schedule.make(values, where="here")


def test_again_is_a_block_of_all_that_are_left() -> None:
    assert [(turn.job, turn.block) for turn in schedule.again([0, 2], 7)] == [(2, 7), (0, 7)]
