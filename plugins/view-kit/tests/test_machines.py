"""Machines that take turns: who they are, and their amounts as on one of them."""

from __future__ import annotations

import re

import pytest
from perfcore_testing import histories
from perfcore_view_kit import machines
from perfcore_view_kit.history_chart import finding, history_chart
from perfcore_view_kit.palette import DASHES
from perfcore_view_kit.still import still

from perfcore.model.record import replace


def test_machines_take_turns_where_one_comes_back() -> None:
    assert machines.in_turns(["a", "b", "a"]) == ["a", "b"]
    assert machines.in_turns(["a", "a", "b", "c", "c"]) == []
    assert machines.in_turns(["a"] * 3) == machines.in_turns([]) == []


def test_amounts_as_on_one_machine_have_the_step_alone() -> None:
    series = histories.in_turns()
    factors = machines.factors_of_series(series)
    environments = [point.environment for point in series.points]
    assert list(factors)[-1] == environments[-1]
    assert sorted(factors.values()) == pytest.approx([1.0, 1.2, 1.44], rel=1e-6)
    medians = machines.on_one([point.median for point in series.points], environments, factors)
    assert medians == pytest.approx([1.44e7] * 15 + [2.16e7] * 15, rel=1e-6)


def test_a_machine_that_measured_only_after_a_step_is_not_scaled_by_it() -> None:
    series = histories.in_turns()
    first, _, third = list(dict.fromkeys(point.environment for point in series.points))
    points = [
        replace(point, environment=first) if point.environment == third and at < 15 else point
        for at, point in enumerate(series.points)
    ]
    points = [
        replace(point, values=(1e7,) if point.environment == first and at < 15 else point.values)
        for at, point in enumerate(points)
    ]
    factors = machines.factors_of_series(replace(series, points=tuple(points)))
    assert factors[first] == pytest.approx(1.44, rel=1e-6)


def test_a_drift_that_machines_measured_in_turns_is_no_part_of_their_factors() -> None:
    drift = histories.change(0, kind="drift", ratio=2.0, pace=1.024, until=f"{29:02x}" * 20)
    plain = histories.history([1e7 * 2 ** ((at + 1) / 30) * (1.3 if at > 20 and at % 2 else 1.0) for at in range(30)])
    points = [replace(point, environment="b" if at > 20 and at % 2 else "a") for at, point in enumerate(plain.points)]
    series = replace(plain, points=tuple(points), changes=(drift,))
    assert machines.factors_of_series(series) == pytest.approx({"a": 1.3, "b": 1.0}, rel=1e-6)


def test_amounts_of_zero_are_left_as_they_are() -> None:
    series = histories.in_turns()
    points = (replace(series.points[0], values=(0.0,)), *series.points[1:])
    assert machines.factors_of_series(replace(series, points=points)) == {}


def test_each_machine_has_a_line_with_its_own_levels_and_no_rule() -> None:
    data = history_chart(histories.in_turns())
    assert data.takes_turns
    assert data.rules == []
    assert len(data.lines) == 3
    for number, line in enumerate(data.lines):
        assert [at for at, value in enumerate(line.values) if value is not None] == list(range(number, 30, 3))
        low = 1e7 * 1.2**number
        assert [(level.start, level.end) for level in line.levels] == [
            (number, number + 12),
            (number + 15, number + 27),
        ]
        assert [level.first for level in line.levels] == pytest.approx([low, 1.5 * low])
    (mark,) = data.marks
    assert mark.line == 0
    assert "on 3:5a5a5a5a5a, one of 3 machines, 30 versions." in finding(histories.in_turns())


def test_the_levels_of_a_still_picture_have_the_dashes_of_their_lines() -> None:
    paths = re.findall(r'<path class="level"[^>]*>', still(history_chart(histories.in_turns())))
    assert len(paths) == 6
    dashes = [re.findall(r'stroke-dasharray="([^"]*)"', path) for path in paths]
    assert dashes == [[dash] if dash else [] for dash in DASHES[:3] for _ in range(2)]


def test_the_newest_value_is_that_of_the_machine_that_measured_it() -> None:
    series = histories.in_turns()
    points = (*series.points[:-1], replace(series.points[-1], values=()))
    assert "Now 18 ms on 2:5a5a5a5a5a, one of 3 machines" in finding(replace(series, points=points))


def test_machines_beyond_the_lines_of_a_chart_share_one() -> None:
    data = history_chart(histories.in_turns(machines=9))
    assert len(data.lines) == 6
    assert data.lines[-1].name == "4 other machines"
    assert sum(value is not None for line in data.lines for value in line.values) == 30
