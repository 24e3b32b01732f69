"""Sums first, then the ratio; absent where something is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_collect_papi import derived
from perfcore_collect_papi.names import DEFAULT_EVENTS

COUNTS = {"PAPI_TOT_INS": 3000, "PAPI_TOT_CYC": 2000, "PAPI_BR_INS": 500, "PAPI_BR_MSP": 5}


def test_the_usual_events_give_the_usual_ratios() -> None:
    assert dict(derived.ratios([DEFAULT_EVENTS], COUNTS)) == {
        "ipc": 1.5,
        "branch_miss_rate": 0.01,
        "branch_mpki": pytest.approx(1.667, rel=1e-3),
    }


def test_events_of_different_sets_give_nothing() -> None:
    """They were not counted at the same time."""
    assert dict(derived.ratios([["PAPI_TOT_INS"], ["PAPI_TOT_CYC"]], COUNTS)) == {}


def test_nothing_is_divided_by_nothing() -> None:
    counts = {**COUNTS, "PAPI_TOT_CYC": 0}
    assert "ipc" not in dict(derived.ratios([DEFAULT_EVENTS], counts))
    assert dict(derived.rates({"task-clock": 5}, 0, of_kernel=True)) == {}
    assert "frequency" not in dict(derived.rates({"task-clock": 0, "PAPI_TOT_CYC": 1}, 5, of_kernel=True))


def test_another_event_may_stand_in() -> None:
    events = ["PAPI_BR_MSP", "PAPI_BR_CN"]
    assert dict(derived.ratios([events], {"PAPI_BR_MSP": 1, "PAPI_BR_CN": 4}))["branch_miss_rate"] == 0.25
    both = [*events, "PAPI_BR_INS"]
    counts = {"PAPI_BR_MSP": 1, "PAPI_BR_CN": 4, "PAPI_BR_INS": 5}
    assert dict(derived.ratios([both], counts))["branch_miss_rate"] == 0.2


def test_rates_use_the_time_of_the_command() -> None:
    counts = {"task-clock": 4_000_000_000, "PAPI_TOT_CYC": 12_000_000_000, "PAPI_SP_OPS": 10, "PAPI_DP_OPS": 30}
    assert dict(derived.rates(counts, 2_000_000_000, of_kernel=True)) == {
        "cpus_utilized": 2.0,
        "frequency": 3e9,
        "flops": 20.0,
    }
    assert "frequency" not in dict(derived.rates(counts, 2_000_000_000, of_kernel=False))


def test_every_ratio_has_a_unique_meaning() -> None:
    assert len({(ratio.name, ratio.above, ratio.below) for ratio in derived.RATIOS}) == len(derived.RATIOS)


COUNT = st.integers(0, 3)
EVENTS = ("PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_BR_MSP", "PAPI_BR_INS", "PAPI_BR_CN", "PAPI_L1_DCM")


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(EVENTS, COUNT)), max_size=5))
def test_many_runs_at_once_give_what_each_gives(runs: list[dict[str, int]]) -> None:
    sets = [EVENTS]
    each = {(name, run, value) for run, counts in enumerate(runs) for name, value in derived.ratios(sets, counts)}
    columns = {event: [counts[event] for counts in runs] for event in EVENTS}
    at_once = [
        (name, *pair) for name, of, values in derived.by_run(sets, columns) for pair in zip(of, values, strict=True)
    ]
    assert len(at_once) == len(each)
    assert set(at_once) == each
