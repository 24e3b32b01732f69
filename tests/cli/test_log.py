"""`perf log`."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NoReturn

import pytest
from perfcore_testing import profiles, results
from perfcore_vcs_git.driver import Git

from perfcore.analysis.stored_results import Checked, Results
from perfcore.model.record import replace
from perfcore.store.lookup import Ref

if TYPE_CHECKING:
    from .conftest import Here


@pytest.fixture
def history(here: Here) -> Here:
    """Three versions, the first and the last with profiles; a branch beside them."""
    here.register()
    here.commit("Second")
    here.commit("Third")
    here.register()
    here.register(profiles.traced())
    here.git("branch", "side", "HEAD~1")
    return here


def test_it_lists_versions_newest_first_with_their_profiles(history: Here) -> None:
    lines = history.perf("log").lines
    subjects = [line.strip() for line in lines if line.strip() in ("First", "Second", "Third")]
    assert subjects == ["Third", "Second", "First"]
    assert sum("@i" in line for line in lines) == 3
    assert f"version {history.head}" in lines


def test_short_is_one_line_a_version(history: Here) -> None:
    lines = history.perf("log", "--short").lines
    assert [line.split()[-1] for line in lines] == ["Third", "Second", "First"]
    assert "1 time 1 trace" in lines[0]
    assert " - " in lines[1]


def test_names_of_benchmarks_keep_their_ends_on_a_narrow_terminal(here: Here) -> None:
    names = [f"tests/of/a/module.py::test_of_a_long_name[{'x' * 90}-{end}]" for end in ("one", "two")]
    for factor in (1, 2):
        here.commit(f"Times {factor}")
        here.register(profiles.suite({name: [factor * (5e6 + run) for run in range(8)] for name in names}))
    here.perf("check", code=1)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "perfcore", "log", "-n", "1"]
    with subprocess.Popen(command, cwd=here.path, env={**here.env, "COLUMNS": "80"}, stdout=theirs) as running:
        os.close(theirs)
        running.wait()
    lines = [line for line in os.read(ours, 1 << 16).decode().splitlines() if "slower" in line]
    os.close(ours)
    assert [line.rstrip("\x1b[0m")[-5:] for line in lines] == ["-one]", "-two]"]
    assert all("…" in line for line in lines)


def test_a_change_shows_behind_many_versions_without_any(here: Here) -> None:
    """More than those whose results are looked for one by one."""
    repository = here.repository
    ids = [here.head, *(here.commit(f"Version {number}") for number in range(39))]
    for number, version in enumerate(ids):
        measured = replace(profiles.timed(), origin=version, created=profiles.CREATED + number)
        repository.register(Ref(kind="pending", pending=repository.save(measured)), version)
    assert "slower" not in here.perf("log").out
    change = results.change("degradation")
    Results(repository.store, "git").keep("pair", {Checked(version=ids[0], config_id="1:x"): [change]}, 7)
    lines = here.perf("log", "--short").lines
    assert [number for number, line in enumerate(lines) if "slower" in line] == [39]


def test_count_only_is_one_line(history: Here) -> None:
    assert history.perf("log", "--count-only").out == "3 versions, 2 measured, 3 profiles\n"
    counted = history.perf("log", "--count-only", "--json").json
    assert counted == {"schema": 1, "versions": 3, "measured": 2, "profiles": 3}


def test_last_takes_so_many_versions(history: Here) -> None:
    assert len(history.perf("log", "--short", "--last", "2").lines) == 2
    assert history.perf("log", "--last", "0").out == ""
    assert len(history.perf("log", "--short", "--last", "999").lines) == 3


def test_versions_are_chosen_as_for_a_collection(history: Here) -> None:
    def subjects(*words: str) -> list[str]:
        return [line.split()[-1] for line in history.perf("log", "--short", *words).lines]

    history.git("tag", "v1", "HEAD~2")
    history.git("tag", "v2")
    assert subjects("HEAD~2..") == ["Third", "Second"]
    assert subjects("HEAD~2..HEAD~1") == ["Second"]
    assert subjects("--tags", "v*") == ["Third", "First"]
    assert subjects("--every", "2") == ["Third", "First"]
    assert subjects("--measured", "--every", "2") == ["Third"]
    assert subjects("HEAD~1", "--every", "2", "--last", "2") == ["Second"]
    assert subjects("--tags", "v1", "--since", "HEAD~1") == []


def test_last_wants_a_number_that_is_not_negative(history: Here) -> None:
    assert "--last" in history.perf("log", "--last", "-1", code=2).err
    assert "--last" in history.perf("log", "--last", "few", code=2).err


def test_measured_leaves_out_the_others(history: Here) -> None:
    assert [line.split()[-1] for line in history.perf("log", "--short", "--measured").lines] == ["Third", "First"]


def test_it_begins_where_it_is_told(history: Here) -> None:
    assert [line.split()[-1] for line in history.perf("log", "--short", "HEAD~1").lines] == ["Second", "First"]
    assert [line.split()[-1] for line in history.perf("log", "--short", "side").lines] == ["Second", "First"]


def test_an_unknown_revision_is_an_error(history: Here) -> None:
    done = history.perf("log", "no-such-branch", code=3)
    assert "no-such-branch" in done.err
    assert "Traceback" not in done.err


def test_branches_are_listed_with_what_their_heads_have(history: Here) -> None:
    lines = history.perf("log", "--branches").lines
    assert any(line.startswith("* main") and "1 time 1 trace" in line for line in lines)
    assert any(line.startswith("  side") and line.endswith("-") for line in lines)
    rows = history.perf("log", "--branches", "--json").json
    assert rows["schema"] == 1
    assert {row["name"]: row["current"] for row in rows["branches"]} == {"main": True, "side": False}


def test_json_is_a_document_a_line(history: Here) -> None:
    rows = [json.loads(line) for line in history.perf("log", "--json").lines]
    assert [row["subject"] for row in rows] == ["Third", "Second", "First"]
    assert {row["schema"] for row in rows} == {1}
    assert [len(row["profiles"]) for row in rows] == [2, 0, 1]
    assert rows[0]["parents"] == [rows[1]["version"]]
    assert rows[0]["profiles"][0]["config_id"]


def test_before_the_first_commit_it_says_that_there_is_nothing(bare: Here) -> None:
    bare.git("init", "--quiet")
    bare.perf("init")
    done = bare.perf("log", code=3)
    assert "Traceback" not in done.err
    assert "no version" in done.err or "no commit" in done.err


def test_a_damaged_index_is_named_and_the_rest_is_shown(history: Here) -> None:
    path = history.path / ".perf" / "objects" / history.head[:2] / history.head[2:]
    path.write_bytes(path.read_bytes()[:-30])
    done = history.perf("log", "--short", code=4)
    assert history.head[:10] in done.err
    assert "left out" in done.err
    assert [line.split()[-1] for line in done.lines] == ["Third", "Second", "First"]
    assert "1 time" in done.lines[2]


def test_a_reader_that_has_seen_enough_is_no_error(history: Here) -> None:
    done = history.real.run("sh", "-c", 'python="$1"; "$python" -m perfcore log | head -n 1', "sh", sys.executable)
    assert done.code == 0
    assert done.err == ""
    assert len(done.lines) == 1


def test_profiles_of_versions_that_are_gone_can_be_listed_and_shown(history: Here) -> None:
    profile, gone = history.register(profiles.timed(wall=5)), history.head
    history.perf("tag", "fast", profile)
    assert history.perf("log", "--unreachable").out == ""
    history.git("reset", "-q", "--hard", "HEAD~1")
    assert history.perf("log", "--unreachable").lines[0] == f"version {gone}"
    (line,) = history.perf("log", "--unreachable", "--short").lines
    assert line.split() == [gone[:10], "2", "time", "1", "trace"]
    history.git("reflog", "expire", "--expire=now", "--all")
    history.git("gc", "-q", "--prune=now")
    done = history.perf("log", "--unreachable")
    assert done.lines[0] == f"version {gone}"
    assert [line.split()[0] for line in done.lines[1:] if line.strip()].count(profile[:10]) == 1
    (row,) = [json.loads(line) for line in history.perf("log", "--unreachable", "--json").lines]
    assert row["version"] == gone
    assert profile in {entry["profile"] for entry in row["profiles"]}
    assert history.perf("show", "fast").out == history.perf("show", profile).out


def test_versions_that_are_gone_are_counted_and_cut_as_others(history: Here) -> None:
    for wall in (5, 6, 7):
        history.git("commit", "-q", "--allow-empty", "-m", f"Gone {wall}")
        history.register(profiles.timed(wall=wall))
    everything = history.perf("log", "--unreachable", "--short").lines
    assert everything == []
    history.git("reset", "-q", "--hard", "HEAD~3")
    everything = history.perf("log", "--unreachable", "--short").lines
    assert len(everything) == 3
    assert history.perf("log", "--unreachable", "--short", "-2").lines == everything[:2]
    assert history.perf("log", "--unreachable", "--short", "--every", "2").lines == everything[::2]
    assert history.perf("log", "--unreachable", "--count-only").out == "3 versions, 3 measured, 3 profiles\n"
    counts = json.loads(history.perf("log", "--unreachable", "--count-only", "-n", "1", "--json").out)
    assert (counts["versions"], counts["profiles"]) == (1, 1)


@pytest.mark.parametrize("which", ["--unreachable", "--branches"])
@pytest.mark.parametrize(
    "words", [["HEAD"], ["--since", "HEAD"], ["--until", "2024-01-01"], ["--tags", "v*"], ["--changes"]]
)
def test_what_lists_all_refuses_options_that_choose(history: Here, which: str, words: list[str]) -> None:
    done = history.perf("log", which, *words, code=2)
    assert f"{which} goes with" in done.err


@pytest.mark.parametrize("words", [["-n", "0"], ["--every", "2"], ["--count-only"], ["--measured"], ["--unreachable"]])
def test_branches_are_never_cut(history: Here, words: list[str]) -> None:
    assert "--branches goes with --json only" in history.perf("log", "--branches", *words, code=2).err


@pytest.mark.parametrize("content", [b"", b"x", b"something else"], ids=["empty", "short", "foreign"])
def test_what_is_no_object_may_have_been_an_index_and_lists_that_need_it_fail(history: Here, content: bytes) -> None:
    history.perf("tag", "last", "0@i")
    first = history.git("rev-list", "--max-parents=0", "HEAD").out.strip()
    (history.path / ".perf" / "objects" / first[:2] / first[2:]).write_bytes(content)
    shutil.rmtree(history.path / ".perf" / "cache", ignore_errors=True)
    for words in (("tag",), ("log",), ("log", "--short"), ("history", "wall"), ("check", "all")):
        done = history.perf(*words, code=4)
        assert first[2:] in done.err, words
    assert "last" in history.perf("tag", code=4).out, "the rest is listed all the same"
    assert history.perf("log", "--short", "--last", "1").code == 0, "nothing that is shown depends on it"
    assert history.perf("show", "last").code == 0


def test_habits_of_git_work(history: Here) -> None:
    assert history.perf("log", "-2", "--oneline").out == history.perf("log", "-n", "2", "--short").out
    assert len(history.perf("log", "-2", "--oneline").lines) == 2
    assert history.perf("help", "log").out == history.perf("log", "--help").out
    assert history.perf("help").out == history.perf("--help").out
    assert history.perf("-C", ".", "help", "log").out == history.perf("log", "--help").out
    assert history.perf("-C", ".", "help").out == history.perf("--help").out
    assert "perf has no command 'lgo'" in history.perf("-C", ".", "help", "lgo", code=2).err
    assert "perf has no command 'lgo'" in history.perf("help", "lgo", code=2).err


def test_the_value_of_an_option_is_no_number_of_versions(history: Here) -> None:
    assert "'-n': -3 is not in the range x>=0" in history.perf("log", "-n", "-3", code=2).err
    assert "there is no version '-5'" in history.perf("log", "--since", "-5", code=3).err
    assert history.perf("log", "--short", "-1").lines == history.perf("log", "--short").lines[:1]


def test_what_is_no_date_is_told_how_dates_are_written_whatever_is_called_alike(history: Here) -> None:
    history.git("branch", "yesteryear")
    hint = "a date is written 2026-01-31, '2026-01-31 14:00' or '2 weeks ago'; did you mean 'yesteryear'?"
    assert f"hint: {hint}\n" in history.perf("log", "--since", "yesterday", code=3).err


def test_few_versions_are_listed_without_a_look_at_the_others(history: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    every = history.perf("log", "--short").lines

    def walk(driver: Git, head: str) -> NoReturn:
        raise AssertionError("the whole history is read")

    monkeypatch.setattr(Git, "walk_minor_versions", walk)
    for words, lines in ((("-1",), every[:1]), (("-n", "2"), every[:2]), (("-n", "1", "--every", "2"), every[:1])):
        assert history.perf("log", "--short", *words).lines == lines
    assert history.perf("log", "-n", "0").out == ""
