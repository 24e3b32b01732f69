"""`perf check triage` on a history with a regression, from the command line to the gate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from perfcore_command_ack import triage
from perfcore_command_ack.contract import TriageContract
from perfcore_command_kit import decisions
from perfcore_testing import hostile, profiles
from perfcore_testing.measured import slow_and_steady
from perfcore_testing.project import Project, new_repository

from perfcore.errors import UsageError
from perfcore.library import open_repository
from perfcore.model.record import replace
from perfcore.profile.table import column, table

MS = 1_000_000


@pytest.fixture(scope="module")
def slowed_template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two versions, of which the second takes twice as long, which a check found."""
    project = new_repository(tmp_path_factory.mktemp("slowed"))
    project.commit("First")
    register(project, 100 * MS)
    project.commit("Slower")
    register(project, 200 * MS)
    project.perf("check", code=1)
    return project


@pytest.fixture
def slower(slowed_template: Project, tmp_path: Path) -> Project:
    copy = shutil.copytree(slowed_template.path, tmp_path / "project", symlinks=True)
    return Project(copy, slowed_template.home)


def register(project: Project, wall: int) -> None:
    history = open_repository(project.path)
    history.register(history.save(profiles.timed(runs=12, wall=wall)))


def id_of(project: Project) -> str:
    changes = project.perf("check", "--json", "--no-store", code=None).json["changes"]
    return next(str(change["id"]) for change in changes if change["metric"] == "cpu")


def follow_schema(document: Any) -> None:
    schema = json.loads((Path(__file__).parents[3] / "docs" / "schemas" / "triage.json").read_text())
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []


def test_nothing_is_decided_at_first(slower: Project) -> None:
    (line,) = slower.perf("check", "triage").lines
    assert line.split()[:4] == [id_of(slower)[:10], "new", "slower", "+100.0"]


def test_a_listed_change_names_its_command_and_version(slower: Project) -> None:
    (line,) = slower.perf("check", "triage").lines
    head = slower.git("rev-parse", "HEAD").out.strip()
    assert "cpu ./gzip -9 'big file.txt'" in line
    assert line.endswith(f"at {head[:10]}")


@pytest.mark.parametrize("fail_on", ["[degradation, 'degradation:wall']", "any-degradation"])
def test_a_metric_that_fails_the_check_is_listed_like_one_that_decides(slower: Project, fail_on: str) -> None:
    assert "wall" not in slower.perf("check", "triage").out
    slower.perf("config", "set", "check.fail_on", fail_on)
    command, *rows = slower.perf("check", "triage").lines
    assert command == "./gzip -9 'big file.txt'"
    assert {line.split()[5] for line in rows} == {"cpu", "wall"}
    assert not [line for line in rows if "gzip" in line]
    assert "and 1 more" in slower.perf("log", "--short").out
    assert {line.split()[4] for line in slower.perf("status").lines if "slower" in line} == {"cpu", "wall"}


@pytest.mark.parametrize(
    ("state", "word", "passes"),
    [
        ("confirmed", "slower", ""),
        ("accepted", "accepted", "1 change accepted"),
        ("false-alarm", "false alarm", "1 change a false alarm"),
        ("environment", "environment", "1 change explained by the environment"),
    ],
)
def test_the_state_is_shown_by_every_command(slower: Project, state: str, word: str, passes: str) -> None:
    done = slower.perf("check", "triage", id_of(slower)[:8], "--as", state, "--why", "we looked", "--author", "Ann")
    state = state.replace("-", " ")
    assert done.out.startswith(f"{state}: {id_of(slower)} slower +100.0 % cpu")
    checked = slower.perf("check", code=0 if passes else 1)
    assert checked.lines[-1].endswith(passes)
    line = next(line for line in checked.lines if " cpu " in line)
    assert line.startswith(word)
    assert "by Ann: we looked" in line
    assert f"({state}: we looked)" in slower.perf("log", "--short").out
    assert f"({state}: we looked)" in slower.perf("status").out
    assert f"{state} by " in slower.perf("check", "--format", "markdown", code=None).out
    (row,) = (c for c in slower.perf("check", "--json", code=None).json["changes"] if c["metric"] == "cpu")
    assert (row["decision"]["state"], row["decision"]["author"], row["fails"]) == (state, "Ann", not passes)
    assert (row["accepted"] is not None) == bool(passes)
    assert slower.perf("check", "triage").out.split()[1:2] == [state.split()[0]]


