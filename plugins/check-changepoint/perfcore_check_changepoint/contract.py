"""How the laws of the kind check are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from perfcore.hookspecs import Check
from perfcore.model import Change, Series
from perfcore.testing.check import NAN, noisy
from perfcore.testing.kinds import misfits
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings

KINDS = ("degradation", "optimization", "variance", "machine", "same", "cannot tell")


def series(values: Sequence[float], environments: Sequence[str] | None = None, **how: Any) -> Series:
    """A history as perfcore gives it to a check."""
    fields = {"config_id": "c" * 40, "metric": "cpu", "unit": "ns", "resource": ""} | how
    return Series(
        versions=tuple(f"{number:08d}" + "f" * 32 for number in range(len(values))),
        environments=tuple(environments or ["e" * 40] * len(values)),
        values=tuple((value,) for value in values),
        **fields,
    )


def steps(factor: float, better: str = "lower") -> Series:
    """A history that is stable, and then stable elsewhere."""
    return series([*noisy(5e6, 1, runs=40), *noisy(5e6 * factor, 2, runs=40)], better=better)


def _assert_sound(change: Change, scanned: Series) -> None:
    assert change.kind in KINDS
    assert change.id
    assert change.evidence
    assert change.evidence.isprintable(), f"not for a terminal: {change.evidence!r}"
    assert (change.config_id, change.metric, change.unit) == (scanned.config_id, scanned.metric, scanned.unit)
    shown = [version[:10] for version in scanned.versions]
    assert shown.index(change.baseline) < shown.index(change.target)
    numbers = (change.baseline_value, change.target_value, change.ratio, change.low, change.high)
    assert all(number is None or math.isfinite(number) for number in numbers), change
    assert (change.low is None) == (change.high is None) == (change.confidence is None)
    if change.low is not None and change.high is not None and change.ratio is not None:
        assert change.low <= change.ratio <= change.high
    assert change.p_value is None or 0 <= change.p_value <= 1


class ChangepointContract:
    """What it keeps as a check with `scan`; those with `compare` have other laws."""

    @pytest.fixture
    def driver(self) -> ChangepointCheck:
        return ChangepointCheck(ChangepointSettings())

    def test_fits_the_specification(self, driver: Check) -> None:
        assert misfits("check", driver) == []

    @pytest.mark.parametrize("factor", [2.0, 0.5])
    @pytest.mark.parametrize("better", ["lower", "higher"])
    def test_a_large_clear_change_is_found(self, driver: Check, factor: float, better: str) -> None:
        scanned = steps(factor, better)
        (change,) = driver.scan(scanned, None)[0]
        _assert_sound(change, scanned)
        assert change.kind == ("degradation" if (factor > 1) == (better == "lower") else "optimization")
        assert change.ratio == pytest.approx(factor, rel=0.02)
        assert change.target == scanned.versions[40][:10]

    def test_noise_alone_is_seldom_a_change(self, driver: Check) -> None:
        found = sum(len(driver.scan(series(noisy(5e6, seed, runs=80)), None)[0]) for seed in range(20))
        assert found <= 2

    @pytest.mark.parametrize("nothing", [NAN, math.inf])
    def test_a_missing_amount_is_not_zero(self, driver: Check, nothing: float) -> None:
        values = noisy(5e6, 1, runs=80)
        values[::4] = [nothing] * 20
        assert list(driver.scan(series(values), None)[0]) == []

    def test_is_deterministic_and_leaves_the_series_as_it_is(self, driver: Check) -> None:
        scanned, same = steps(1.05), steps(1.05)
        assert driver.scan(scanned, None) == driver.scan(scanned, None)
        assert scanned == same

    def test_a_second_scan_with_its_state_says_the_same(self, driver: Check) -> None:
        changes, state = driver.scan(steps(1.05), None)
        assert driver.scan(steps(1.05), state) == (changes, state)

    def test_ids_tell_changes_apart(self, driver: Check) -> None:
        ids = [
            change.id
            for how in ({}, {"metric": "wall"}, {"resource": "main"}, {"config_id": "d" * 40})
            for change in driver.scan(series([1.0] * 9 + [2.0] * 9 + [1.0] * 9, **how), None)[0]
        ]
        assert len(set(ids)) == len(ids) == 8

    def test_says_the_same_in_another_process(self) -> None:
        """Ids, numbers and state are stored, so they depend on nothing but the data and the settings."""
        script = """\
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from perfcore_check_changepoint.contract import steps
print(ChangepointCheck(ChangepointSettings()).scan(steps(1.05), None))
"""
        said = set()
        for seed in ("1", "2"):
            done = subprocess.run(
                [sys.executable, "-c", script],
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONHASHSEED": seed},
            )
            assert done.returncode == 0, done.stderr
            said.add(done.stdout)
        assert len(said) == 1

    @pytest.mark.parametrize("name", ["\x1b[31mred", "a\nb", "<script>", "naïve 時間", "", "\u202eB"])
    def test_names_are_hostile(self, driver: Check, name: str) -> None:
        values = [1.0] * 9 + [2.0] * 9
        scanned = series(values, [name] * 9 + [name + "x"] * 9, metric=name, unit=name, resource=name)
        changes, state = driver.scan(scanned, None)
        json.loads(state)
        assert changes
        for change in changes:
            _assert_sound(change, scanned)
