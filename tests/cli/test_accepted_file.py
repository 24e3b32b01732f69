"""`.perf-accepted.yml`: acceptances that are committed with the code."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from perfcore_command_kit import accepted_file
from perfcore_command_kit.accepted_file import Entry
from perfcore_testing import hostile, profiles, results

from tests.cli.conftest import Here

FILE = ".perf-accepted.yml"
MS = 1_000_000


def version(here: Here, subject: str, wall: float, **files: str) -> str:
    made = here.commit(subject, **files)
    here.register(profiles.timed(runs=12, wall=int(wall * MS)))
    return made


def accept(here: Here) -> str:
    """Accept what fails in the working tree; gives the file."""
    (change,) = [change for change in here.perf("check", "--json", code=1).json["changes"] if change["fails"]]
    done = here.perf("check", "ack", "--in-repository", change["id"][:8], "--why", "it is safer", "--author", "Ann")
    assert f"accepted {change['id']}" in done.out
    return (here.path / FILE).read_text()


def test_an_entry_accepts_a_change_and_its_companions(slowed: Here) -> None:
    text = accept(slowed)
    assert 'why: "it is safer"' in text
    done = slowed.perf("check", "--json", "--fail-on", "any-degradation")
    accepted = {change["metric"]: change["accepted"] for change in done.json["changes"] if change["accepted"]}
    assert {"cpu", "wall"} <= set(accepted)
    assert accepted["cpu"]["author"] == "Ann"
    assert "accepted" in slowed.perf("check").out
    slowed.perf("check", "all")
    assert "(accepted: it is safer)" in slowed.perf("log", "--changes").out


def test_it_holds_for_a_gate_that_knows_only_the_repository(slowed: Here, made: Callable[..., Here]) -> None:
    """Another store, as in CI: what is accepted is in the commit."""
    text, here = accept(slowed), made()
    here.register(profiles.timed(runs=12, wall=100 * MS))
    version(here, "Slower", 200)
    here.perf("check", code=1)
    here.write(FILE, text)
    here.perf("check")


def test_it_goes_on_to_hold_when_commits_follow_and_when_they_are_squashed(slowed: Here) -> None:
    base = slowed.git("rev-parse", "HEAD~1").out.strip()
    accept(slowed)
    version(slowed, "Accepted", 200)
    slowed.perf("check", base, "HEAD")
    version(slowed, "And a typo", 200)
    slowed.perf("check", base, "HEAD")
    slowed.git("reset", "--soft", base)
    slowed.git("commit", "--quiet", "--message", "Squashed")
    slowed.register(profiles.timed(runs=12, wall=200 * MS))
    slowed.perf("check")
    slowed.perf("check", "all")


def test_a_later_or_larger_regression_is_a_new_one(slowed: Here) -> None:
    text = accept(slowed)
    version(slowed, "Accepted", 200)
    slowed.perf("check", "--allow-empty")
    version(slowed, "Slower again", 300)
    assert "slower" in slowed.perf("check", code=1).out
    slowed.git("checkout", "--quiet", "HEAD~3")
    slowed.write(FILE, text)
    version(slowed, "Much slower at once", 400)
    slowed.perf("check", code=1)


def test_without_its_entry_it_fails_again(slowed: Here) -> None:
    first = "# ours\naccepted:\n  # of last year\n  - {command: x, why: y}\n"
    slowed.write(FILE, first)
    text = accept(slowed)
    assert text.startswith(first)
    (id,) = {entry.change for entry in accepted_file.read(text.encode()) if entry.metric == "cpu"}
    assert "its entry is there already" in slowed.perf("check", "ack", "--in-repository", id, "--why", "x").err
    slowed.perf("check")
    assert "--in-repository withdraws an entry" in slowed.perf("check", "ack", "--undo", id[:8], code=3).err
    assert "no longer accepted" in slowed.perf("check", "ack", "--in-repository", "--undo", id[:8]).out
    assert (slowed.path / FILE).read_text() == first
    slowed.perf("check", code=1)


def test_what_was_accepted_alone_leaves_no_file(slowed: Here) -> None:
    accept(slowed)
    (id,) = [change["id"] for change in slowed.perf("check", "--json").json["changes"] if change["primary"]]
    slowed.perf("check", "ack", "--in-repository", "--undo", id)
    assert not (slowed.path / FILE).exists()


def test_both_kinds_are_listed(slowed: Here) -> None:
    changes = slowed.perf("check", "--json", code=1).json["changes"]
    (wall,) = [change["id"] for change in changes if change["metric"] == "wall"]
    slowed.perf("check", "ack", wall, "--why", "by hand", "--author", "Bo")
    accept(slowed)
    lines = slowed.perf("check", "ack").lines
    assert "by hand" in lines[-1]
    assert any("up to +" in line and "it is safer" in line for line in lines)
    assert slowed.perf("check", "ack", "--json").json["accepted"][0]["author"] in ("Ann", "Bo")


def test_an_unknown_change_is_no_entry(slowed: Here) -> None:
    assert "there is no change" in slowed.perf("check", "ack", "--in-repository", "1" * 20, "--why", "x", code=3).err
    assert not (slowed.path / FILE).exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("accepted: [\n", "line 2, is not YAML"),
        ("accept: []\n", "is not `accepted:` with a list"),
        ("accepted: {command: x}\n", "is not `accepted:` with a list"),
        ("accepted:\n- command: x\n  why: y\n- command: x\n", "line 4: option 'why' is required"),
        ("accepted:\n- {command: x, why: y, limits: 0.1}\n", "line 2: unknown option 'limits'"),
        ("accepted:\n- {command: x, why: y, limit: ten}\n", "line 2: 'limit' wants a number, got 'ten'"),
        ("accepted:\n- {command: x, why: y, limit: -1}\n", "'limit' is at least 0"),
    ],
)
def test_a_file_that_is_none_is_a_usage_error(slowed: Here, text: str, told: str) -> None:
    """It never accepts in silence, and the tables that only look go on."""
    slowed.perf("check", "--fail-on", "never")
    slowed.write(FILE, text)
    assert told in slowed.perf("check", code=2).err
    done = slowed.perf("log", "--changes")
    assert told in done.err
    assert "slower" in done.out


def test_a_file_without_entries_accepts_nothing(slowed: Here) -> None:
    for text in ("", "accepted:\n", "accepted: []\n"):
        slowed.write(FILE, text)
        slowed.perf("check", code=1)


def test_hostile_names_come_back() -> None:
    for name in hostile.NAMES:
        entry = Entry.of(
            results.change("degradation", label=name, resource=name, low=1.1, high=1.2), why=name, author=name
        )
        assert accepted_file.read(f"accepted:\n{entry.text()}".encode()) == (entry,)


def test_the_report_for_reviewers_has_the_lines_to_paste(slowed: Here) -> None:
    page = slowed.perf("check", "--format", "markdown", code=1).out
    block = page.split("~~~yaml\n")[1].split("~~~")[0]
    slowed.write(FILE, block)
    done = slowed.perf("check", "--format", "markdown")
    assert "accepted" in done.out
    assert "~~~yaml" not in done.out
