"""When a decision about a change still holds, and when the change reopens by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from perfcore_command_kit import decisions
from perfcore_command_kit.standings import Standings
from perfcore_testing import results
from perfcore_testing.project import Project

from perfcore.model import Change
from perfcore.model.decisions import CONFIRMED, FIXED, Decision
from perfcore.repository.repository import Repository
from perfcore.store import notes

TODAY = "2026-06-15"


@pytest.fixture
def versions(project: Project) -> list[str]:
    """The ids of five versions, oldest first."""
    for number in range(4):
        project.commit(f"Version {number}")
    return project.git("rev-list", "--reverse", "HEAD").out.split()


@pytest.fixture
def repository(project: Project, versions: list[str]) -> Repository:
    return Repository.open(project.path)


@pytest.fixture
def step(versions: list[str]) -> Callable[..., Change]:
    """A step for the worse at the version of this number."""

    def make(number: int, ratio: float = 1.1, **fields: Any) -> Change:
        at = versions[number]
        facts: dict[str, Any] = {
            "id": f"step {number}",
            "baseline": versions[number - 1][:10],
            "target": at[:10],
            "earliest": at,
        }
        sizes: dict[str, Any] = {
            "ratio": ratio,
            "low": ratio - 0.02,
            "high": ratio + 0.02,
            "target_value": 1e6 * ratio**number,
        }
        return results.change(**{**facts, "latest": at, **sizes, **fields})

    return make


def decided(repository: Repository, change: Change, **fields: object) -> Standings:
    sizes = {"ratio": change.ratio, "low": change.low, "high": change.high}
    decision = results.acceptance(change.id, place=decisions.place(change), **{**sizes, **fields})
    decisions.keep(repository.store, decision)
    return Standings.of(repository, today=TODAY)


def reopened(standings: Standings, *changes: Change, **options: object) -> str:
    return standings.on(changes, **options)[changes[0].id].reopened  # type: ignore[arg-type]


def test_a_decision_holds_for_what_it_was_about(repository: Repository, step: Callable[..., Change]) -> None:
    standings = decided(repository, step(1))
    assert standings.on([step(1)])["step 1"].silences
    assert standings.on([step(2)]) == {}


@pytest.mark.parametrize(("date", "over"), [("2026-06-14", True), (TODAY, False), ("2027-01-01", False)])
def test_it_ends_after_its_day(repository: Repository, step: Callable[..., Change], date: str, over: bool) -> None:
    words = reopened(decided(repository, step(1), until_date=date), step(1))
    assert words == ("the decision ended on 2026-06-14" if over else "")


def test_it_ends_where_the_branch_has_its_version(
    repository: Repository, step: Callable[..., Change], versions: list[str], project: Project
) -> None:
    standings = decided(repository, step(1), until_version="v2.0")
    assert reopened(standings, step(1)) == "", "there is no such version yet"
    project.git("tag", "v2.0", versions[3])
    assert reopened(standings, step(1)) == "the decision ended at v2.0"
    assert reopened(replace(standings, head=versions[2]), step(1)) == "", "an older version does not have it"
    gone = decided(repository, step(1), until_version="--output=x", time=2)
    assert reopened(gone, step(1)) == ""


def test_it_ends_beyond_its_size(repository: Repository, step: Callable[..., Change]) -> None:
    standings = decided(repository, step(1), limit=0.15)
    assert reopened(standings, step(1, ratio=1.14)) == ""
    assert reopened(standings, step(1, ratio=1.16)) == "it is beyond 15 %"
    faster = decided(repository, step(2, ratio=0.9), limit=0.15)
    assert reopened(faster, step(2, ratio=0.8)) == "it is beyond 15 %"


def test_a_change_that_turns_out_to_be_half_as_much_again_reopens(
    repository: Repository, step: Callable[..., Change]
) -> None:
    standings = decided(repository, step(1))
    for ratio in (1.05, 1.1, 1.15, 1.18):
        assert reopened(standings, step(1, ratio=ratio)) == "", ratio
    assert reopened(standings, step(1, ratio=1.3)) == "it was +10.0 %"
    assert reopened(standings, step(1, ratio=1.3, low=1.05)) == "", "it may be no greater"
    assert reopened(standings, step(1, ratio=0.5)) == "", "better is no reason"
    old = decided(repository, step(2), ratio=None, low=None, high=None)
    assert reopened(old, step(2, ratio=3.0)) == "", "nobody knows how much was accepted"


def test_a_drift_stays_accepted_while_it_goes_on(repository: Repository, step: Callable[..., Change]) -> None:
    drift = step(1, kind="drift", until="f" * 40)
    assert reopened(decided(repository, drift), replace(drift, ratio=2.0, low=1.9, high=2.1)) == ""


def test_a_later_step_reopens_an_earlier_one_until_somebody_decides_on_it(
    repository: Repository, step: Callable[..., Change], versions: list[str]
) -> None:
    standings = decided(repository, step(1))
    assert reopened(standings, step(1), step(3)) == f"it went on at {versions[3][:10]}"
    for harmless in (
        step(3, undone=versions[4]),
        step(3, metric="wall"),
        step(3, kind="optimization", ratio=0.5),
        step(3, target_value=1e5),
    ):
        assert reopened(standings, step(1), harmless) == ""
    later = decided(repository, step(3))
    assert {id: each.reopened for id, each in later.on([step(1), step(3)]).items()} == {"step 1": "", "step 3": ""}
    assert later.on([step(3), step(1)])["step 3"].silences, "an earlier step is no later one"


def test_a_fix_has_to_show(repository: Repository, step: Callable[..., Change], versions: list[str]) -> None:
    standings = decided(repository, step(1), state=FIXED, accepted=False, fixed_in=versions[3])
    assert reopened(standings, step(1), measured=versions[:3]) == "", "the fix was not measured yet"
    assert reopened(standings, step(1), measured=versions) == f"the fix in {versions[3][:10]} does not show yet"
    assert reopened(standings, step(1, undone=versions[3]), measured=versions) == ""
    assert not standings.on([step(1)])["step 1"].silences


def test_a_moved_change_keeps_the_decision(
    repository: Repository, step: Callable[..., Change], versions: list[str]
) -> None:
    first = step(1, latest=versions[2])
    standings = decided(repository, first)
    moved = step(2, earliest=versions[1], latest=versions[2])
    assert standings.on([moved])["step 2"].decision.change == "step 1"


def test_a_withdrawal_on_the_moved_change_counts(
    repository: Repository, step: Callable[..., Change], versions: list[str]
) -> None:
    decided(repository, step(1, latest=versions[2]))
    moved = step(2, earliest=versions[1], latest=versions[2])
    assert decided(repository, moved, state="new", accepted=False, time=2).on([moved]) == {}


def test_two_people_are_of_one_mind_in_whatever_order_their_notes_come(
    repository: Repository, step: Callable[..., Change]
) -> None:
    decided(repository, step(1), author="Ann", state=CONFIRMED, accepted=False, time=5)
    decided(repository, step(1), author="Bob", time=7)
    standings = decided(repository, step(1), author="Cid", state="false alarm", time=6)
    assert standings.on([step(1)])["step 1"].decision.author == "Bob"


def test_an_entry_of_the_file_accepts_what_the_store_only_looks_into(
    project: Project, repository: Repository, step: Callable[..., Change]
) -> None:
    decided(repository, step(1), state=CONFIRMED, accepted=False)
    (project.path / ".perf-accepted.yml").write_text("accepted:\n- command: sort big.txt\n  why: reviewed\n")
    assert Standings.of(repository).on([step(1)])["step 1"].decision.why == "reviewed"


def test_plain_acceptances_are_written_as_ever(repository: Repository) -> None:
    decisions.keep(repository.store, Decision(change="1", why="x", author="A", time=7))
    (content,) = {note.content for note in notes.read(repository.store, decisions.SUBJECT)}
    assert content == (
        b'{"change":"1","why":"x","author":"A","time":7,"what":"","place":[],"accepted":true,"format":1}'
    )
