"""Histories that were measured in several sessions, between which the machine moved."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings, sessions
from perfcore_check_changepoint.runs import Runs

from perfcore.measure.sessions import planned
from perfcore.model import Change, Series
from perfcore.model.record import replace

from .histories import series, version

Plan = Sequence[Sequence[int]]

COUNT, MOST, RUNS = 200, 64, 4
STRETCHES = [range(start, min(start + MOST, COUNT)) for start in range(0, COUNT, MOST)]
SHARING = [range(start, min(start + MOST, COUNT)) for start in range(0, COUNT - 12, MOST - 12)]
TURNS = planned(COUNT, MOST)


def _measured(plan: Plan, seed: int, steps: Sequence[tuple[int, float]] = (), noise: float = 0.012) -> Series:
    """Sessions differ by 1 to 3 %, versions by the noise, half of which is another one in every session."""
    draw = np.random.default_rng(seed)
    count = max(map(max, plan)) + 1
    offsets = draw.uniform(0.01, 0.03, len(plan)) * draw.choice([-1, 1], len(plan))
    own = draw.normal(0, noise * math.sqrt(0.5), count)
    for place, size in steps:
        own[place:] += size
    values: list[list[float]] = [[] for _ in range(count)]
    sessions: list[list[tuple[str, int]]] = [[] for _ in range(count)]
    for number, places in enumerate(plan):
        for place in places:
            level = own[place] + offsets[number] + draw.normal(0, noise * math.sqrt(0.5))
            values[place] += (100 * np.exp(level + draw.normal(0, noise, RUNS))).tolist()
            sessions[place].append((f"{number:012}", RUNS))
    return series(values, sessions=tuple(map(tuple, sessions)))


def _scan(given: Series, state: bytes | None = None) -> list[Change]:
    return list(ChangepointCheck(ChangepointSettings()).scan(given, state)[0])


def _untold(given: Series) -> Series:
    return replace(given, sessions=())


def _place(change: Change) -> int:
    return int(change.target[:8])


def test_what_the_machine_did_between_sessions_is_no_change() -> None:
    """Measured in stretches it is one at half of the places where two of them meet."""
    stretches = [_scan(_measured(STRETCHES, seed)) for seed in range(12)]
    assert sum(map(len, stretches)) >= 15
    assert {64 * round(_place(change) / 64) for some in stretches for change in some} == {64, 128, 192}
    assert sum(len(_scan(_measured(TURNS, seed))) for seed in range(12)) <= 1


def test_a_step_that_no_machine_makes_is_a_change_wherever_a_session_begins() -> None:
    for seed in range(4):
        for size, kind in ((0.5, "degradation"), (-0.5, "optimization")):
            (change,) = _scan(_measured([range(8), range(8, 16)], seed, [(8, size)]))
            assert (change.kind, _place(change)) == (kind, 8)


def test_a_level_with_many_runs_of_little_noise_is_found() -> None:
    """As of a program that always takes the same, measured by a clock that always errs in the same way."""
    runs = [[level + run * 7919 % 13 * level / 1000 for run in range(12)] for level in (1e8, 2e8)]
    for count in (6, 8, 10):
        (change,) = _scan(series([runs[0]] * count + [runs[1]] * count))
        assert (change.kind, _place(change)) == ("degradation", count)


def test_what_the_code_did_is_found_wherever_it_is_and_with_its_size() -> None:
    found = {
        (seed, place): _scan(_measured(TURNS, seed, [(place, 0.025)]))
        for seed in range(4)
        for place in (64, 100, 128, 132)
    }
    right = [
        key
        for key, some in found.items()
        if any(abs(_place(c) - key[1]) <= 6 and abs((c.ratio or 0) - 1.025) < 0.008 for c in some)
    ]
    assert len(right) >= 15
    assert sum(map(len, found.values())) <= 17


def test_the_sessions_make_the_difference() -> None:
    """Without them the offsets are noise, in which a change is lost, or another one seen: of 48 seeds in 24."""
    given = [_measured(TURNS, seed, [(100, 0.02)]) for seed in range(24, 48)]
    assert sum(map(_is_alone, map(_scan, given))) >= 22
    assert sum(map(_is_alone, map(_scan, map(_untold, given)))) <= 12


def _is_alone(found: list[Change]) -> bool:
    """Whether the change is told, and no other."""
    return [abs(_place(change) - 100) <= 6 for change in found] == [True]


def test_small_sessions_take_turns_as_well() -> None:
    assert sum(len(_scan(_measured(planned(COUNT, 16), seed))) for seed in range(6)) <= 1


@pytest.mark.parametrize(
    "plan",
    [[[number] for number in range(COUNT)], STRETCHES, [range(start, start + 5) for start in range(0, COUNT, 5)]],
    ids=["one version each", "stretches", "days"],
)
def test_sessions_that_meet_once_tell_nothing(plan: Plan) -> None:
    for seed in range(3):
        given = _measured(plan, seed, [(100, 0.04)])
        assert list(map(_place, _scan(given))) == list(map(_place, _scan(_untold(given))))


def test_a_session_that_shares_no_version_with_those_before_decides_nothing() -> None:
    """Sessions of eight versions in a row, nothing changed: what is seen where two of them meet is no regression."""
    plan = [range(start, start + 8) for start in range(0, 80, 8)]
    found = [change for seed in range(20) for change in _scan(_measured(plan, seed, noise=0.006))]
    assert len(found) >= 20
    assert sum(change.kind != "cannot tell" for change in found) <= 0.05 * len(found)
    told = next(change for change in found if change.kind == "cannot tell")
    session = f"{_place(told) // 8:012}"
    assert told.evidence.startswith(f"session {session} began here and shares no version with those before it")
    assert f"to decide: perf compare {told.baseline} {told.target} -- COMMAND" in told.evidence


@pytest.mark.parametrize("common", [1, 2])
def test_sessions_that_each_share_few_versions_with_the_next_are_told_from_the_code(common: int) -> None:
    plan = [range(40), *(range(start - common, start + 8) for start in range(40, 80, 8))]
    unchanged = [change for seed in range(20) for change in _scan(_measured(plan, seed, noise=0.006))]
    assert len(unchanged) <= 10
    assert sum(change.kind != "cannot tell" for change in unchanged) <= 1
    slower = [_scan(_measured(plan, seed, [(40, 0.04)], noise=0.006)) for seed in range(20)]
    assert sum(any((_place(c), c.kind) == (40, "degradation") for c in changes) for changes in slower) >= 15


@pytest.mark.parametrize("common", [1, 2])
def test_a_session_that_alone_shares_few_versions_decides_by_what_it_measured_itself(common: int) -> None:
    """Two versions at an old level do not make the machine's step to a new session one of the code."""
    plan = [range(40), range(40 - common, 48), *(range(start, start + 8) for start in range(48, 80, 8))]
    unchanged = [change for seed in range(20) for change in _scan(_measured(plan, seed, noise=0.006))]
    assert len(unchanged) >= 20
    assert sum(change.kind != "cannot tell" for change in unchanged) <= 0.1 * len(unchanged)
    words = {1: "shares only 1 version with", 2: "shares only 2 versions with"}[common]
    assert sum(words in change.evidence for change in unchanged) >= 5
    slower = [_scan(_measured(plan, seed, [(40, 0.04)], noise=0.006)) for seed in range(20)]
    assert sum(any((_place(c), c.kind) == (40, "degradation") for c in changes) for changes in slower) >= 12


