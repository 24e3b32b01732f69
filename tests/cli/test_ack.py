"""`perf check ack`: accept a change for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_testing import hostile, profiles

if TYPE_CHECKING:
    from .conftest import Here

MS = 1_000_000


@pytest.fixture(scope="module")
def found(made: Callable[..., Here], slowed_template: Path) -> Here:
    """Two versions: the second takes twice as long, which a check has found."""
    here = made(slowed_template)
    here.perf("check", code=1)
    return here


@pytest.fixture
def slower(found: Here, copied: Callable[[Here], Here]) -> Here:
    return copied(found)


def id_of(here: Here, metric: str = "cpu", target: str = "HEAD") -> str:
    changes = here.perf("check", target, "--json", "--no-store", code=None).json["changes"]
    return next(str(change["id"]) for change in changes if change["metric"] == metric)


def test_an_accepted_change_fails_no_check_and_is_shown_as_accepted(slower: Here) -> None:
    (row,) = (line for line in slower.perf("check", code=1).lines if line.startswith("slower  cpu"))
    short = next(word for word in row.split() if id_of(slower).startswith(word))
    done = slower.perf("check", "ack", short, "--why", "it is safer", "--author", "Ann")
    assert done.out.startswith(f"accepted {id_of(slower)} (slower +100.0 % cpu")
    checked = slower.perf("check")
    (line,) = (line for line in checked.lines if " cpu " in line)
    assert line.startswith("accepted")
    assert line.endswith("by Ann: it is safer, with wall +100.0 %")
    assert "1 change accepted" in checked.lines[-1]
    assert "(accepted: it is safer)" in slower.perf("status").out
    assert "(accepted: it is safer)" in slower.perf("log", "--short").out
    (cpu,) = (c for c in slower.perf("check", "--json").json["changes"] if c["metric"] == "cpu")
    assert cpu["accepted"]["author"] == "Ann"
    assert cpu["fails"] is False


def test_it_stays_accepted_when_more_runs_move_the_estimate(slower: Here) -> None:
    slower.perf("check", "ack", id_of(slower), "--why", "it is safer")
    slower.register(profiles.timed(runs=12, wall=260 * MS))
    done = slower.perf("check")
    assert "+100.0 %" not in next(line for line in done.lines if " cpu " in line)


def test_it_is_accepted_in_a_history_too(here: Here) -> None:
    for number in range(12):
        here.commit(f"Version {number}")
        here.register(profiles.timed(runs=12, wall=(100 if number < 6 else 200) * MS + number * MS // 10))
    assert here.perf("check", "all", code=1).lines[1].startswith("slower")
    here.perf("check", "HEAD~5", code=1)
    here.perf("check", "ack", id_of(here, target="HEAD~5"), "--why", "it is safer")
    assert here.perf("check", "all").lines[1].startswith("accepted")
    assert "accepted" in here.perf("check", "HEAD~5").out


def test_other_changes_still_fail(slower: Here) -> None:
    slower.perf("check", "ack", id_of(slower), "--why", "it is safer")
    slower.commit("Slower again")
    slower.register(profiles.timed(runs=12, wall=400 * MS))
    slower.perf("check", code=1)


def test_the_list_says_who_when_and_why(slower: Here) -> None:
    assert "no change is accepted" in slower.perf("check", "ack").err
    slower.perf("check", "ack", id_of(slower), "--why", "it is safer")
    for words in (("check", "ack"), ("check", "ack", "--list")):
        (line,) = (line for line in slower.perf(*words).lines if line.startswith(id_of(slower)[:10]))
        assert line.endswith("it is safer")
    rows = slower.perf("check", "ack", "--list", "--json").json["accepted"]
    (row,) = (row for row in rows if row["change"] == id_of(slower))
    assert row["why"] == "it is safer"
    assert row["author"] == "Tester <tester@example.org>", "as git says"
    assert row["time"] > 10**18


def test_it_can_be_taken_back_and_accepted_again(slower: Here) -> None:
    short = id_of(slower)[:8]
    slower.perf("check", "ack", short, "--why", "it is safer")
    assert slower.perf("check", "ack", "--undo", short).out.startswith("no longer accepted: ")
    slower.perf("check", code=1)
    assert slower.perf("check", "ack").out == ""
    slower.perf("check", "ack", "--undo", short, code=3)
    slower.perf("check", "ack", short, "--why", "after all")
    slower.perf("check")


def test_accepting_a_change_accepts_the_metrics_that_changed_with_it(slower: Here) -> None:
    """And taking it back takes them back, but not what was accepted for a reason of its own."""
    metrics = ("--fail-on", "degradation:cpu", "--fail-on", "degradation:wall")
    slower.perf("check", *metrics, code=1)
    assert len(slower.perf("check", "ack", id_of(slower), "--why", "it is safer").lines) == 1
    rows = slower.perf("check", "ack", "--list", "--json").json["accepted"]
    assert {row["change"] for row in rows} == {id_of(slower), id_of(slower, "wall")}
    assert "1 change accepted" in slower.perf("check", *metrics).lines[-1]
    assert slower.perf("check", "--no-store", "--format", "sarif").json["runs"][0]["results"][1:] == []
    slower.perf("check", "ack", "--undo", id_of(slower))
    slower.perf("check", "--fail-on", "never", "--fail-on", "degradation:wall", code=1)
    slower.perf("check", "ack", id_of(slower, "wall"), "--why", "it waits longer")
    slower.perf("check", "ack", id_of(slower), "--why", "it is safer")
    slower.perf("check", "ack", "--undo", id_of(slower, "wall"))
    slower.perf("check")


def test_several_at_once_share_a_reason(slower: Here) -> None:
    ids = [id_of(slower, metric) for metric in ("cpu", "wall")]
    slower.perf("check", "ack", *ids, "--why", "both")
    slower.perf("check", "--fail-on", "any-degradation", "--fail-on", "degradation:wall")
    assert len(slower.perf("check", "ack").lines) == 2


def test_what_nobody_kept_has_to_be_checked_before_it_is_accepted(slowed: Here) -> None:
    """The metrics that changed with it would else stay open."""
    unknown = "0" * len(id_of(slowed))
    slowed.perf("check", "ack", id_of(slowed)[:12], "--why", "x", code=3)
    done = slowed.perf("check", "ack", unknown, "--why", "x", code=3)
    assert "no stored result and no history has the change" in done.err
    assert "`perf check` stores what it finds" in done.err


@pytest.mark.parametrize("checked", [True, False])
def test_what_was_checked_or_is_in_the_history_is_accepted_with_its_companions(slowed: Here, checked: bool) -> None:
    if checked:
        slowed.perf("check", code=1)
    rows = slowed.perf("check", "ack", id_of(slowed), "--why", "x", "--json").json["changed"]
    assert {row["change"] for row in rows} == {id_of(slowed), id_of(slowed, "wall")}
    slowed.perf("check")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("nothing", "--why", "x"), 3, "there is no change 'nothing'"),
        (("--why", "x"), 2, "no change is named"),
        (("--undo",), 2, "no change is named"),
        (("abc",), 2, "an acceptance needs a reason"),
        (("abc", "--why", "  "), 2, "an acceptance needs a reason"),
        (("--list", "abc"), 2, "--list takes no change"),
        (("", "--why", "x"), 3, "changes begin with"),
        (("\x1b[31m", "--why", "x"), 3, "\\x1b[31m"),
    ],
)
def test_wrong_usage_is_one_error(slower: Here, words: tuple[str, ...], code: int, says: str) -> None:
    done = slower.perf("check", "ack", *words, code=code)
    assert says in done.err.replace("\\\\", "\\")
    assert hostile.unsafe(done.err) == set()


def test_a_beginning_that_fits_several_lists_them(slower: Here) -> None:
    known = [c["id"] for c in slower.perf("check", "--json", code=1).json["changes"]]
    digit = max("0123456789abcdef", key=lambda d: sum(id.startswith(d) for id in known))
    fitting = [id for id in known if id.startswith(digit)]
    done = slower.perf("check", "ack", digit, "--why", "x", code=3 if len(fitting) > 1 else 0)
    assert (f"{len(fitting)} changes begin with" in done.err) == (len(fitting) > 1)


def test_a_branch_of_that_name_can_still_be_checked(slower: Here) -> None:
    slower.git("branch", "ack")
    slower.perf("check", "refs/heads/ack", code=1)
    assert "accept" in slower.perf("check", "ack", "--help").out
    assert "perf check ack [OPTIONS]" in slower.perf("check", "ack", "--help").out


def test_hostile_reasons_stay_text(slower: Here) -> None:
    text = " ".join(hostile.NAMES).replace("\0", "")[:2000]
    slower.perf("check", "ack", id_of(slower), f"--why={text}", f"--author={text}")
    for words in (("check",), ("check", "ack"), ("status",), ("log",)):
        assert hostile.unsafe(slower.perf(*words).out) == set()


def test_acceptances_survive_garbage_collection(slower: Here) -> None:
    slower.perf("check", "ack", id_of(slower), "--why", "it is safer")
    slower.perf("gc", "--grace", "0")
    assert "OK: nothing is damaged or missing" in slower.perf("fsck").err
    slower.perf("check")