def test_a_version_names_all_that_got_worse_with_it(slower: Project) -> None:
    history, version = open_repository(slower.path), slower.git("rev-parse", "HEAD").out.strip()
    for wall, name in ((100 * MS, "HEAD~1"), (50 * MS, "HEAD")):
        other = replace(profiles.timed(runs=12, wall=wall), config_id="1:other")
        history.register(history.save(other), slower.git("rev-parse", name).out.strip())
    for wall, name in ((100 * MS, "HEAD~1"), (300 * MS, "HEAD")):
        other = replace(profiles.timed(runs=12, wall=wall), config_id="1:third")
        history.register(history.save(other), slower.git("rev-parse", name).out.strip())
    assert "2 regressions, 1 improvement" in slower.perf("check", code=1).lines[-1]
    done = slower.perf("check", "triage", version[:10], "--as", "accepted", "--why", "needed", "--json").json
    assert {made["what"].split()[0] for made in done["changed"]} == {"slower"}
    slower.perf("check")
    listed = [line for line in slower.perf("check", "triage", version).lines if not line.startswith(" ")]
    assert len(listed[1:]) == 2, "the list takes whole ids of versions, too"
    assert len(slower.perf("check", "triage", "--json").json["changes"]) == 3
    slower.perf("check", "triage", version[:7], "--as", "new")
    slower.perf("check", code=1)
    slower.perf("check", "ack", version[:10], "--why", "needed", "--in-repository")
    assert (slower.path / ".perf-accepted.yml").read_text().count('metric: "cpu"') == 2
    slower.perf("check", "ack", version[:10], "--undo", "--in-repository")
    for unknown in (version[:6], "0123456789"):
        assert "there is no change" in slower.perf("check", "triage", unknown, "--as", "confirmed", code=3).err


def test_what_is_decided_can_be_decided_again_and_the_log_keeps_all(slower: Project) -> None:
    id = id_of(slower)
    slower.perf("check", "triage", id, "--as", "confirmed", "--author", "Ann")
    follow_schema(slower.perf("check", "triage", id, "--as", "false alarm", "--why", "a cron job", "--json").json)
    slower.perf("check")
    slower.perf("check", "triage", id, "--as", "new")
    slower.perf("check", code=1)
    lines = slower.perf("check", "triage", id[:10]).lines
    assert lines[0].split()[1] == "new"
    assert [line.split("  ")[2].split()[0] for line in lines[1:]] == ["confirmed", "false", "withdrawn"]
    document = slower.perf("check", "triage", "--json").json
    follow_schema(document)
    (row,) = document["changes"]
    assert [decision["state"] for decision in row["log"]] == ["confirmed", "false alarm", "new"]


def test_the_acceptance_is_one_of_the_states(slower: Project) -> None:
    id = id_of(slower)
    slower.perf("check", "ack", id, "--why", "it is safer", "--until", "+150%")
    assert slower.perf("check", "triage").out.split()[1] == "accepted"
    assert "up to 150 %" in slower.perf("check", "triage", id).out
    slower.perf("check", "triage", id, "--as", "new")
    assert "no change is accepted" in slower.perf("check", "ack").err
    slower.perf("check", "triage", id, "--as", "environment", "--why", "new kernel")
    assert slower.perf("check", "ack", "--undo", id).out.startswith("no longer accepted")
    slower.perf("check", code=1)


def test_a_fix_is_named_and_has_to_show(slower: Project) -> None:
    slower.commit("Faster")
    (row,) = slower.perf("check", "triage", "--json").json["changes"]
    head = slower.git("rev-parse", "HEAD").out.strip()
    done = slower.perf("check", "triage", row["change"], "--as", "fixed", "--by", "HEAD")
    assert done.out.startswith(f"fixed in {head[:10]}: ")
    slower.perf("check", "HEAD~1", code=1)
    slower.perf("check", "all", code=1)
    assert [row["state"] for row in slower.perf("check", "triage", "--json").json["changes"]] == ["fixed"]
    register(slower, 200 * MS)
    slower.perf("check", "all", code=1)
    (row,) = slower.perf("check", "triage", "--json", "--open").json["changes"]
    assert (row["state"], row["reopened"]) == ("reopened", f"the fix in {head[:10]} does not show yet")
    assert f"(reopened: the fix in {head[:10]} does not show yet)" in slower.perf("log").out