def test_a_step_shortly_before_a_new_session_is_one() -> None:
    """The session before shows two versions of it, at the new level that the next session goes on with."""
    plan = [range(40), range(40, 60)]
    found = [_scan(_measured(plan, seed, [(38, 0.08)], noise=0.006)) for seed in range(10)]
    assert sum([(abs(_place(c) - 38) <= 1, c.kind) for c in some][:1] == [(True, "degradation")] for some in found) >= 9


def test_a_change_within_a_session_is_one_though_sessions_share_nothing() -> None:
    plan = [range(start, start + 40) for start in range(0, 80, 40)]
    kinds = [[c.kind for c in _scan(_measured(plan, seed, [(20, 0.1)])) if _place(c) == 20] for seed in range(5)]
    assert kinds == [["degradation"]] * 5


def test_a_change_between_stretches_counts_as_far_as_what_they_share_supports_it() -> None:
    """What twelve shared versions leave open is told in its interval."""
    assert sum(len(_scan(_measured(SHARING, seed))) for seed in range(8)) <= 1
    for seed in range(4):
        given = _measured(SHARING, seed, [(104, 0.06)])  # 104 is the first version of the third session
        (change,) = _scan(given)
        assert abs(_place(change) - 104) <= 2
        assert change.low is not None
        assert change.high is not None
        assert change.low < math.exp(0.06) < change.high


