"""How runs are read from profiles and paired."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from perfcore_check_pair import PairCheck, PairSettings
from perfcore_check_pair.samples import pairs, read
from perfcore_testing.check import measured, noisy, pairing, sample

from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile.table import column, table


def _with_resources(**columns: list[Any]) -> Profile:
    """A profile with these columns as resources; `run` is an order, the others are values."""
    made = [column(name, values, role="order" if name == "run" else "value") for name, values in columns.items()]
    return replace(measured([1]), tables={"resources": table("resources", made)})


def _amounts(profile: Profile, name: str = "amount") -> list[float | None]:
    return [None if math.isnan(x) else x for x in read(sample(profile, None)).metrics[name].amounts]


def test_the_amount_of_a_run_is_the_sum_of_its_rows() -> None:
    assert _amounts(_with_resources(run=[1, 0, 1, 0], amount=[10, 1, 20, 2])) == [3, 30]


def test_missing_amounts_are_not_counted_and_a_run_without_any_has_none() -> None:
    assert _amounts(_with_resources(run=[0, 0, 1, 1], amount=[5, None, None, None])) == [5, None]


def test_a_run_with_a_value_that_is_no_number_has_no_amount() -> None:
    assert _amounts(_with_resources(run=[0, 0, 1], amount=[5.0, math.nan, 1.0])) == [None, 1]
    assert _amounts(_with_resources(run=[0, 1], amount=[math.inf, 1.0])) == [None, 1]


def test_a_profile_without_runs_is_one_run() -> None:
    assert _amounts(_with_resources(amount=[1, 2, 3])) == [6]
    assert _amounts(_with_resources(run=[None, None], amount=[1, 2])) == [3]


def test_rows_that_belong_to_no_run_do_not_count_where_others_do() -> None:
    assert _amounts(_with_resources(run=[0, None, 1], amount=[1, 100, 2])) == [1, 2]


def test_runs_may_be_called_anything() -> None:
    assert _amounts(_with_resources(run=["b", "a", "b"], amount=[1, 2, 3])) in ([4, 2], [2, 4])
    assert _amounts(_with_resources(run=[0.5, math.nan, 1.5], amount=[1, 2, 3])) == [1, 3]


def test_text_is_no_amount_even_if_it_is_called_a_value() -> None:
    assert "amount" not in read(sample(_with_resources(run=[0], amount=["12"]), None)).metrics


def test_warm_up_runs_do_not_count() -> None:
    profile = measured([9, 1, 2], session="s")
    runs = profile.tables["runs"].with_columns(column("warmup", [True, False, False]))
    assert _amounts(profile.replace_tables(runs=runs), "cpu") == [1, 2]


def test_a_unit_may_stand_in_the_header() -> None:
    profile = measured([1], unit="")
    named = replace(profile, header=replace(profile.header, units={"cpu": "B"}))
    assert read(sample(named, None)).metrics["cpu"].units == {"B"}


def test_runs_are_paired_by_session_and_block() -> None:
    """Also when profiles come in another order, and with runs that have no partner."""
    baseline = sample([measured([1, 2], session="x"), measured([3, 4, 5], session="y")], None)
    target = sample([measured([30, 40], session="y"), measured([10, 20], session="x")], None)
    couples = pairs(read(baseline), read(target), interleaved=False)
    assert couples is not None
    first = read(baseline).metrics["cpu"].amounts[couples[0]]
    second = read(target).metrics["cpu"].amounts[couples[1]]
    assert np.array_equal(first * 10, second)
    assert sorted(first) == [1, 2, 3, 4]


def test_several_runs_in_one_block_are_paired_by_position() -> None:
    def block(amounts: list[int], positions: list[int]) -> Profile:
        profile = measured(amounts, session="s")
        runs = profile.tables["runs"].with_columns(column("block", [0] * len(amounts)), column("position", positions))
        return profile.replace_tables(runs=runs)

    first, second = read(sample(block([1, 2], [3, 0]), None)), read(sample(block([20, 10], [1, 2]), None))
    assert pairs(first, second, interleaved=False) == ([1, 0], [0, 1])


def test_without_sessions_only_the_pairing_knows_that_runs_were_in_turn() -> None:
    first, second = read(sample(measured([1, 2, 3]), None)), read(sample(measured([1, 2]), None))
    assert pairs(first, second, interleaved=False) is None
    assert pairs(first, second, interleaved=True) == ([0, 1], [0, 1])


def test_other_sessions_are_not_partners() -> None:
    first, second = (read(sample(measured([1, 2], session=session), None)) for session in "xy")
    assert pairs(first, second, interleaved=False) is None


def test_blocks_of_one_session_that_were_not_taken_in_turn_are_no_partners() -> None:
    """One side after the other, though the blocks have the same numbers and the pairing says otherwise."""
    first, later = measured([1, 2, 3], session="s"), measured([1, 2, 3], session="s")
    runs = later.tables["runs"].with_columns(column("started", [10, 11, 12]))
    sides = read(sample(first, None)), read(sample(later.replace_tables(runs=runs), None))
    assert pairs(*sides, interleaved=True) is None
    assert pairs(*sides[::-1], interleaved=True) is None


def test_pairing_sees_through_drift_that_hides_the_change_in_blocks() -> None:
    drift = np.exp(np.linspace(0, 1, 12))
    amounts = [list(drift * np.array(noisy(center, seed, runs=12))) for seed, center in ((1, 5e6), (2, 5.5e6))]
    kinds = [
        PairCheck(PairSettings()).compare(pairing(*(measured(a, session=s) for a in amounts)))[0].kind
        for s in ("s", "")
    ]
    assert kinds == ["degradation", "cannot tell"]


def test_a_million_rows_are_summed_as_columns() -> None:
    runs = np.repeat(np.arange(12), 100_000)
    rows = np.tile(np.arange(100_000, dtype=np.int64), 12)
    made = [
        replace(measured([1]).tables["resources"]["run"], data=runs.data),
        replace(measured([1]).tables["resources"]["cpu"], data=rows.data),
    ]
    profile = replace(measured([1]), tables={"resources": table("resources", made)})
    assert _amounts(profile, "cpu") == [sum(range(100_000))] * 12


@pytest.mark.parametrize("runs", [1000, 100_000])
def test_many_runs_are_compared(runs: int) -> None:
    sides = [replace(measured([]), tables={"resources": _many(center, runs)}) for center in (5e6, 6e6)]
    change = PairCheck(PairSettings()).compare(pairing(*sides, interleaved=True))[0]
    assert change.kind == "degradation"
    assert change.low is not None
    assert change.high is not None
    assert change.high / change.low < 1.01


def _many(center: float, runs: int) -> Any:
    amounts = np.random.default_rng(int(center)).normal(center, center / 100, runs)
    return table(
        "resources",
        [column("run", list(range(runs)), role="order"), column("cpu", amounts.tolist(), unit="ns", role="value")],
    )
