"""A machine that replaced another continues its history where several versions were measured on both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings

from perfcore.model import Change, Series
from perfcore.model.record import replace

from .histories import version

VERSIONS, REPLACED = 120, 60
CODE = {"degradation", "optimization", "drift", "improving drift", "variance", "cannot tell"}
LAST_TEN = tuple(range(REPLACED - 10, REPLACED))


def _history(
    seed: int,
    *,
    shared: Sequence[int] = LAST_TEN,
    steps: Sequence[tuple[int, float]] = (),
    factor: float = 1.3,
    noise: tuple[float, float] = (0.01, 0.01),
    **fields: object,
) -> Series:
    """The old machine measured all versions before the replacement, the new one those after it and the shared ones."""
    draw = np.random.default_rng(seed)
    level = np.full(VERSIONS, 5e6)
    for place, size in steps:
        level[place:] *= 1 + size
    old = level * np.exp(draw.normal(0, noise[0], VERSIONS))
    new = factor * level * np.exp(draw.normal(0, noise[1], VERSIONS))
    entries = [(number, "1:old", float(old[number])) for number in range(REPLACED)]
    entries += [(number, "1:new", float(new[number])) for number in (*shared, *range(REPLACED, VERSIONS))]
    return _series(sorted(entries), **fields)


def _series(entries: Sequence[tuple[int, str, float]], **fields: object) -> Series:
    given = {"config_id": "c" * 40, "metric": "cpu", "unit": "ns", "resource": ""} | fields
    return Series(
        versions=tuple(version(number) for number, _, _ in entries),
        environments=tuple(machine for _, machine, _ in entries),
        values=tuple((amount,) for _, _, amount in entries),
        **given,  # type: ignore[arg-type]
    )


def _scan(series: Series) -> list[Change]:
    return list(ChangepointCheck(ChangepointSettings()).scan(series, None)[0])


def _code(changes: Sequence[Change]) -> list[Change]:
    return [change for change in changes if change.kind in CODE]


def _machine(changes: Sequence[Change]) -> Change:
    (change,) = (change for change in changes if change.kind == "machine")
    return change


def test_one_line_says_what_continues_what_from_where_by_which_factor_and_how_that_is_known() -> None:
    machine = _machine(_scan(_history(1)))
    assert machine.ratio is not None
    assert machine.low is not None
    assert machine.high is not None
    assert machine.low < 1.3 < machine.high < 1.03 * machine.low
    assert (machine.baseline, machine.target) == (version(REPLACED - 1)[:10], version(REPLACED)[:10])
    assert machine.environments == ("1:old", "1:new")
    assert machine.evidence == (
        f"machine 1:new continues 1:old from {version(REPLACED)[:10]} on by a factor of {machine.ratio:.4g} "
        f"(95 %: {machine.low:.4g} to {machine.high:.4g}), from 10 versions measured on both"
    )


def test_the_step_of_the_machine_is_no_change_of_the_code() -> None:
    """Of 60 histories in which the code did not change, at most 3 may have one by chance: without a replacement it is
    about one in a hundred."""
    histories = [
        _history(seed, shared=LAST_TEN[-count:], factor=factor, noise=(0.01, spread))
        for seed, (count, factor, spread) in enumerate([(3, 0.6, 0.02), (5, 1.5, 0.005), (10, 1.1, 0.01)] * 20)
    ]
    results = [_scan(history) for history in histories]
    assert sum(bool(_code(changes)) for changes in results) <= 3
    assert all(_machine(changes).ratio is not None for changes in results)


def test_machines_of_different_noise_show_no_change_of_the_code() -> None:
    """One noise for both of them reports noise of the noisier machine as changes, in a quarter of these histories."""
    noises = [(0.03, 0.01), (0.01, 0.03)] * 50
    changes = [_code(_scan(_history(seed, noise=noise))) for seed, noise in enumerate(noises)]
    assert sum(map(bool, changes)) <= 10


@pytest.mark.parametrize("noise", [(0.01, 0.03), (0.03, 0.01)])
def test_small_steps_on_the_calmer_machine_are_found_beside_a_noisy_one(noise: tuple[float, float]) -> None:
    place = 30 if noise[0] < noise[1] else 90
    results = [_code(_scan(_history(seed, noise=noise, steps=[(place, 0.025)]))) for seed in range(40)]
    assert sum(any(abs(int(c.target[:8]) - place) <= 3 for c in changes) for changes in results) >= 35


def test_noise_that_grows_on_the_new_machine_has_its_amounts() -> None:
    growing = np.where(np.arange(VERSIONS) >= 90, 4.0, 1.0)
    draw = np.random.default_rng(12)
    old, new = (5e6 * np.exp(draw.normal(0, 1, VERSIONS) * noise) for noise in (0.005, 0.02 * growing))
    entries = [(number, "1:old", float(old[number])) for number in range(REPLACED)]
    entries += [(number, "1:new", 2 * float(new[number])) for number in (*LAST_TEN, *range(REPLACED, VERSIONS))]
    (variance,) = _code(_scan(_series(sorted(entries))))
    assert variance.kind == "variance"
    assert abs(int(variance.target[:8]) - 90) <= 5
    assert variance.baseline_value == pytest.approx(2 * 5e6 * 0.02, rel=0.4)
    assert variance.target_value == pytest.approx(2 * 5e6 * 0.08, rel=0.4)


@pytest.mark.parametrize("place", [REPLACED, REPLACED + 1, REPLACED + 8])
def test_a_change_of_the_code_around_the_replacement_is_found(place: int) -> None:
    """The shared versions are from all over the history of the old machine, which has another change in it."""
    shared = range(5, REPLACED, 7)
    results = [_scan(_history(seed, shared=shared, steps=[(25, 0.1), (place, 0.05)])) for seed in range(20)]
    found = [next((c for c in _code(r) if abs(int(c.target[:8]) - place) <= 2), None) for r in results]
    assert sum(change is not None and change.kind == "degradation" for change in found) >= 18
    covered = [c.low <= 1.05 <= c.high for c in found if c is not None and c.low is not None and c.high is not None]
    assert sum(covered) >= 16


def test_a_change_has_the_amounts_of_the_machine_that_measured_it() -> None:
    (early, late) = _code(_scan(_history(3, steps=[(30, 0.1), (90, 0.1)], factor=2.0)))
    assert early.baseline_value == pytest.approx(5e6, rel=0.01)
    assert late.baseline_value == pytest.approx(2.0 * 5.5e6, rel=0.01)
    assert late.target_value == pytest.approx(2.0 * 6.05e6, rel=0.01)


def test_a_change_keeps_its_id_when_older_versions_are_measured_on_the_new_machine() -> None:
    apart, joined = (_scan(_history(4, shared=shared, steps=[(90, 0.1)])) for shared in ((), LAST_TEN))
    assert "not compared" in _machine(apart).evidence
    assert [change.id for change in _code(joined)] == [change.id for change in _code(apart)] != []


@pytest.mark.parametrize("shared", [(), LAST_TEN[:1]])
def test_machines_with_fewer_versions_in_common_are_histories_of_their_own(shared: Sequence[int]) -> None:
    changes = _scan(_history(5, shared=shared, steps=[(REPLACED, 0.3)]))
    assert "are not compared" in _machine(changes).evidence
    assert _machine(changes).ratio is None
    assert _code(changes) == []


def test_a_change_that_may_be_an_error_of_the_factor_is_not_reported() -> None:
    """The shared versions vary by 3 %, so that three of them tell the factor to some percent. Where one machine
    measured everything, such a change is certain."""
    noise = np.random.default_rng(6).normal(0, 0.002, VERSIONS)
    amounts = 5e6 * np.exp(noise) * np.where(np.arange(VERSIONS) >= REPLACED, 1.015, 1.0)
    entries = [(number, "1:old", float(amount)) for number, amount in enumerate(amounts[:REPLACED])]
    ratios = {10: 1.27, 20: 1.3, 30: 1.33}
    entries += [(number, "1:new", float(amounts[number] * ratio)) for number, ratio in ratios.items()]
    entries += [(number, "1:new", float(amounts[number] * 1.3)) for number in range(REPLACED, VERSIONS)]
    assert [c.target for c in _code(_scan(_series([(n, "1:old", float(a)) for n, a in enumerate(amounts)])))] == [
        version(REPLACED)[:10]
    ]
    changes = _scan(_series(sorted(entries)))
    assert _machine(changes).ratio == pytest.approx(1.3, rel=0.01)
    assert [c for c in _code(changes) if abs(int(c.target[:8]) - REPLACED) < 10] == []


def test_shared_versions_of_one_session_tell_its_offset_once() -> None:
    """A session that measured nothing else may be off, and all of its versions with it."""
    history = _history(7)
    intervals = []
    for alone in (False, True):
        names = [
            f"{machine} {'old ones' if alone and machine == '1:new' and number < version(REPLACED) else number}"
            for number, machine in zip(history.versions, history.environments, strict=True)
        ]
        machine = _machine(_scan(replace(history, sessions=tuple(((name, 1),) for name in names))))
        assert machine.low is not None
        assert machine.high is not None
        intervals.append(machine.high - machine.low)
    assert intervals[1] == pytest.approx(intervals[0] * 10**0.5, rel=0.05)


def test_machines_that_replace_one_another_are_one_history() -> None:
    """With the doubt of all factors between, and a change that the third machine only shows."""
    draw = np.random.default_rng(8)
    level = 5e6 * np.where(np.arange(150) >= 100, 1.06, 1.0)
    spans = {"1:a": (1.0, range(50)), "1:b": (0.7, range(40, 100)), "1:c": (1.9, range(90, 150))}
    entries = [
        (number, machine, float(level[number] * factor * np.exp(draw.normal(0, 0.01))))
        for machine, (factor, span) in spans.items()
        for number in span
    ]
    changes = _scan(_series(sorted(entries)))
    steps = [change for change in changes if change.kind == "machine"]
    assert [(step.target, step.environments) for step in steps] == [
        (version(50)[:10], ("1:a", "1:b")),
        (version(100)[:10], ("1:b", "1:c")),
    ]
    assert [step.ratio for step in steps] == pytest.approx([0.7, 1.9 / 0.7], rel=0.02)
    assert [(c.kind, c.target) for c in _code(changes)] == [("degradation", version(100)[:10])]


def test_machines_that_both_measure_everything_stay_two_histories() -> None:
    history = _history(9, shared=range(VERSIONS))
    both = [
        (int(number[:8]), machine, values[0])
        for number, machine, values in zip(history.versions, history.environments, history.values, strict=True)
    ]
    both += [(number, "1:old", 5e6 + number) for number in range(REPLACED, VERSIONS)]
    assert _machine(_scan(_series(sorted(both)))).ratio is None


def test_amounts_of_zero_have_no_factor() -> None:
    history = _history(10)
    changes = _scan(replace(history, values=((0.0,), *history.values[1:])))
    assert _machine(changes).ratio is None


def test_a_history_that_grows_is_told_as_one_that_is_seen_for_the_first_time() -> None:
    whole, check, state = _history(11, steps=[(REPLACED, 0.1)]), ChangepointCheck(ChangepointSettings()), None
    for count in range(60, len(whole.versions) + 1, 7):
        part = {name: getattr(whole, name)[:count] for name in ("versions", "environments", "values")}
        changes, state = check.scan(replace(whole, **part), state)
        fresh = check.scan(replace(whole, **part), None)[0]
        assert [replace(c, id="") for c in changes] == [replace(c, id="") for c in fresh]
    assert len(_code(changes)) == 1


@pytest.mark.parametrize("count", [2, 8])
def test_every_series_of_a_suite_has_a_factor_of_its_own(count: int) -> None:
    suite = [
        _history(
            100 + index,
            factor=1 + 0.1 * index,
            steps=[(REPLACED, 0.08)] if index == 1 else [],
            config_id=f"{index:040}",
        )
        for index in range(count)
    ]
    results = ChangepointCheck(ChangepointSettings()).scan_many(suite, {})
    for index, changes in enumerate(results):
        assert _machine(changes).ratio == pytest.approx(1 + 0.1 * index, rel=0.02)
        found = [(c.kind, c.target) for c in _code(changes)]
        assert found == ([("degradation", version(REPLACED)[:10])] if index == 1 else [])


def test_a_suite_on_machines_of_different_noise_shows_no_change_of_the_code() -> None:
    suites = [
        [
            _history(100 * seed + index, factor=1 + 0.1 * index, noise=(0.03, 0.01), config_id=f"{index:040}")
            for index in range(8)
        ]
        for seed in range(6)
    ]
    results = [changes for suite in suites for changes in ChangepointCheck(ChangepointSettings()).scan_many(suite, {})]
    assert sum(bool(_code(changes)) for changes in results) <= 5
