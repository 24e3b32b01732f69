"""`perf collect`: real commands, in the user's tree and in those of versions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from perfcore_check_pair import PairSettings
from perfcore_check_pair.inference import fewest_pairs
from perfcore_testing.distributions import Site
from perfcore_testing.processes import PATIENCE

from perfcore.cli.summary_table import DECISIVE

if TYPE_CHECKING:
    from .conftest import Here

FAST = ("collect", "time", "--repeat", "1", "--warmup", "0")


def test_what_is_measured_becomes_pending(here: Here) -> None:
    out = here.perf(*FAST, "--", "true").out
    assert "cpu" in out
    name = out.rsplit("-> ", 1)[1].strip()
    assert [row["name"] for row in here.perf("status", "--json").json["pending"]] == [name]


def test_add_registers_at_once(here: Here) -> None:
    out = here.perf(*FAST, "--add", "--", "true").out
    id = out.rsplit("registered as ", 1)[1].strip()
    status = here.perf("status", "--json").json
    assert [row["profile"] for row in status["profiles"]] == [id]
    assert status["pending"] == []


@pytest.mark.parametrize("words", [("sh", "-c", "true"), ("--", "./run")])
def test_a_command_without_its_collector_is_no_plugin_to_install(here: Here, words: tuple[str, ...]) -> None:
    here.commit("A program", run="#!/bin/sh\n")
    (here.path / "run").chmod(0o755)
    done = here.perf("collect", *words, code=5)
    assert "name one first: perf collect time -- COMMAND" in done.err
    without_time = here.perf("collect", *words, code=5, env={"PERF_DISABLED_PLUGINS": "time"})
    assert "name one first: perf collect bench -- COMMAND" in without_time.err
    assert "distribution" not in done.err


def test_too_few_runs_say_how_many_decide(here: Here) -> None:
    assert fewest_pairs(PairSettings().alpha) == DECISIVE
    warning = "note: 5 runs: perf check decides from 6 runs of each version, interleaved (--repeat 6)"
    few, enough = (here.perf("collect", "time", "--repeat", runs, "--warmup", "0", "--", "true") for runs in "56")
    assert warning in few.err
    assert "perf check decides" not in enough.err


def test_the_configuration_silences_the_note_on_few_runs(here: Here) -> None:
    here.perf("config", "set", "check.note_few_runs", "false")
    assert "perf check decides" not in here.perf(*FAST, "--", "true").err


def test_json_says_what_was_measured(here: Here) -> None:
    made = here.perf(*FAST, "--json", "--", "echo", "a b").json
    assert made["schema"] == 1
    assert made["failed"] == []
    (row,) = made["profiles"]
    assert row["argv"] == ["echo", "a b"]
    assert row["version"] == here.head
    assert row["dirty"] is False
    assert {"cpu", "wall"} <= {metric["metric"] for metric in row["metrics"]}


def test_words_reach_the_command_as_they_were_typed(here: Here, python: Callable[[str], tuple[str, ...]]) -> None:
    words = ["two words", "a\"b'c", "semi;colon", "new\nline", "<script>", "$HOME", "*", "--json", "-r"]
    code = "import sys, json; json.dump(sys.argv[1:], open('got', 'w'))"
    done = here.perf(*FAST, "--", *python(code), *words)
    assert json.loads((here.path / "got").read_text()) == words
    assert "\nline" not in done.out


def test_options_behind_the_command_are_the_command_s(here: Here) -> None:
    assert here.perf(*FAST, "--json", "echo", "--repeat", "7").json["profiles"][0]["argv"] == ["echo", "--repeat", "7"]


def test_commands_as_text_are_split_as_a_shell_would_and_run_in_turn(here: Here) -> None:
    rows = here.perf(*FAST, "--json", "-c", "echo 'a b' c", "-c", "true").json["profiles"]
    assert [row["argv"] for row in rows] == [["echo", "a b", "c"], ["true"]]


def test_workloads_come_last_each_in_turn(here: Here) -> None:
    rows = here.perf(*FAST, "--json", "-w", "one file", "-w", "two", "--", "echo", "-n").json["profiles"]
    assert [row["argv"] for row in rows] == [["echo", "-n", "one file"], ["echo", "-n", "two"]]
    assert len({row["config_id"] for row in rows}) == 2


def test_parameters_have_columns_in_the_table_and_names_in_json(here: Here) -> None:
    words = ("collect", "time", "-r", "2", "-P", "SIZE=1..2", "-P", "ALG=a,b")
    head, *rows = here.perf(*words, "--", "echo", "{ALG}", "{SIZE}").lines
    assert head.split() == ["version", "SIZE", "ALG"]
    assert [row.split()[1:3] for row in rows[:4]] == [["1", "a"], ["1", "b"], ["2", "a"], ["2", "b"]]
    assert len({row.index(" cpu ") for row in rows[:4]}) == 1
    profiles = here.perf(*words, "--json", "--", "echo", "{ALG}", "{SIZE}").json["profiles"]
    assert [profile["params"] for profile in profiles][:2] == [{"SIZE": "1", "ALG": "a"}, {"SIZE": "1", "ALG": "b"}]
    assert here.perf("collect", "time", "-r", "1", "--json", "--", "true").json["profiles"][0]["params"] == {}


def test_each_value_of_a_parameter_is_a_command_of_its_own(here: Here) -> None:
    here.perf("collect", "time", "-r", "1", "-P", "N=1..2", "--param", "W=a,b", "--add", "--", "echo", "{N}-{W}", "{}")
    entries = here.perf("status", "--json").json["profiles"]
    assert sorted(entry["args"] for entry in entries) == ["1-a '{}'", "1-b '{}'", "2-a '{}'", "2-b '{}'"]
    assert len({entry["config_id"] for entry in entries}) == 4
    done = here.perf("collect", "time", "-P", "N=1..2", "--", "echo", code=2)
    assert "there is no {N} in the command" in done.err


def test_a_shell_runs_only_when_it_is_asked_to(here: Here) -> None:
    done = here.perf(*FAST, "-c", "echo a > made && true", code=2)
    assert "needs a shell" in done.err
    assert "--shell" in done.err
    assert not (here.path / "made").exists()
    here.perf(*FAST, "--shell", "-c", "echo a > made && true")
    assert (here.path / "made").read_text() == "a\n"


def test_a_text_that_cannot_be_split_is_an_error(here: Here) -> None:
    assert "cannot be split" in here.perf(*FAST, "-c", "echo 'a", code=2).err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no command to measure"),
        (("--", ""), "no command to measure"),
        (("-c", "true", "--", "true"), "not in both"),
        (("-e", "NAME", "--", "true"), "--env wants NAME=VALUE"),
        (("--repeat", "0", "--", "true"), "'repeat' is at least 1"),
        (("--budget", "soon", "--", "true"), "'budget' wants a duration"),
        (("--budget", "nan", "--", "true"), "'budget' wants a duration"),
        (("--order", "blok", "--", "true"), "did you mean 'blocks'?"),
        (("--repat", "3", "--", "true"), "did you mean '--repeat'?"),
        (("--all", "--version", "HEAD", "--", "true"), "only one of these"),
        (("--cwd", "/", "--", "true"), "outside the tree"),
        (("--cwd", "missing", "--", "true"), "no folder missing"),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(here: Here, words: tuple[str, ...], says: str) -> None:
    done = here.perf("collect", "time", *words, code=2)
    assert says in done.err
    assert here.perf("status", "--json").json["pending"] == []


def test_an_unknown_collector_is_an_error_naming_the_nearest(here: Here) -> None:
    done = here.perf("collect", "tme", "--", "true", code=5)
    assert "there is no collector 'tme'" in done.err
    assert "did you mean 'time'?" in done.err


def test_an_unknown_postprocessor_is_told_before_anything_runs(
    here: Here, python: Callable[[str], tuple[str, ...]]
) -> None:
    done = here.perf(*FAST, "-p", "sharpen", "--", *python("open('ran', 'w')"), code=5)
    assert "there is no postprocessor 'sharpen'" in done.err
    assert not (here.path / "ran").exists()


def test_a_command_that_is_not_there_is_one_error(here: Here) -> None:
    done = here.perf(*FAST, "--", "no-such-program-5d1", code=6)
    assert "no-such-program-5d1" in done.err
    assert "Traceback" not in done.err
    assert done.err.count("perf: ") == 1


def test_one_that_fails_does_not_keep_the_others_from_being_measured(here: Here) -> None:
    done = here.perf(*FAST, "-c", "false", "-c", "true", code=6)
    assert "false" in done.err
    assert [row["cmd"] for row in here.perf("status", "--json").json["pending"]] == ["true"]


def test_a_command_that_never_ends_is_ended(here: Here) -> None:
    done = here.perf(*FAST, "--timeout", "200ms", "--", "sleep", "1000", code=6)
    assert "200ms" in done.err or "0.2 s" in done.err


def test_a_command_that_prints_a_lot_is_measured_all_the_same(
    here: Here, python: Callable[[str], tuple[str, ...]]
) -> None:
    code = "import os\nfor _ in range(2000): os.write(1, b'x' * 1000000)"
    done = here.perf(*FAST, "--", *python(code))
    assert len(done.out) < 2000


def test_variables_are_set_for_the_command_only(here: Here, python: Callable[[str], tuple[str, ...]]) -> None:
    here.perf(*FAST, "-e", "GREETING=a=b", "--", *python("import os; open('got', 'w').write(os.environ['GREETING'])"))
    assert (here.path / "got").read_text() == "a=b"


def test_it_runs_where_the_user_stands_or_where_it_is_told(here: Here) -> None:
    below = here.path / "a folder"
    below.mkdir()
    here.perf(*FAST, "--", "touch", "here", cwd=below)
    here.perf(*FAST, "--cwd", "a folder", "--", "touch", "there")
    assert sorted(path.name for path in below.iterdir()) == ["here", "there"]


def test_each_version_is_measured_in_a_clean_tree_of_its_own(
    here: Here, python: Callable[[str], tuple[str, ...]]
) -> None:
    first = here.commit("Two", number="2")
    second = here.commit("Three", number="3")
    here.write("number", "changed")
    code = "n = open('number').read(); import os; open(os.environ['OUT'] + n, 'w').write(os.getcwd())"
    target = here.path.parent / "out"
    target.mkdir()
    rows = here.perf(
        *FAST, "--json", "-e", f"OUT={target}/", "-v", "HEAD~1", "-v", "main", "-v", second, "--", *python(code)
    ).json["profiles"]
    assert [row["version"] for row in rows] == [first, second]
    assert not any(row["dirty"] for row in rows)
    trees = {path.name: path.read_text() for path in target.iterdir()}
    assert set(trees) == {"2", "3"}
    assert len(set(trees.values())) == 2
    assert len({len(tree) for tree in trees.values()}) == 1
    assert (here.path / "number").read_text() == "changed"
    assert here.git("worktree", "list").out.count("\n") == 1


def test_many_versions_share_a_session_where_their_trees_are_small(here: Here) -> None:
    for number in range(17):
        here.commit(f"Change {number}")
    here.perf(*FAST, "--all", "--", "true")
    assert list(map(len, _by_session(here).values())) == [18]


LARGE = ("config", "set", "execute.pre_run")  # truncate makes a file with nothing in it


def test_sessions_take_turns_along_a_history_and_share_versions(here: Here) -> None:
    """What the machine does between them is no step anywhere, and each version takes turns with the one before it."""
    versions = [here.head, *(here.commit(f"Change {number}") for number in range(20))]
    here.perf(*LARGE, "truncate -s 64M made")
    done = here.perf(*FAST, "--all", "--", "true")
    assert "note: 4 versions measured in two sessions, to compare the sessions" in done.err
    shown = [line.split()[0] for line in done.out.splitlines()]
    assert shown == sorted(shown, key=[version[:10] for version in versions].index)
    sessions = [{versions.index(version) for version in some} for some in _by_session(here).values()]
    assert sorted(map(sorted, sessions)) == [[*range(5), *range(8, 13), *range(16, 21)], [*range(4, 9), *range(12, 17)]]
    assert len(shown) == sum(map(len, sessions))


def test_a_version_of_two_sessions_that_does_not_build_is_told_once(here: Here) -> None:
    for number in range(20):
        here.commit(f"Change {number}", broken="x" if number == 7 else "")
    here.perf(*LARGE, "[truncate -s 64M made, test ! -s broken]")
    done = here.perf(*FAST, "--all", "--json", "--", "true", code=None)
    assert len(done.json["failed"]) == 1
    assert len(done.json["profiles"]) == 23


def test_what_an_interrupt_left_out_is_measured_with_missing(here: Here) -> None:
    """Profiles of the sessions that were over are kept; versions that they share count as measured."""
    versions = [here.head, *(here.commit(f"Change {number}") for number in range(20))]
    here.perf(*LARGE, "truncate -s 64M made")
    half = [word for version in (*versions[:5], *versions[8:13]) for word in ("-v", version)]
    here.perf(*FAST, "--add", *half, "--", "true")
    rows = here.perf(*FAST, "--json", "--add", "--all", "--missing", "--", "true").json["profiles"]
    assert [row["version"] for row in rows] == [*versions[5:8], *versions[10:]]
    assert "nothing to measure" in here.perf(*FAST, "--all", "--missing", "--", "true").err


def test_a_session_of_many_missing_versions_shares_three_with_the_one_before(here: Here) -> None:
    """With fewer, or none, the machine's step from one session to the next cannot be told from one of the code."""
    here.perf(*FAST, "--add", "--all", "--", "true")
    old = [here.head, *(here.commit(f"Change {number}") for number in range(4))]
    here.perf(*FAST, "--add", "--all", "--missing", "--", "true")
    new = [here.commit(f"Later {number}") for number in range(8)]
    words = (*FAST, "--add", "--all", "--missing")
    planned = here.perf(*words, "--dry-run", "--json", "--", "true").json
    done = here.perf(*words, "--json", "--", "true")
    assert [row["version"] for row in done.json["profiles"]] == [*old[-3:], *new]
    assert [row["version"] for row in planned["jobs"]] == [*old[-3:], *new]
    assert "3 versions measured again, to compare the sessions" in done.err
    assert "nothing to measure" in here.perf(*words, "--", "true").err