def test_a_fix_shows_where_only_its_version_was_compared(slower: Project) -> None:
    (row,) = slower.perf("check", "triage", "--json").json["changes"]
    slower.commit("Faster")
    slower.perf("check", "triage", row["change"], "--as", "fixed", "--by", "HEAD")
    register(slower, 100 * MS)
    assert [row["state"] for row in slower.perf("check", "triage", "--json").json["changes"]] == ["reopened"]
    slower.perf("check")
    rows = {row["change"]: row["state"] for row in slower.perf("check", "triage", "--json").json["changes"]}
    assert rows[row["change"]] == "fixed"
    assert "(fixed)" in slower.perf("log").out


def test_decisions_travel_with_push_and_the_later_one_counts(slower: Project, tmp_path: Path) -> None:
    other = Project(shutil.copytree(slower.path, tmp_path / "other", symlinks=True), slower.home)
    id, shared = id_of(slower), tmp_path / "shared.git"
    slower.git("init", "--quiet", "--bare", str(shared))
    for project in (slower, other):
        project.perf("remote", "add", "origin", str(shared))
    slower.perf("check", "triage", id, "--as", "confirmed", "--author", "Ann")
    other.perf("check", "triage", id, "--as", "false alarm", "--why", "a cron job", "--author", "Bob")
    for project in (slower, other, slower):
        project.perf("pull")
        project.perf("push")
    logs = [project.perf("check", "triage", "--json").json["changes"][0] for project in (slower, other)]
    assert logs[0] == logs[1]
    assert [decision["author"] for decision in logs[0]["log"]] == ["Ann", "Bob"]
    assert logs[0]["state"] == "false alarm"


def test_a_decision_made_after_another_one_counts_even_if_a_clock_runs_ahead(slower: Project) -> None:
    repository, id = open_repository(slower.path).repository, id_of(slower)
    (first, *_) = triage.decide(repository, [id], "confirmed", author="Ann").changed
    # A note from a machine whose clock is an hour ahead.
    decisions.keep(repository.store, replace(first, time=first.time + 3600 * 10**9))
    triage.decide(repository, [id], "accepted", why="it is safer", author="Bob")
    (row,) = triage.stored_changes(repository)
    assert (row.state, row.log[-1].author) == ("accepted", "Bob")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"state": "good"}, "a change cannot be 'good'"),
        ({"state": "accepted"}, "an acceptance needs a reason"),
        ({"state": "false alarm", "why": " "}, "a false alarm needs a reason"),
        ({"state": "environment"}, "needs a reason"),
        ({"state": "fixed"}, "a fix has a version"),
        ({"state": "confirmed", "fixed_in": "HEAD"}, "only a change that is fixed"),
        ({"state": "fixed", "fixed_in": "HEAD", "until": ["+8%"]}, "a fix has no end"),
        ({"state": "confirmed", "until": ["2020-01-01"]}, "2020-01-01 is over"),
        ({"state": "confirmed", "until": ["2026-02-30"]}, "there is no day '2026-02-30'"),
        ({"state": "confirmed", "until": ["+0%"]}, "beyond 0 %"),
        ({"state": "confirmed", "until": ["HEAD"]}, "the branch has 'HEAD' already"),
        ({"state": "confirmed", "until": ["+8%", "9 %"]}, "one end of each kind"),
        ({"state": "confirmed", "until": ["-x"]}, "is no date, size or version"),
        ({"state": "confirmed", "until": ["\x1b[31m"]}, "is no date, size or version"),
    ],
)
def test_a_decision_that_says_too_little_is_refused(slower: Project, options: dict[str, Any], says: str) -> None:
    repository = open_repository(slower.path).repository
    with pytest.raises(UsageError, match=says.replace("+", r"\+")):
        triage.decide(repository, ["0" * 20], **options)
    assert decisions.every(repository.store) == []


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("nothing", "--as", "confirmed"), 3, "there is no change 'nothing'"),
        (("--as", "confirmed"), 2, "no change is named"),
        (("--why", "x"), 2, "no state is chosen"),
        (("nothing",), 3, "there is no change 'nothing'"),
        (("abc", "--as", "new"), 3, "there is no change 'abc'"),
        (("abc", "--as", "acepted", "--why", "x"), 2, "accepted"),
    ],
)
def test_wrong_usage_is_one_error(slower: Project, words: tuple[str, ...], code: int, says: str) -> None:
    done = slower.perf("check", "triage", *words, code=code)
    assert says in done.err
    assert hostile.unsafe(done.err) == set()


