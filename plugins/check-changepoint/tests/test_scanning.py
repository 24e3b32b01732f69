"""Histories as perfcore gives them, and changes as it shows them."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings

from perfcore.config.settings import structure
from perfcore.errors import UsageError
from perfcore.model import Change, Series
from perfcore.model.record import replace

from .histories import history, normal, series, version

VALUES = history(normal, 1, 100, [(40, 6.0), (48, -6.0), (80, 3.0)])


def _check(**options: float) -> ChangepointCheck:
    return ChangepointCheck(structure(ChangepointSettings, options, where="check changepoint"))


def _scan(given: Series, **options: float) -> list[Change]:
    return list(_check(**options).scan(given, None)[0])


def _first(given: Series, count: int) -> Series:
    return replace(
        given,
        versions=given.versions[:count],
        environments=given.environments[:count],
        values=given.values[:count],
    )


def test_a_change_has_everything_a_reader_needs() -> None:
    up, down, last = _scan(series(VALUES))
    assert [change.kind for change in (up, down, last)] == ["degradation", "optimization", "degradation"]
    assert (up.baseline, up.target) == (version(39)[:10], version(40)[:10])
    assert (up.metric, up.unit, up.config_id, up.primary, up.confidence) == ("cpu", "ns", "c" * 40, True, 0.95)
    assert up.ratio == pytest.approx(1.06, abs=0.01)
    assert up.ratio is not None
    assert up.low is not None
    assert up.high is not None
    assert up.low < up.ratio < up.high
    assert up.evidence == (
        "level 100 ns → 106 ns (95 %: +5.0 % to +6.1 %); came after 00000039ff, with 00000040ff; "
        "evidence 37.6 nats, p=4.3e-16; undone in 00000048ff"
    )
    assert "undone" not in down.evidence


def test_a_level_of_zero_is_zero() -> None:
    random = np.random.default_rng(1)
    measured = [list(0.1 * random.normal(1, 0.01, 5)) for _ in range(10)]
    zeros = [[0.0] * 5 for _ in range(10)]
    up, down = (
        next(change for change in _scan(series(values)) if change.kind == kind)
        for values, kind in ((zeros + measured, "degradation"), (measured + zeros, "optimization"))
    )
    assert (up.baseline_value, up.ratio) == (0.0, None)
    assert (down.target_value, down.ratio) == (0.0, None)


def test_higher_may_be_better() -> None:
    kinds = [change.kind for change in _scan(series(VALUES, better="higher"))]
    assert kinds == ["optimization", "degradation", "optimization"]


def test_another_noise_is_told_and_fails_no_build() -> None:
    random = np.random.default_rng(1)
    (change,) = _scan(series([*random.normal(100, 1, 60).tolist(), *random.normal(100, 4, 60).tolist()]))
    assert (change.kind, change.primary) == ("variance", True)
    assert change.evidence.startswith("noise ±0.806 ns → ±3.9 ns (95 %: +219.4 % to +633.9 %); came after")
    assert change.ratio == pytest.approx(4, rel=0.4)


def test_a_change_below_the_threshold_is_left_out() -> None:
    counts = [10**6] * 30 + [10**6 + 2000] * 30
    assert _scan(series(counts)) == []
    assert [change.ratio for change in _scan(series(counts), threshold=0.001)] == [pytest.approx(1.002)]


def test_the_more_series_are_looked_at_the_surer_a_change_has_to_be() -> None:
    weak = series(history(normal, 2, 100, [(50, 1.1)]))
    counts = [len(_scan(replace(weak, comparisons=count))) for count in (1, 10**4)]
    assert counts == [1, 0]


def test_another_machine_is_another_history() -> None:
    """It is slower from version 60 on; the code from version 90 on."""
    values = history(normal, 2, 120, [(60, 40.0), (90, 6.0)])
    machine, change = _scan(series(values, environments=["1:a"] * 60 + ["1:b\x1b[31m"] * 60))
    assert (machine.kind, machine.primary, machine.target) == ("machine", False, version(60)[:10])
    assert machine.evidence == (
        "the machine changed here (environment 1:a → 1:b\\x1b[31m): amounts before and after are not compared"
    )
    assert (change.kind, change.target) == ("degradation", version(90)[:10])


def test_machines_that_take_turns_are_two_histories_and_one_change() -> None:
    values = history(normal, 3, 120, [(70, 8.0)])
    turns = [value + (50 if number % 2 else 0) for number, value in enumerate(values)]
    machine, change = _scan(series(turns, environments=["a", "b"] * 60))
    assert (machine.kind, machine.target) == ("machine", version(1)[:10])
    assert machine.evidence == "b measures beside a from here on: their amounts are not compared"
    assert change.kind == "degradation"
    assert change.target in (version(70)[:10], version(71)[:10])


def test_versions_that_were_not_measured_are_in_the_range() -> None:
    values: list[list[float]] = [[value] for value in VALUES]
    for place in range(74, 80):
        values[place] = []
    *_, change = _scan(series(values))
    assert (change.baseline, change.target) == (version(73)[:10], version(80)[:10])
    assert (change.earliest, change.latest) == (version(74), version(80))
    words = "came after 00000073ff, between 00000074ff and 00000080ff, not all of which were measured"
    assert words in change.evidence


def test_versions_that_are_not_in_the_series_are_in_the_range() -> None:
    """Of every three versions of the branch one was measured."""
    given = series(history(normal, 2, 100, [(50, 6.0)]))
    given = replace(
        given,
        versions=tuple(version(3 * number) for number in range(100)),
        next_versions=(*(version(3 * number + 1) for number in range(99)), ""),
    )
    (change,) = _scan(given)
    assert change.target == version(150)[:10]
    assert (change.earliest, change.latest) == (version(148), version(150))
    assert "between 00000148ff and 00000150ff, not all of which were measured" in change.evidence


def test_a_series_scanned_with_others_has_the_range_of_its_own_versions() -> None:
    """The third series was measured in every fourth version, and changes in one of those that it lacks."""
    suite = [series(history(normal, 20 + number, 100)) for number in range(6)]
    sparse = history(normal, 30, 100, [(50, 8.0)])
    values = [(value,) if number % 4 == 0 else () for number, value in enumerate(sparse)]
    suite[2] = replace(suite[2], values=tuple(values))
    (change,) = _check().scan_many(suite, {})[2]
    assert (change.baseline, change.target) == (version(48)[:10], version(52)[:10])
    assert (change.earliest, change.latest) == (version(49), version(52))


def test_a_version_that_two_machines_measured_is_in_the_range_once() -> None:
    values = history(normal, 2, 100, [(50, 6.0)])
    given = series([amount for value in values for amount in (value, value + 40)], environments=["a", "b"] * 100)
    given = replace(given, versions=tuple(version(number // 2) for number in range(200)))
    changes = [change for change in _scan(given) if change.kind == "degradation"]
    assert [(change.earliest, change.latest) for change in changes] == [(version(50), version(50))]


def test_a_range_names_all_versions_that_may_have_brought_the_change() -> None:
    (change,) = _scan(series(history(normal, 2, 100, [(50, 1.3)])))
    assert "came after 00000046ff, between 00000047ff and 00000050ff" in change.evidence


def test_amounts_of_zero_have_no_ratio() -> None:
    (change,) = _scan(series([0] * 30 + [7] * 30))
    assert (change.kind, change.ratio, change.low, change.confidence) == ("degradation", None, None, None)
    assert (change.baseline_value, change.target_value) == (0, 7)


@pytest.mark.parametrize(
    "values",
    [
        [],
        [[]],
        [[5.0]],
        [[math.nan]] * 30,
        [[math.inf, -math.inf]] * 30,
        [[]] * 30,
        [[1.7e308], [-1.7e308]] * 15,
        [[5e-324], [0.0]] * 15,
        [[2.0**63]] * 30,
    ],
    ids=repr,
)
def test_hopeless_histories_have_no_changes(values: list[list[float]]) -> None:
    assert _scan(series(values)) == []


def test_a_series_that_is_no_table_is_refused() -> None:
    broken = replace(series(VALUES), environments=("e",))
    with pytest.raises(UsageError, match="100 versions, 1 environments and 100 values"):
        _scan(broken)


# ------------------------------------------------------------------------------------------- state


def test_growing_by_one_gives_what_all_at_once_gives() -> None:
    """Through more than a window. Ids may be of where a change was first seen."""
    steps = [(200, 5.0), (420, -4.0), (560, 6.0)]
    whole = series(history(normal, 5, 620, steps))
    state = None
    for count in range(500, 621):
        changes, state = _check().scan(_first(whole, count), state)
    at_once = _check().scan(whole, None)[0]
    assert [replace(c, id="") for c in changes] == [replace(c, id="") for c in at_once]
    assert [change.target for change in at_once] == [version(place)[:10] for place, _ in steps]


def test_a_change_keeps_its_id_when_more_data_move_it() -> None:
    whole = series(history(normal, 15, 120, [(80, 1.6)]))
    state, seen = None, []
    for count in range(82, 121):
        changes, state = _check().scan(_first(whole, count), state)
        seen += [(change.target, change.id) for change in changes]
    assert len({target for target, _ in seen}) > 1
    assert len({id for _, id in seen}) == 1


def test_the_state_is_small_and_the_past_is_not_recomputed() -> None:
    """A change that is taken out of it is not found again."""
    whole = series(history(normal, 5, 3000, [(200, 5.0)]))
    changes, state = _check().scan(whole, None)
    assert changes
    assert len(state) < 2000
    document = json.loads(state)
    document["environments"]["e" * 40]["changes"] = []
    assert _check().scan(whole, json.dumps(document).encode())[0] == []


@pytest.mark.parametrize("place", [0, 250, 700, 1100, 1199])
@pytest.mark.parametrize("how", ["measured again", "gone", "new", "measured on another machine"])
def test_a_past_that_became_another_is_scanned_as_it_is(how: str, place: int) -> None:
    machines = ["a", "a", "b"] * 400
    values: list[tuple[float, ...]] = [(v,) for v in history(normal, 5, 1200, [(200, 5.0), (420, -4.0), (900, 6.0)])]
    before = series(values, environments=machines)
    _, state = _check().scan(before, None)
    versions = list(before.versions)
    if how == "gone":
        del values[place], machines[place], versions[place]
    elif how == "new":
        values.insert(place, (250.0,))
        machines.insert(place, "b")
        versions.insert(place, "n" * 40)
    elif how == "measured again":
        values[place] = (values[place][0], 107.0)
    else:
        machines[place] = "b" if machines[place] == "a" else "a"
    after = replace(before, versions=tuple(versions), environments=tuple(machines), values=tuple(values))
    (kept, ended), (fresh, expected) = _check().scan(after, state), _check().scan(after, None)
    assert [replace(c, id="") for c in kept] == [replace(c, id="") for c in fresh]
    assert json.loads(ended)["environments"] == json.loads(expected)["environments"]
    moved = {change.target for change in fresh if change.target != "n" * 10}
    assert {c.id for c in kept if c.target in moved} >= {
        c.id for c in _check().scan(before, None)[0] if c.target in moved and c.kind != "machine"
    }


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"nonsense",
        b"\xff\xfe",
        b"{}",
        b"[]",
        b"null",
        b'{"format":3}',
        b'{"format":2}',
        b'{"format":2,"key":"","environments":[],"reported":[]}',
        b'{"format":2,"key":"","environments":{},"reported":[["e","level up",7,0]]}',
        b'{"format":2,"key":"","environments":{},"reported":[["e","level up","v",null]]}',
        b'{"format":1,"key":"","environments":{},"reported":[["e","level up","v"]]}',
    ],
)
def test_a_damaged_state_is_as_good_as_none(state: bytes) -> None:
    assert _check().scan(series(VALUES), state) == _check().scan(series(VALUES), None)


CHANGE = {
    "index": 5,
    "kind": "level",
    "earliest": 5,
    "latest": 5,
    "before": 1.0,
    "after": 2.0,
    "low": 0.5,
    "high": 1.5,
    "gain": 9.0,
    "p_value": 0.01,
}


def _changed(**fields: object) -> dict[str, object]:
    return {"changes": [list((CHANGE | fields).values())]}


@pytest.mark.parametrize(
    "entry",
    [
        {"steps": [[-1, ""]]},
        {"steps": [["x", ""]]},
        {"steps": [[10**9, ""]]},
        {"steps": [[300, 7]]},
        {"steps": [[300, "0" * 32]]},
        {"steps": [[300]]},
        {"steps": None},
        {"changes": [[1]]},
        {"changes": 7},
        _changed(index="5"),
        _changed(before="x"),
        _changed(gain=math.nan),
        _changed(index=10**6, latest=10**6),
        _changed(kind="\x1b"),
    ],
    ids=repr,
)
def test_a_state_with_a_damaged_entry_is_as_good_as_none(entry: dict[str, object]) -> None:
    given = series(history(normal, 5, 700, [(200, 5.0)]))
    expected, state = _check().scan(given, None)
    document = json.loads(state)
    document["environments"]["e" * 40] |= entry
    assert _check().scan(given, json.dumps(document).encode())[0] == expected


def test_a_history_that_lost_its_end_is_looked_at_again() -> None:
    given = series(history(normal, 5, 900, [(200, 5.0), (500, -5.0)]))
    _, state = _check().scan(given, None)
    for count in (0, 3, 150, 400, 899):
        shorter = _first(given, count)
        told = [replace(change, id="") for change in _check().scan(shorter, state)[0]]
        assert [change.evidence for change in told] == [change.evidence for change in _scan(shorter)]


def test_the_state_of_another_history_or_of_other_settings_is_not_used() -> None:
    long = series(history(normal, 5, 700, [(200, 5.0)]))
    _, state = _check().scan(long, None)
    other = replace(series(history(normal, 6, 700, [(100, 5.0)])), versions=tuple(v[::-1] for v in long.versions))
    assert [c.evidence for c in _check().scan(other, state)[0]] == [c.evidence for c in _scan(other)]
    strict = _check(penalty=2000)
    assert strict.scan(long, state)[0] == []


# ------------------------------------------------------------------------------------------- many


def _suite() -> list[Series]:
    random = np.random.default_rng(1)
    machine = np.where(np.arange(90) >= 60, 1.1, 1.0)
    made = []
    for number in range(12):
        amounts = 100 * machine * np.exp(random.normal(0, 0.008, 90))
        if number == 4:
            amounts[30:] *= 1.06
        made.append(series(amounts.tolist(), metric=f"m{number}"))
    return made


def test_what_moves_all_series_is_the_machine() -> None:
    found = _check().scan_many(_suite(), {})
    told = {number: [(c.kind, c.target) for c in some] for number, some in enumerate(found)}
    machine = ("machine", version(60)[:10])
    assert told.pop(4) == [("degradation", version(30)[:10]), machine]
    assert all(changes == [machine] for changes in told.values())
    step = found[0][0]
    assert (
        step.evidence
        == "12 of 12 series moved together by +10.3 %: put down to the machine and taken out of all of them"
    )
    assert (step.moved, step.measured, step.environments) == (12, 12, ("e" * 40,) * 2)
    assert step.ratio == pytest.approx(1.1, abs=0.01)
    assert step.ratio is not None
    assert step.low is not None
    assert step.high is not None
    assert step.low < step.ratio < step.high


def test_a_series_that_was_measured_on_one_side_only_shows_no_step_of_the_machine() -> None:
    suite = _suite()
    suite[0] = replace(suite[0], values=((),) * 60 + suite[0].values[60:])
    found = _check().scan_many(suite, {})
    assert found[0] == []
    assert [(change.kind, change.moved) for change in found[1]] == [("machine", 11)]


@pytest.mark.parametrize("per_session", [1, 90])
def test_what_moves_few_series_is_the_code_where_one_session_measured_both_sides(per_session: int) -> None:
    """The machine was the same then. Where the sessions differ, the row names both explanations."""
    sessions = tuple(((f"session {index // per_session}", 1),) for index in range(90))
    found = _check().scan_many([replace(one, sessions=sessions) for one in _suite()[:3]], {})
    kinds = {change.kind for changes in found for change in changes}
    assert all(version(60)[:10] in {change.target for change in changes} for changes in found)
    if per_session == 90:
        assert kinds == {"degradation"}
        return
    assert kinds == {"machine"}
    assert {change.moved for changes in found for change in changes} == {3}
    assert found[0][0].reason.startswith("moved together: the machine, or the code of all; to decide, measure both")
    assert f"--version {version(59)[:10]} --version {version(60)[:10]}" in found[0][0].reason


@pytest.mark.parametrize("count", [5, 12])
@pytest.mark.parametrize("in_turn", [False, True])
def test_what_all_of_a_suite_grow_by_little_by_little_is_told(count: int, in_turn: bool) -> None:
    """As one row with both explanations; where one session measured all of it, each of them drifted."""
    random = np.random.default_rng(3)
    sessions = ((("one", 1),),) * 60 if in_turn else ()
    growth = 1 + 0.01 * np.arange(60)
    suite = [
        replace(
            series((100 * growth * np.exp(random.normal(0, 0.008, 60))).tolist(), metric=f"m{i}"), sessions=sessions
        )
        for i in range(count)
    ]
    found = _check().scan_many(suite, {})
    if in_turn:
        drifts = [change for changes in found for change in changes if change.kind == "drift"]
        assert len(drifts) == count
        assert all(change.ratio == pytest.approx(1.59, abs=0.05) for change in drifts)
        assert all(change.baseline_value == pytest.approx(100, abs=5) for change in drifts)
        return
    assert sum(change.kind != "machine" for changes in found for change in changes) <= 2
    change = found[0][0]
    assert (change.kind, change.moved, change.measured) == ("machine", count, count)
    assert change.ratio == pytest.approx(1.59, abs=0.08)
    assert f"little by little until {version(59)[:10]}" in change.evidence
    assert f"--version {version(59)[:10]} --add" in change.reason


@pytest.mark.parametrize("in_turn", [False, True])
def test_what_half_of_a_suite_shows_at_once_has_one_row_with_both_explanations(in_turn: bool) -> None:
    """But where one session measured both sides, each of them changed. One changed by itself before."""
    suite = _suite()
    for number, one in enumerate(suite):
        values = [tuple(run / (1.1 if i >= 60 and number >= 6 else 1.0) for run in v) for i, v in enumerate(one.values)]
        suite[number] = replace(one, values=tuple(values), sessions=((("one", 1),),) * 90 if in_turn else ())
    found = _check().scan_many(suite, {})
    if in_turn:
        assert [len(changes) for changes in found] == [1] * 4 + [2, 1] + [0] * 6
        return
    rows = {
        (change.kind, change.moved, change.measured, change.evidence, change.reason)
        for changes in found
        for change in changes
        if change.target != version(30)[:10]
    }
    ((kind, moved, measured, evidence, reason),) = rows
    assert (kind, moved, measured) == ("machine", 6, 12)
    assert evidence.endswith("a machine that measures these, or code that all of these share")
    assert f"--version {version(59)[:10]} --version {version(60)[:10]}" in reason


def test_series_over_other_versions_are_refused() -> None:
    with pytest.raises(UsageError, match="cover different versions"):
        _check().scan_many([series(VALUES), series(VALUES[1:])], {})


def test_no_series_have_no_changes() -> None:
    assert _check().scan_many([], {}) == []


def test_a_suite_on_two_machines_is_two_suites() -> None:
    """The new machine is 30 % slower, and known to be another one."""
    suite = [
        replace(
            one,
            environments=("a",) * 60 + ("b",) * 30,
            values=tuple((v[0] * (1.3 if place >= 60 else 1),) for place, v in enumerate(one.values)),
        )
        for one in _suite()
    ]
    found = _check().scan_many(suite, {})
    assert [c.kind for c in found[4]] == ["degradation", "machine"]
    assert all([c.kind for c in some] == ["machine"] for number, some in enumerate(found) if number != 4)
    assert "environment a → b" in found[0][0].evidence


# ------------------------------------------------------------------------------------------- imports


def test_importing_the_plugin_loads_no_numpy() -> None:
    script = "import sys, perfcore_check_changepoint; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_detecting_loads_no_scipy() -> None:
    script = """\
import sys
from perfcore_check_changepoint import detect, detect_many
assert detect([1.0, 1.1] * 9 + [5.0, 5.1] * 9)
detect_many([[1.0, 1.1] * 9] * 9)
sys.exit("scipy" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