def test_older_versions_are_measured_again_at_most_twice(here: Here) -> None:
    """Where the newer ones never build, the same versions would be measured with each command."""
    here.perf("config", "set", "execute.pre_run", "[test ! -s broken]")
    old = [here.head, *(here.commit(f"Change {number}") for number in range(3))]
    here.perf(*FAST, "--add", "--all", "--", "true")
    for number in range(8):
        here.commit(f"Broken {number}", broken="x")
    words = (*FAST, "--add", "--all", "--missing", "--json", "--", "true")
    measured = [[row["version"] for row in here.perf(*words, code=6).json["profiles"]] for _ in range(3)]
    assert measured == [old[-3:], old[-3:], []]


def _by_session(here: Here) -> dict[str, list[str]]:
    """The versions of each session of what is pending."""
    found: dict[str, list[str]] = {}
    for row in here.perf("status", "--json").json["pending"]:
        profile = here.repository.load(here.repository.find(row["name"])[0])
        found.setdefault(str(profile.tables["runs"]["session"][0]), []).append(str(profile.origin))
    return found


@pytest.mark.parametrize("again", [("--missing", "--add"), ("--continue",)], ids=["missing", "continue"])
def test_variables_and_options_of_one_command_are_other_configurations(here: Here, again: tuple[str, ...]) -> None:
    """They are no part of what a command is called by."""
    options = [(), ("--env", "SIZE=1"), ("--env", "SIZE=2"), ("--setup", "true"), ("--postprocess", "normalizer")]
    for measured in (1, 0):
        for option in options:
            done = here.perf(*FAST, *option, *again, "-v", "HEAD", "--json", "--", "true")
            assert (option, len(done.json["profiles"])) == (option, measured)


