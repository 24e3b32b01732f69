"""The contract of checks that scan: some that break it, and which laws a check is held to."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from perfcore_testing.check import CheckContract
from perfcore_testing.laws import contract_of
from perfcore_testing.project import Project
from perfcore_testing.scan import HOPELESS, ScanContract, history, stepped

from perfcore.model import Change, Series
from perfcore.model.record import replace

SOUND = ChangepointCheck(ChangepointSettings())
Scan = Callable[[Series, bytes | None], tuple[Sequence[Change], bytes]]


class Made:
    """A scan that is sound, but for what is made of it."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan


def blind(series: Series, state: bytes | None) -> tuple[Sequence[Change], bytes]:
    return [], b""


def late(series: Series, state: bytes | None) -> tuple[Sequence[Change], bytes]:
    """Names the version after the one that did it."""
    changes, state = SOUND.scan(series, state)
    after = dict(itertools.pairwise(version[:10] for version in series.versions))
    return [replace(change, target=after[change.target], latest=series.versions[-1]) for change in changes], state


def over_machines(series: Series, state: bytes | None) -> tuple[Sequence[Change], bytes]:
    """Takes all machines for one."""
    return SOUND.scan(replace(series, environments=("",) * len(series.versions)), state)


def trusting(series: Series, state: bytes | None) -> tuple[Sequence[Change], bytes]:
    """Says what the state says."""
    changes, fresh = SOUND.scan(series, None)
    return (changes, fresh) if state in (None, fresh) else ([], fresh)


def renaming(series: Series, state: bytes | None) -> tuple[Sequence[Change], bytes]:
    """Names a change after all that was measured."""
    changes, state = SOUND.scan(series, state)
    return [replace(change, id=f"{change.id} {len(series.versions)}") for change in changes], state


def with_zeros(series: Series, state: bytes | None) -> tuple[Sequence[Change], bytes]:
    """Takes what was not measured for nothing."""
    return SOUND.scan(replace(series, values=tuple(values or (0.0,) for values in series.values)), state)


def printing(series: Series, state: bytes | None) -> tuple[Sequence[Change], bytes]:
    """Puts names into its evidence as they are."""
    changes, state = SOUND.scan(series, state)
    return [replace(change, evidence=f"{change.evidence} {series.unit}") for change in changes], state


class _Laws(ScanContract):
    """With its fixtures as plain functions."""

    def scanning(self, driver: Any) -> Any:
        return ScanContract.scan.__wrapped__(self, driver)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("law", "scan", "case"),
    [
        ("test_a_clear_step_is_found_where_it_is", blind, (2.0, "lower")),
        ("test_a_clear_step_is_found_where_it_is", late, (2.0, "lower")),
        ("test_another_machine_is_no_change_of_the_code", over_machines, ()),
        ("test_a_state_that_makes_no_sense_is_ignored", trusting, (3,)),
        ("test_a_state_changes_nothing_but_the_work", trusting, ()),
        ("test_ids_of_a_history_outlive_its_data", renaming, ()),
        ("test_versions_without_an_amount_are_not_zero", with_zeros, ((),)),
        ("test_names_in_histories_are_hostile", printing, ("\x1b[31mred",)),
    ],
)
def test_a_law_finds_the_scan_that_breaks_it(law: str, scan: Scan, case: tuple[Any, ...]) -> None:
    laws = _Laws()
    getattr(laws, law)(laws.scanning(Made(SOUND.scan)), *case)
    with pytest.raises(AssertionError):
        getattr(laws, law)(laws.scanning(Made(scan)), *case)


@pytest.mark.parametrize("name", HOPELESS)
def test_hopeless_histories_are_series(name: str) -> None:
    made = history(HOPELESS[name])
    assert len(made.versions) == len(made.environments) == len(made.values)
    assert len({version[:10] for version in stepped().versions}) == 80


BOTH = """
class Quiet:
    \"\"\"Says nothing.\"\"\"
    def compare(self, pairing):
        return []

    def scan(self, series, state):
        return [], b""
"""


def test_a_check_is_held_to_the_laws_of_all_it_does(project: Project) -> None:
    project.write("own.py", BOTH)
    project.write(".perfcore.yml", "plugins: {own: {check: {quiet: 'own.py:Quiet'}}}\n")
    project.perf("config", "trust", "--yes")
    told = project.perf("plugins", "check", "check:quiet", "--json", code=5).json["laws"]
    laws = {law["name"]: law["state"] for law in told}
    assert {name for each in (CheckContract, ScanContract) for name in dir(each) if name.startswith("test_")} == set(
        laws
    )
    assert laws["test_a_clear_step_is_found_where_it_is"] == "failed"
    assert laws["test_gives_one_verdict_for_every_metric"] == "failed"
    assert laws["test_a_scan_says_the_same_in_another_process"] == "not applicable"


def test_no_law_of_one_contract_hides_one_of_the_other() -> None:
    first, second = ({name for name in dir(each) if name.startswith("test_")} for each in (CheckContract, ScanContract))
    assert first & second == set()


def test_a_plugin_that_names_its_contract_is_held_to_it(tmp_path: Path) -> None:
    assert issubclass(contract_of("check", "changepoint", {}, tmp_path), ScanContract)
    assert not issubclass(contract_of("check", "pair", {}, tmp_path), ScanContract)
