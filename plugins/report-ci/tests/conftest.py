"""Results of checks that say what a test wants."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from perfcore_testing import results

from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change, Unpaired
from perfcore.model.decisions import Decision


@pytest.fixture
def change() -> Callable[..., Change]:
    return results.change


@pytest.fixture
def gap() -> Callable[..., Unpaired]:
    return results.unpaired


@pytest.fixture
def accept() -> Callable[..., Decision]:
    return results.acceptance


@pytest.fixture
def every_kind() -> CheckResult:
    return results.every_kind()


@pytest.fixture
def hostile_outcome() -> CheckResult:
    return results.hostile()