def test_since_and_all_take_versions_oldest_first_and_missing_the_rest(here: Here) -> None:
    first = here.head
    second = here.commit("Second")
    third = here.commit("Third")

    def measured(*words: str) -> list[str]:
        return [row["version"] for row in here.perf(*FAST, "--json", "--add", *words, "--", "true").json["profiles"]]

    assert measured("--since", first) == [second, third]
    assert measured("--all", "--missing") == [first]
    assert measured("--all", "--missing") == []
    assert "nothing to measure" in here.perf(*FAST, "--all", "--missing", "--", "true").err
    assert measured("--all") == [first, second, third]


def test_an_unknown_version_is_an_error_before_anything_runs(here: Here) -> None:
    done = here.perf(*FAST, "-v", "HEAD", "-v", "no-such", "--", "touch", "ran", code=3)
    assert "no-such" in done.err
    assert not (here.path / "ran").exists()


def test_a_version_is_built_before_it_is_measured(here: Here) -> None:
    here.perf("config", "set", "execute.pre_run", "[touch built, touch 'built twice']")
    here.commit("Second")
    here.perf(*FAST, "--all", "--add", "--", "ls", "built", "built twice")
    assert not (here.path / "built").exists()
    here.perf(*FAST, "--no-build", "--", "true")
    assert not (here.path / "built").exists()
    here.perf(*FAST, "--", "ls", "built")


