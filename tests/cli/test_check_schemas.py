"""Every JSON document of `perf check` has the form that its schema describes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing import profiles

from perfcore.library import History

if TYPE_CHECKING:
    from .conftest import Here


@pytest.fixture
def history(made: Callable[..., Here], slowed_template: Path) -> Here:
    """Two versions, the second twice as slow, with a contract."""
    here = made(slowed_template)
    here.write(".perfcontract.yml", "'*': [wall <= 1 ns, wall <= 1 h]\n")
    return here


@pytest.mark.parametrize("words", [(), ("all",)], ids=["version", "history"])
def test_a_check(history: Here, words: tuple[str, ...], follow_schema: Callable[[str, Any], None]) -> None:
    document = history.perf("check", *words, "--json", code=1).json
    follow_schema("check", document)
    assert document["changes"]


def test_a_version_without_a_baseline(here: Here, follow_schema: Callable[[str, Any], None]) -> None:
    here.register(profiles.timed())
    document = here.perf("check", "--json", code=9).json
    follow_schema("check", document)
    assert document["unpaired"]


def test_the_library_gives_the_same_document(history: Here) -> None:
    printed = history.perf("check", "--json", "--no-store", code=1).json
    assert json.loads(json.dumps(History(history.repository).check().as_json())) == printed


def test_a_calibration(history: Here, follow_schema: Callable[[str, Any], None]) -> None:
    document = history.perf("check", "--calibrate", "--json").json
    follow_schema("calibration", document)
    assert History(history.repository).calibrate().as_json() == document


def test_acceptances(history: Here, follow_schema: Callable[[str, Any], None]) -> None:
    id = next(c["id"] for c in history.perf("check", "--json", code=1).json["changes"] if c["metric"] == "cpu")
    follow_schema("ack", history.perf("check", "ack", id, "--why", "known", "--json").json)
    follow_schema("ack", history.perf("check", "ack", "--json").json)
    change, *companions = History(history.repository).accept(id[:10], why="again", author="Ann", undo=True).changed
    assert (change.change, change.accepted) == (id, False)
    assert [companion.accepted for companion in companions] == [False], "wall time, which changed with it"
    assert history.perf("check", "ack", "--json").json["accepted"] == []
