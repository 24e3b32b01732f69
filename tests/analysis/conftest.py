"""Outcomes of checks that say what a test wants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from perfcore_testing import hostile

from perfcore.analysis.acceptance import Acceptance
from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.pairing import Unpaired
from perfcore.model import Change

KINDS = ("degradation", "optimization", "variance", "machine", "same", "cannot tell")


def a_change(kind: str = "degradation", **changes: Any) -> Change:
    facts: dict[str, Any] = {
        "id": f"id of {kind}",
        "kind": kind,
        "metric": "cpu",
        "unit": "ns",
        "label": "sort big.txt",
        "baseline": "aaaaaaaaaa",
        "target": "bbbbbbbbbb",
        "baseline_value": 1e6,
        "target_value": 2e6,
        "ratio": 2.0,
        "low": 1.9,
        "high": 2.1,
        "evidence": "12 pairs",
        **changes,
    }
    return Change(**facts)


def a_gap(**changes: Any) -> Unpaired:
    facts: dict[str, Any] = {"label": "gzip", "config_id": "1:x", "version": "c" * 40, "reason": "none was measured"}
    return Unpaired(**{**facts, **changes})


def an_acceptance(change: str, **changes: Any) -> Acceptance:
    return Acceptance(**{"change": change, "why": "it is safer", "author": "Ann", "time": 1, **changes})


@pytest.fixture
def change() -> Callable[..., Change]:
    return a_change


@pytest.fixture
def gap() -> Callable[..., Unpaired]:
    return a_gap


@pytest.fixture
def accept() -> Callable[..., Acceptance]:
    return an_acceptance


@pytest.fixture
def every_kind() -> CheckResult:
    """One change of every kind, one that was accepted, and something that was not compared."""
    accepted = a_change(id="accepted", label="sort --safe", primary=False)
    return CheckResult(
        changes=(*map(a_change, KINDS), accepted),
        unpaired=(a_gap(),),
        accepted={"accepted": an_acceptance("accepted")},
    )


@pytest.fixture
def hostile_outcome() -> CheckResult:
    """All texts of every part are such as occur in the wild."""
    names = (*hostile.NAMES, "x\x00\x1f\ufffe\uffff\ud800y", "::error::forged", "a,b:c%0A")
    changes = tuple(
        a_change(id=name, metric=name or "m", resource=name, unit=name, label=name, evidence=name, ratio=None)
        for name in names
    )
    gaps = tuple(a_gap(label=name, reason=name, version=name) for name in names)
    accepted = {name: an_acceptance(name, why=name, author=name) for name in names[::2]}
    return CheckResult(changes=changes, unpaired=gaps, accepted=accepted)