def test_exact_amounts_stay_what_they_are() -> None:
    for place in (64, 100):
        counts = [1_000_000.0 + 30_000 * (number >= place) for number in range(COUNT)]
        sessions = _measured(TURNS, 1).sessions
        values = [[count] * sum(runs for _, runs in some) for count, some in zip(counts, sessions, strict=True)]
        (change,) = _scan(series(values, sessions=sessions))
        assert (_place(change), change.ratio, change.low, change.high) == (place, 1.03, 1.03, 1.03)


def test_growing_by_one_gives_what_all_at_once_gives() -> None:
    whole = _measured(planned(700, MOST), 3, [(150, 0.04), (500, 0.05)])
    state = None
    for count in (300, 505, *range(640, 701)):
        part = replace(
            whole,
            versions=whole.versions[:count],
            environments=whole.environments[:count],
            values=whole.values[:count],
            sessions=whole.sessions[:count],
        )
        changes, state = ChangepointCheck(ChangepointSettings()).scan(part, state)
    at_once = _scan(whole)
    assert [replace(c, id="") for c in changes] == [replace(c, id="") for c in at_once]
    assert [round(_place(change) / 50) for change in at_once] == [3, 10]


def test_what_was_settled_of_other_sessions_is_looked_at_again() -> None:
    whole = _measured(planned(700, MOST), 3, [(150, 0.04)])
    _, state = ChangepointCheck(ChangepointSettings()).scan(_untold(whole), None)
    told = [replace(change, id="") for change in _scan(whole, state)]
    assert told == [replace(change, id="") for change in _scan(whole)]


@pytest.mark.parametrize(
    "sessions",
    [
        ((("a", 1),),),
        ((),) * COUNT,
        ((("", RUNS),),) * COUNT,
        ((("a", RUNS + 1),),) * COUNT,
        ((("a", RUNS),),) * COUNT,
        ((("\x1b'<", 1), ("b", RUNS - 1)),) * COUNT,
    ],
    ids=["too few", "none", "not known", "too many runs", "one", "two in every version"],
)
@pytest.mark.parametrize("scale", [1.0, 0.0, -1.0, 1e306, 1e-322])
def test_sessions_that_say_nothing_change_nothing(
    sessions: tuple[tuple[tuple[str, int], ...], ...], scale: float
) -> None:
    one = _measured([range(COUNT)], 1, [(100, 0.05)])
    given = replace(one, values=tuple(tuple(run * scale for run in runs) for runs in one.values), sessions=sessions)
    assert [change.target for change in _scan(given)] == [change.target for change in _scan(_untold(given))]


def test_offsets_beyond_what_numbers_hold_are_left_alone() -> None:
    given = _measured(TURNS, 1)
    wild = tuple(
        tuple(run * (1e300 if name.endswith("1") else 1e-300) for name, count in some for run in [100.0] * count)
        for some in given.sessions
    )
    assert all(
        change.target in {version(number)[:10] for number in range(COUNT)}
        for change in _scan(replace(given, values=wild))
    )


def test_what_sessions_share_is_taken_out_of_series_that_are_scanned_together() -> None:
    """Else the machine would be told anew wherever two sessions meet."""
    many = [
        replace(_measured(TURNS, 100 + number, [(100, 0.04)] if number == 3 else []), metric=f"m{number}")
        for number in range(8)
    ]
    found = ChangepointCheck(ChangepointSettings()).scan_many(many, {})
    assert [len(some) for some in found] == [0, 0, 0, 1, 0, 0, 0, 0]
    assert abs(_place(found[3][0]) - 100) <= 2


def test_many_sessions_are_aligned_without_a_matrix_of_all_pairs() -> None:
    """Of 667 sessions, a matrix of them and all of their meetings takes 21 MB."""
    given = _measured(planned(16_000, 32), 1)
    runs = Runs.of(given.values, given.sessions)
    tracemalloc.start()
    try:
        aligned = sessions.align(runs, 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert aligned is not None
    assert peak < 20 * runs.ends[-1] * 8  # a few arrays of all runs