def test_a_version_that_does_not_build_is_told_and_the_others_are_measured(here: Here) -> None:
    here.perf("config", "set", "execute.pre_run", "ls README")
    bad = here.head
    here.git("rm", "--quiet", "README")
    here.commit("Gone", other="x")
    here.commit("Back", README="x")
    done = here.perf(*FAST, "--all", "--json", "--", "true", code=6)
    assert len(done.json["profiles"]) == 2
    (failed,) = done.json["failed"]
    assert bad not in failed["what"]
    assert "pre_run 'ls README' failed with exit code 2" in failed["error"]


def test_commands_of_a_versioned_file_run_only_after_the_user_trusted_them(here: Here) -> None:
    here.commit("Build", __perfcore__yml="execute:\n  pre_run: [touch built]\n")
    done = here.perf(*FAST, "--", "true", code=7)
    assert "execute.pre_run" in done.err
    assert "perf config trust" in done.err
    assert not (here.path / "built").exists()
    trusted = here.perf("config", "trust", "--yes")
    assert "touch built" in trusted.out
    here.perf(*FAST, "--", "true")
    assert (here.path / "built").exists()
    here.write(".perfcore.yml", "execute:\n  pre_run: [touch other]\n")
    here.perf(*FAST, "--", "true", code=7)
    assert not (here.path / "other").exists()