@pytest.fixture
def unchecked(project: Project) -> Project:
    """A history with a change that nobody has checked, so that no result is stored."""
    slow_and_steady(project)
    return project


def in_history(project: Project) -> dict[str, str]:
    """The ids of the changes of a history by metric."""
    metrics = ("cpu", "wall")
    series = [each for metric in metrics for each in project.perf("history", metric, "--json").json["series"]]
    return {each["metric"]: each["changes"][0]["id"] for each in series if each["changes"]}


def test_a_change_that_no_check_stored_is_decided_about_as_a_whole(unchecked: Project) -> None:
    ids = in_history(unchecked)
    assert set(ids) == {"cpu", "wall"}
    words = ("--as", "accepted", "--why", "x", "--json")
    decided = unchecked.perf("check", "triage", ids["cpu"], *words).json["changed"]
    assert {each["change"] for each in decided} == set(ids.values())
    assert all(each["what"] and each["place"] for each in decided)
    withdrawn = unchecked.perf("check", "triage", ids["cpu"], "--as", "new", "--json").json["changed"]
    assert {each["change"] for each in withdrawn} == set(ids.values())


def test_what_a_page_decided_together_is_decided_together_again(project: Project) -> None:
    """Pages know the changes of all metrics; a check judges, and stores, relative time only where there is any."""
    for number in range(12):
        level = 1.0 + (number >= 7)
        names = [column("benchmark", ["parse"] * 6, role="benchmark"), column("run", list(range(6)), role="order")]
        values = [column(each, [level + run / 1e6 for run in range(6)], role="value") for each in ("relative", "cpu")]
        project.commit(f"Change {number}")
        history = open_repository(project.path)
        history.register(history.save(profiles.profile({"resources": table("resources", [*names, *values])})))
    project.perf("check", "all", code=1)
    stored = triage.changes_by_id(open_repository(project.path).repository)
    ids = [
        project.perf("history", each, "--json").json["series"][0]["changes"][0]["id"] for each in ("relative", "cpu")
    ]
    assert list(stored) == ids[:1]
    # By whole ids, as pages name them.
    decided = project.perf("check", "triage", ids[1], ids[0], "--as", "accepted", "--why", "x", "--json").json[
        "changed"
    ]
    assert sorted(each["change"] for each in decided) == sorted(ids)
    for words, is_withdrawn in ((("--as", "confirmed"), False), (("--as", "new"), True)):
        project.perf("check", "triage", ids[0][:8], *words)
        newest = decisions.newest(open_repository(project.path).repository.store)
        assert [newest[id].withdrawn for id in ids] == [is_withdrawn, is_withdrawn]
        assert [newest[id].accepted for id in ids] == [False, False]
    assert all(newest[id].place and newest[id].what for id in ids)


def test_a_change_about_which_nothing_is_decided_is_none_that_is_not_there(slower: Project) -> None:
    done = slower.perf("check", "triage", id_of(slower)[:8], "--as", "new", code=3)
    assert f"nothing is decided about the change '{id_of(slower)[:8]}'" in done.err


def test_a_change_that_is_nowhere_is_an_error_that_says_what_to_do(unchecked: Project) -> None:
    done = unchecked.perf("check", "triage", "0" * 20, "--as", "confirmed", code=3)
    assert "no stored result and no history has the change 00000000000000000000" in done.err
    assert "--no-store" in done.err
    assert decisions.every(open_repository(unchecked.path).repository.store) == []


def test_hostile_reasons_stay_text(slower: Project) -> None:
    text = " ".join(hostile.NAMES).replace("\0", "")[:2000]
    slower.perf("check", "triage", id_of(slower), "--as=confirmed", f"--why={text}", f"--author={text}")
    for words in (("check",), ("check", "triage"), ("check", "triage", id_of(slower)), ("status",), ("log",)):
        assert hostile.unsafe(slower.perf(*words, code=None).out) == set()


class TestTriage(TriageContract):
    """Every law of the kind command."""
