"""The command as a plugin. `tests/cli` has its command lines."""

from __future__ import annotations

import pytest
from perfcore_command_check.contract import CheckContract
from perfcore_command_check.driver import Check
from perfcore_testing.profiles import timed
from perfcore_testing.project import Project

from perfcore.library import open_repository


class TestCheck(CheckContract):
    """Every law of the kind command."""


def test_the_call_is_the_check_of_the_library(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.use_home(monkeypatch)
    history = open_repository(project.path)
    for wall in (10_000_000, 10_000_001):
        history.save(timed(wall=wall))
    arguments = {"target": "1@p", "baseline": "0@p"}
    assert Check().call(history, arguments).as_json() == history.check("1@p", "0@p").as_json()
