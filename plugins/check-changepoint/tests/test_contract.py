"""What every check with `scan` does."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings

from perfcore.hookspecs import Check
from perfcore.model import Change, Series
from perfcore.testing.check import NAN, noisy
from perfcore.testing.kinds import misfits

from .histories import series

KINDS = ("degradation", "optimization", "variance", "machine", "same", "cannot tell")


def _steps(factor: float, better: str = "lower") -> Series:
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


class TestContract:
    @pytest.fixture
    def driver(self) -> ChangepointCheck:
        return ChangepointCheck(ChangepointSettings())

    def test_fits_the_specification(self, driver: Check) -> None:
        assert misfits("check", driver) == []

    @pytest.mark.parametrize("factor", [2.0, 0.5])
    @pytest.mark.parametrize("better", ["lower", "higher"])
    def test_a_large_clear_change_is_found(self, driver: Check, factor: float, better: str) -> None:
        scanned = _steps(factor, better)
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
        scanned, same = _steps(1.05), _steps(1.05)
        assert driver.scan(scanned, None) == driver.scan(scanned, None)
        assert scanned == same

    def test_a_second_scan_with_its_state_says_the_same(self, driver: Check) -> None:
        changes, state = driver.scan(_steps(1.05), None)
        assert driver.scan(_steps(1.05), state) == (changes, state)

    def test_ids_tell_changes_apart(self, driver: Check) -> None:
        ids = [
            change.id
            for how in ({}, {"metric": "wall"}, {"resource": "main"}, {"config_id": "d" * 40})
            for change in driver.scan(series([1.0] * 9 + [2.0] * 9 + [1.0] * 9, **how), None)[0]
        ]
        assert len(set(ids)) == len(ids) == 8

    def test_says_the_same_in_another_process(self) -> None:
        """Ids, numbers and state are stored, so they depend on nothing but the data and the settings."""
        script = f"""\
import json, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from histories import history, normal, series
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
print(ChangepointCheck(ChangepointSettings()).scan(series(history(normal, 1, 90, [(50, 4.0)])), None))
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