def test_a_profile_is_not_registered_where_the_version_is_unknown(here: Here) -> None:
    """The message is the reason, not that of uncommitted changes."""
    done = here.perf(*FAST, "--add", "--", "true", code=3, env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    assert "it belongs to another user" in done.err
    assert "uncommitted" not in done.err
    here.git("checkout", "--quiet", "--orphan", "empty")
    assert "there is no commit yet" in here.perf(*FAST, "--add", "--", "true", code=3).err


def test_uncommitted_changes_are_measured_marked_and_never_registered(here: Here) -> None:
    here.perf(*FAST, "--add", "--", "true")
    here.write("README", "changed\n")
    done = here.perf(*FAST, "--add", "--", "touch", "ran", code=2)
    assert "uncommitted changes" in done.err
    assert not (here.path / "ran").exists(), "that was known before the first run"
    assert here.perf("status", "--json").json["pending"] == []
    assert here.perf(*FAST, "--add", "--version", "HEAD", "--json", "--", "ls").json["profiles"]
    here.perf(*FAST, "--", "true")
    (row,) = here.perf("status", "--json").json["pending"]
    assert row["dirty"] is True
    assert "uncommitted changes" in here.perf("status").out
    assert here.perf("show", "0@p").out
    assert "cpu" in here.perf("check", "0@p", "--threshold", "5", code=None).out
    assert "belongs to no version" in here.perf("add", "0@p", code=2).err
    assert "left out" in here.perf("add", "--all").err
    assert len(here.perf("status", "--json").json["profiles"]) == 2


def test_help_lists_the_options_of_schedule_and_collector_with_defaults(here: Here) -> None:
    out = here.perf("collect", "time", "--help").out
    for option in ("--repeat", "--warmup", "--budget", "--timeout", "--on-failure", "--version", "--since"):
        assert option in out
    assert "[default: 10]" in out


def test_an_observer_s_failure_never_loses_a_profile(here: Here, site: Site) -> None:
    site.install(
        "acme-watch",
        points={
            "perfcore.hooks": ["profile_collected:acme = acme_watch:told", "collector.collect:acme = acme_watch:run"]
        },
        acme_watch="def told(profile): raise ValueError('told')\ndef run(session, run): raise ValueError('run')\n",
    )
    done = here.real.perf(*FAST, "--", "true", env=site.env)
    assert "acme-watch" in done.err
    assert len(here.perf("status", "--json").json["pending"]) == 1
    assert "acme" not in here.real.perf("--no-plugins", *FAST, "--", "true", env=site.env).err
    blocked = {**site.env, "PERF_DISABLED_PLUGINS": "acme-watch"}
    assert "acme" not in here.real.perf(*FAST, "--", "true", env=blocked).err


def test_a_signal_ends_it_with_its_code_and_leaves_nothing(here: Here) -> None:
    command = [sys.executable, "-m", "perfcore", *FAST, "--version", "HEAD", "-e", f"OUT={here.path}/pid", "--shell"]
    process = subprocess.Popen(
        [*command, "--", "echo $$ > $OUT.new; mv $OUT.new $OUT; exec sleep 600"],
        cwd=here.path,
        env=here.env,
        stderr=subprocess.PIPE,
    )
    started = here.path / "pid"
    while not started.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
    assert here.git("worktree", "list").out.count("\n") == 1
    assert here.perf("status", "--json").json["pending"] == []


def test_versions_are_selected_by_range_number_and_distance(here: Here) -> None:
    versions = [here.commit(f"Change {number}", number=str(number)) for number in range(6)]

    def measured(*words: str) -> list[str]:
        profiles = here.perf("collect", "time", "--repeat", "1", "--warmup", "0", *words, "--json", "--", "true").json[
            "profiles"
        ]
        return [profile["version"] for profile in profiles]

    assert measured("-v", f"{versions[1]}..{versions[4]}") == versions[2:5]
    assert measured("-v", f"{versions[3]}..") == versions[4:]
    assert measured("--last", "2") == versions[4:]
    assert measured("--last", "5", "--every", "2") == versions[1::2]
    assert measured("--since", versions[2], "--every", "2") == [versions[3], versions[5]]
    assert measured("-v", versions[0], "-v", f"{versions[4]}..", "--every", "1") == [versions[0], versions[5]]
    assert "nothing to measure" in here.perf("collect", "time", "-v", "HEAD..HEAD", "--", "true").err


@pytest.fixture
def dated(here: Here) -> dict[str, str]:
    """Versions at noon UTC of three days of 2020, by the day; the first two have tags."""
    versions = {}
    for day in ("10", "11", "12"):
        here.write("day", day)
        here.git("add", "--all")
        time = f"2020-06-{day}T12:00:00Z"
        here.git("commit", "-q", "-m", f"Of {day}", env={"GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time})
        versions[day] = here.git("rev-parse", "HEAD").out.strip()
    here.git("tag", "v1.0", versions["10"])
    here.git("tag", "-a", "-m", "Release", "v1.1", versions["11"])
    return versions


def _measured(here: Here, *words: str) -> list[str]:
    rows = here.perf(*FAST, "--json", *words, "--", "true", env={"TZ": "UTC"}).json["profiles"]
    return [row["version"] for row in rows]


def test_versions_are_selected_by_date(here: Here, dated: dict[str, str]) -> None:
    assert _measured(here, "--since", "2020-06-11", "--until", "2020-06-11") == [dated["11"]]
    assert _measured(here, "--since", "2020-06-11 12:00", "--until", "2020-06-12 11:59") == [dated["11"]]
    assert _measured(here, "--since", "2020-06-10", "--last", "1", "--until", dated["11"]) == [dated["11"]]
    assert here.head not in _measured(here, "--since", "1 day ago")  # of 2020


def test_a_name_of_a_version_wins_over_a_date(here: Here, dated: dict[str, str]) -> None:
    here.git("tag", "2020-06-10", dated["11"])
    assert _measured(here, "--since", "2020-06-10", "--until", "2020-06-12") == [dated["12"]]


def test_tags_select_versions_oldest_first(here: Here, dated: dict[str, str]) -> None:
    assert _measured(here, "--tags", "*") == [dated["10"], dated["11"]]
    assert _measured(here, "--tags", "v1.1") == [dated["11"]]
    assert _measured(here, "--tags", "v*", "--since", "2020-06-11") == [dated["11"]]
    assert "no tag matches 'w*'" in here.perf(*FAST, "--tags", "w*", "--", "true", code=3).err


def test_text_that_is_no_version_and_no_date_is_an_error_with_the_forms_of_dates(here: Here) -> None:
    for text in ("yesteryear", "2020-13-01"):
        done = here.perf(*FAST, "--since", text, "--", "true", code=3)
        assert f"there is no version '{text}'" in done.err
        assert "2 weeks ago" in done.err


def test_log_and_matrix_take_the_same_dates(here: Here, dated: dict[str, str]) -> None:
    window = ("--since", "2020-06-11", "--until", "2020-06-12")
    lines = here.perf("log", "--oneline", *window, env={"TZ": "UTC"}).lines
    assert [line.split()[0] for line in lines] == [dated["12"][:10], dated["11"][:10]]
    done = here.perf("run", "job", "--command", "true", "--repeat", "1", "--json", *window, env={"TZ": "UTC"})
    assert [row["version"] for row in done.json["profiles"]] == [dated["11"], dated["12"]]


def test_a_folder_that_a_version_lacks_is_told_with_a_folder_that_it_has(here: Here) -> None:
    here.write("below/file", "")
    done = here.perf(*FAST, "--version", "HEAD", "--", "true", cwd=here.path / "below", code=None)
    assert "--cwd ." in done.err
    here.perf(*FAST, "--version", "HEAD", "--cwd", ".", "--", "true", cwd=here.path / "below")
