"""What holds for every change, and that it fails where it does not."""

from __future__ import annotations

from typing import Any

import pytest
from perfcore_testing.changes import assert_the_same_elsewhere, assert_told

from perfcore.model import Change
from perfcore.model.record import replace

GOOD = Change(
    id="a", kind="same", metric="cpu", ratio=1.0, low=0.9, high=1.1, confidence=0.95, p_value=0.5, evidence="12 runs"
)


def test_a_good_change_passes_with_numbers_and_without() -> None:
    assert_told(GOOD)
    assert_told(replace(GOOD, ratio=None, low=None, high=None, confidence=None, p_value=None))


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"evidence": ""},
        {"evidence": "a\x1b[31mb"},
        {"ratio": float("nan")},
        {"high": float("inf")},
        {"baseline_value": float("inf")},
        {"low": None},
        {"confidence": None},
        {"ratio": None},
        {"ratio": 1.2},
        {"p_value": 1.5},
    ],
)
def test_a_wrong_change_fails(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        assert_told(replace(GOOD, **wrong))


class Constant:
    def compare(self, pairing: object) -> str:
        return "same"


class Hashed:
    def compare(self, pairing: object) -> int:
        return hash("what a process makes of it")


def test_a_check_that_depends_on_the_process_is_found_out(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(request.path.parent))
    for driver in (Constant(), Hashed()):
        type(driver).__module__ = request.path.stem
    assert_the_same_elsewhere(Constant(), "compare(None)", "perfcore_testing.check")
    with pytest.raises(AssertionError):
        assert_the_same_elsewhere(Hashed(), "compare(None)", "perfcore_testing.check")
