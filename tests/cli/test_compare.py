"""`perf compare`: real programs in turn, versions in their trees, and profiles that are there."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from perfcore_testing.check import measured, noisy
from perfcore_testing.processes import PATIENCE

from perfcore.text import printable

if TYPE_CHECKING:
    from .conftest import Here

SLOW, QUICK = 600_000, 150_000
WORK = "total = 0\nfor i in range({}): total += i * i"


@pytest.fixture
def work(python: Callable[[str], tuple[str, ...]]) -> Callable[[int], str]:
    """A command as a text, that computes for so many rounds."""
    return lambda rounds: shlex.join(python(WORK.format(rounds)))


def test_a_program_that_is_much_slower_is_told_and_fails(here: Here, work: Callable[[int], str]) -> None:
    done = here.perf("compare", "-c", work(QUICK), "-c", work(SLOW), code=1)
    assert "B is slower: cpu +" in done.out
    assert "slower" in done.lines[4]
    assert here.perf("status", "--json").json["pending"] == []


def test_one_that_is_faster_is_told_and_does_not_fail(here: Here, work: Callable[[int], str]) -> None:
    found = here.perf("compare", "--json", "-c", work(SLOW), "-c", work(QUICK)).json
    assert (found["schema"], found["answer"], found["kind"], found["stopped"]) == (
        1,
        "faster",
        "optimization",
        "decided",
    )
    assert found["metric"] == "cpu"
    assert found["changes"][0]["metric"] == "cpu"
    assert {"cpu", "wall"} <= {change["metric"] for change in found["changes"]}
    assert found["pairs"] >= 12
    assert found["looks"] >= 1
    assert found["changes"][0]["high"] < 1
    assert [side["command"] for side in found["sides"]] == [work(SLOW), work(QUICK)]


def test_what_is_the_same_is_not_measured_unless_asked(here: Here) -> None:
    same = ("compare", "-c", "touch ran", "-c", "touch ran")
    assert "nothing was measured" in here.perf(*same).out
    assert not (here.path / "ran").exists()
    found = here.perf(*same, "--json").json
    assert (found["answer"], found["identical"], found["pairs"]) == ("same", True, 0)
    here.perf(*same, "--again", "--budget", "10ms", code=None)
    assert (here.path / "ran").exists()


def test_a_comparison_is_reported_like_a_check(here: Here, follow_schema: Callable[[str, Any], None]) -> None:
    names = [here.save(measured(noisy(1e6, seed)), created=seed) for seed in (1, 2)]
    words = ("compare", *names)
    table = here.perf(*words, code=None)
    done = here.perf(*words, "--report", "junit=out.xml", "--report", "json=out.json", code=table.code)
    assert done.out == table.out
    assert ElementTree.parse(here.path / "out.xml").getroot().tag == "testsuites"
    document = here.perf(*words, "--json", code=table.code).json
    follow_schema("compare", document)
    assert json.loads((here.path / "out.json").read_text()) == document
    assert here.perf(*words, "--format", "markdown", code=table.code).out.startswith("### Performance: ")
    assert "there is no format 'xml'" in here.perf(*words, "--format", "xml", code=2).err


def test_versions_with_equal_trees_are_not_measured(here: Here) -> None:
    here.commit("One", prog__sh="exit 0\n")
    here.commit("Two", prog__sh="exit 9\n")
    here.commit("One again", prog__sh="exit 0\n")
    assert "nothing was measured" in here.perf("compare", "HEAD~2", "HEAD", "--", "sh", "prog.sh").out
    assert "exited with code 9" in here.perf("compare", "HEAD~1", "HEAD", "--", "sh", "prog.sh", code=6).err


def test_versions_with_equal_inputs_are_not_measured(here: Here) -> None:
    here.commit("Program", prog__sh="touch $OUT\n")
    here.commit("Only words", README="other words\n")
    out = here.path.parent / "out"
    words = ("compare", "--budget", "10ms", "-e", f"OUT={out}", "HEAD~1", "HEAD")
    command = ("--", "sh", "prog.sh")
    for inputs in (("prog.sh",), ("*.sh", "prog.sh")):
        declared = [word for pattern in inputs for word in ("--inputs", pattern)]
        assert "nothing was measured" in here.perf(*words, *declared, *command).out
    here.perf("config", "set", "execute.inputs", "prog.sh")
    assert "nothing was measured" in here.perf(*words, *command).out
    assert not out.exists()
    here.perf(*words, "--inputs", "README", *command, code=None)
    assert out.exists()


def test_a_change_that_is_no_declared_input_is_measured(here: Here) -> None:
    here.commit("Program", prog__sh="touch $OUT\n")
    here.commit("Only words", README="other words\n")
    out = here.path.parent / "out"
    here.perf("compare", "--budget", "10ms", "-e", f"OUT={out}", "HEAD~1", "HEAD", "--", "sh", "prog.sh", code=None)
    assert out.exists()


def test_two_versions_run_in_trees_of_their_own(here: Here) -> None:
    quick = here.commit("Quick", prog__py=WORK.format(QUICK))
    slow = here.commit("Slow", prog__py=WORK.format(SLOW))
    here.write("prog.py", "raise SystemExit(1)")
    command = (sys.executable, "-S", "-E", "prog.py")
    done = here.perf("compare", "HEAD~1", slow[:12], "--threshold", "0.1", "--", *command, code=1)
    assert done.lines[:2] == [
        f"A  HEAD~1 ({quick[:10]}): {shlex.join(command)}",
        f"B  {slow[:10]}: {shlex.join(command)}",
    ]
    assert "B is slower" in done.out
    assert here.git("worktree", "list").out.count("\n") == 1


def test_the_working_tree_is_compared_with_the_head(here: Here) -> None:
    here.commit("Slow", prog__py=WORK.format(SLOW))
    here.write("prog.py", WORK.format(QUICK))
    command = ("--json", "--", sys.executable, "-S", "-E", "prog.py")
    found = here.perf("compare", *command).json
    assert [(side["version"], side["dirty"]) for side in found["sides"]] == [(here.head, False), (here.head, True)]
    assert found["answer"] == "faster"
    assert here.perf("compare", "HEAD", *command).json["answer"] == "faster"


def test_profiles_that_are_there_are_compared_without_a_run(here: Here) -> None:
    names = [here.save(measured(noisy(center, seed), session="s")) for seed, center in ((1, 5e6), (2, 5e6), (3, 6e6))]
    assert "B is slower: cpu +" in here.perf("compare", names[0], names[2], code=1).out
    assert "20 pairs of stored runs" in here.perf("compare", names[0], names[2], code=1).out
    assert "B is the same as A within 20 %" in here.perf("compare", names[0], names[1], "--threshold", "0.2").out
    found = here.perf("compare", names[0], names[1], "--threshold", "0.0001", "--json", code=8).json
    assert (found["answer"], found["seconds"]) == ("inconclusive", None)
    assert found["needed"] > 20


def test_several_profiles_are_one_side(here: Here) -> None:
    for seed in range(4):
        here.save(measured(noisy(5e6 if seed < 2 else 1e7, seed), session="s" if seed % 2 else "t"), created=seed)
    assert here.perf("compare", "0@p-1@p", "2@p-3@p", "--json", code=1).json["pairs"] == 40


def test_a_spent_budget_is_told_with_the_runs_that_are_needed(here: Here, work: Callable[[int], str]) -> None:
    words = ("compare", "--again", "--budget", "1ms", "-c", work(1000), "-c", work(1000))
    done = here.perf(*words, code=8)
    assert "all that the budget allows" in done.out
    assert "about 6 pairs would tell: --budget" in done.out
    found = here.perf(*words, "--json", code=8).json
    assert (found["answer"], found["stopped"], found["needed"]) == ("inconclusive", "budget", 6)
    assert found["pairs"] == 1


def test_as_many_pairs_as_allowed_are_told_with_those_that_are_needed(here: Here, work: Callable[[int], str]) -> None:
    words = ("compare", "--again", "--max-pairs", "6", "--threshold", "0", "-c", work(1000), "-c", work(1000))
    found = here.perf(*words, "--json", code=None).json
    assert found["pairs"] == 6
    assert found["stopped"] in ("pairs", "decided")
    assert (found["answer"] == "inconclusive") == (found["stopped"] == "pairs")


def test_what_was_measured_can_be_kept_and_compared_again(here: Here, work: Callable[[int], str]) -> None:
    done = here.perf("compare", "--keep", "--max-pairs", "8", "-c", work(QUICK), "-c", work(SLOW), code=1)
    pending = here.perf("status", "--json").json["pending"]
    sides = [[row["name"] for row in pending if str(rounds) in row["cmd"] + row["args"]] for rounds in (QUICK, SLOW)]
    assert [len(side) for side in sides] == [1, 1]
    for letter, text, (name,) in zip("AB", (work(QUICK), work(SLOW)), sides, strict=True):
        assert f"saved runs of {letter}, {printable(text)}: {name}" in done.err
    assert here.perf("compare", sides[0][0], sides[1][0], "--json", code=1).json["pairs"] == 8


def test_another_metric_can_decide(here: Here, work: Callable[[int], str]) -> None:
    found = here.perf("compare", "--metric", "wall", "--json", "-c", "true", "-c", "sleep 0.05", code=1).json
    assert (found["metric"], found["changes"][0]["primary"]) == ("wall", True)
    done = here.perf("compare", "--metric", "wal", "-c", "true", "-c", work(10), code=2)
    assert "the metric 'wal' was not measured" in done.err
    assert "wall" in done.err


def test_a_metric_that_nobody_measures_is_told_although_both_sides_are_the_same(here: Here) -> None:
    same = ("-c", "touch ran", "-c", "touch ran")
    done = here.perf("compare", "--metric", "wal", *same, code=2)
    assert "the metric 'wal' was not measured" in done.err
    (here.path / "ran").unlink()
    assert "nothing was measured" in here.perf("compare", "--metric", "wall", *same).out
    assert not (here.path / "ran").exists()


def test_all_metrics_and_their_evidence_are_told_on_demand(here: Here, work: Callable[[int], str]) -> None:
    done = here.perf("compare", "--verbose", "-c", work(QUICK), "-c", work(SLOW), code=1)
    assert "minor_faults" in done.out
    assert "cpu: " in done.out
    assert "signed-rank p=" in done.out


def test_a_configured_threshold_is_the_band(here: Here) -> None:
    names = [here.save(measured(noisy(center, seed), session="s")) for seed, center in ((1, 5e6), (3, 6e6))]
    here.perf("config", "set", "check.threshold", "0.5")
    assert here.perf("compare", *names, "--json").json["threshold"] == 0.5
    here.perf("config", "set", "check.thresholds", "{cpu: 0.4}")
    assert here.perf("compare", *names, "--json").json["threshold"] == 0.4
    assert here.perf("compare", *names, "--threshold", "0.1", "--json", code=1).json["threshold"] == 0.1


CHECK = '''
from perfcore.model import Change


class Stern:
    """Calls everything slower."""

    def __init__(self, settings=None):
        pass

    def compare(self, pairing):
        return [Change(id="1", kind="degradation", metric="cpu", unit="ns", ratio=1.5, low=1.4, high=1.6)]


class Historian:
    """Looks at no two versions."""

    def __init__(self, settings=None):
        pass
'''
OWN = """
plugins:
  own:
    check:
      stern: checks.py:Stern
      historian: checks.py:Historian
check:
  rules:
    - {collector: sample, method: historian}
    - {collector: time, method: %s}
    - {collector: time, method: pair}
"""


@pytest.mark.parametrize("words", [("--again", "-c", "true", "-c", "true"), ("0@p", "1@p")])
def test_the_first_check_that_the_rules_name_decides(here: Here, words: tuple[str, ...]) -> None:
    for seed in (1, 2):
        here.save(measured(noisy(5e6, seed), session="s"), created=seed)
    here.write("checks.py", CHECK)
    here.write(".perfcore.yml", OWN % "stern")
    here.perf("config", "trust", "--yes")
    assert "B is slower: cpu +50.0 %" in here.perf("compare", *words, code=1).out
    here.write(".perfcore.yml", OWN % "historian")
    here.perf("config", "trust", "--yes")
    done = here.perf("compare", *words, code=5)
    assert "does not compare two samples" in done.err
    assert "check.rules" in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name both sides"),
        (("0@p",), "name both sides"),
        (("HEAD", "HEAD"), "or a command that is measured"),
        (("-c", "true"), "give --command twice"),
        (("-c", "true", "-c", "true", "-c", "true"), "give --command twice"),
        (("-c", "true", "-c", "true", "HEAD"), "nothing beside it"),
        (("-c", "true", "-c", "true", "--", "true"), "nothing beside it"),
        (("-c", "true", "-c", "a > b"), "needs a shell"),
        (("-c", "", "-c", "true"), "--command 1 of 2 is empty"),
        (("-c", "true", "-c", "  ", "--shell"), "--command 2 of 2 is empty"),
        (("--threshold", "nan", "-c", "true", "-c", "true"), "the threshold is nan"),
        (("--threshold", "inf", "-c", "true", "-c", "true"), "the threshold is inf"),
        (("a", "b", "c", "--", "true"), "two versions are compared, and 3 are named"),
        (("HEAD", "--"), "no command to measure"),
        (("--budget", "soon", "--", "true"), "--budget: 'soon'"),
        (("--threshold", "-1", "--", "true"), "--threshold"),
        (("--max-pairs", "1", "--", "true"), "--max-pairs"),
        (("--treshold", "1", "--", "true"), "did you mean '--threshold'?"),
        (("-e", "NAME", "--", "true"), "--env wants NAME=VALUE"),
        (("--cwd", "missing", "--", "true"), "no folder missing"),
        (("--cwd", "/", "--", "true"), "outside the tree"),
    ],
)
def test_wrong_usage_is_told_before_anything_runs(here: Here, words: tuple[str, ...], says: str) -> None:
    done = here.perf("compare", *words, code=2)
    assert says in done.err


def test_what_is_not_there_is_an_error(here: Here) -> None:
    assert "no-such" in here.perf("compare", "no-such", "--", "true", code=3).err
    assert "no-such" in here.perf("compare", "no-such", "nor-this", code=3).err
    assert "no collector 'tme'" in here.perf("compare", "--collector", "tme", "-c", "true", "-c", "ls", code=5).err


@pytest.mark.parametrize("programs", [("true", "false"), ("false", "true"), ("true", "no-such-program-5d1")])
def test_a_command_that_fails_is_an_error_and_no_verdict(here: Here, programs: tuple[str, ...]) -> None:
    done = here.perf("compare", *(word for each in programs for word in ("-c", each)), code=6)
    assert done.out == ""
    assert done.err.count("perf: ") == 1


def test_a_version_that_does_not_build_is_named(here: Here) -> None:
    here.commit("Good", good="")
    here.commit("Bad")
    here.git("rm", "--quiet", "good")
    here.commit("Bad")
    here.perf("config", "set", "execute.pre_run", "[ls good]")
    done = here.perf("compare", "HEAD~1", "HEAD", "--", "true", code=6)
    assert f"{here.head[:10]}): pre_run 'ls good'" in done.err
    assert here.git("worktree", "list").out.count("\n") == 1
    assert "nothing was measured" in here.perf("compare", "HEAD", "HEAD", "--no-build", "--", "true").out


def test_a_version_that_nobody_builds_is_named_with_what_would_build_it(here: Here) -> None:
    here.commit("Source", Makefile="prog:\n\tcp source prog\n", source="#!/bin/sh\n")
    here.commit("Another", source="#!/bin/sh\n:\n")
    here.write("prog", "#!/bin/sh\n")
    (here.path / "prog").chmod(0o755)
    words = ("compare", "HEAD~1", "HEAD", "--", "./prog")
    done = here.perf(*words, code=6)
    assert "HEAD~1 (" in done.err
    assert "perf config set execute.pre_run '[make]'" in done.err
    here.perf("config", "set", "execute.pre_run", "[ls]")
    assert "execute.pre_run builds the tree of each version, and made no such file" in here.perf(*words, code=6).err


def test_the_version_in_which_a_command_fails_is_named_with_a_hint_that_works(here: Here) -> None:
    here.commit("Good", prog__py="")
    here.commit("Bad", prog__py="raise SystemExit(3)")
    command = (sys.executable, "-I", "-S", "prog.py")
    done = here.perf("compare", "HEAD~1", "HEAD", "--", *command, code=6)
    assert f"HEAD ({here.head[:10]}): `" in done.err
    assert "--on-failure" not in done.err
    hint = done.err.split("perf ")[-1].split()
    assert hint[:2] == ["config", "set"]
    here.perf(*hint)
    here.perf("compare", "--budget", "10ms", "HEAD~1", "HEAD", "--", *command, code=8)


def test_one_version_on_both_sides_has_two_trees(here: Here, python: Callable[[str], tuple[str, ...]]) -> None:
    command = python("import os; open(os.environ['OUT'], 'a').write(os.getcwd() + chr(10))")
    out = here.path.parent / "out"
    words = ("compare", "--again", "--budget", "1ms", "-e", f"OUT={out}", "HEAD", "HEAD")
    here.perf(*words, "--", *command, code=None)
    assert len(set(out.read_text().split())) == 2


def test_programs_are_compared_outside_of_a_repository(bare: Here, work: Callable[[int], str]) -> None:
    assert "B is slower" in bare.perf("compare", "-c", work(QUICK), "-c", work(SLOW), code=1).out
    assert list(bare.path.iterdir()) == []
    assert "not inside a perfcore repository" in bare.perf("compare", "HEAD", "--", "true", code=3).err
    assert "not inside a perfcore repository" in bare.perf("compare", "a", "b", code=3).err
    kept = bare.perf("compare", "--keep", "-c", "true", "-c", "ls", code=3)
    assert "not inside a perfcore repository" in kept.err
    assert kept.out == ""


def test_names_cannot_drive_a_terminal(here: Here) -> None:
    done = here.perf(
        "compare", "--budget", "1ms", "-c", "true '\x1b[2J\n<script>'", "-c", "true '\u202ename'", code=None
    )
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert "\\x1b[2J\\n<script>" in done.out


def test_an_interrupt_leaves_nothing_behind(here: Here, work: Callable[[int], str]) -> None:
    folder = here.path.parent / "running"
    text = shlex.join(("sh", "-c", f"touch {folder}; sleep 0.1"))
    process = subprocess.Popen(
        [sys.executable, "-m", "perfcore", "compare", "--keep", "-c", text, "-c", f"{text} x"],
        cwd=here.path,
        env=here.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + PATIENCE
    while not folder.exists() and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, (out, err)
    assert out == ""
    assert "interrupted" in err
    assert list((here.path / ".perf" / "jobs").iterdir()) == []
    assert here.perf("status", "--json").json["pending"] == []


def test_an_interrupt_keeps_what_is_complete(here: Here, python: Callable[[str], tuple[str, ...]]) -> None:
    """It comes in the second batch that counts, or a later one: the first takes no more than 34 runs."""
    count = here.path.parent / "count"
    text = shlex.join(python(f"import time; open({str(count)!r}, 'a').write('.'); time.sleep(0.03)"))
    words = ("compare", "--keep", "--threshold", "0", "--max-pairs", "100000", "-c", text, "-c", f"{text} x")
    process = subprocess.Popen(
        [sys.executable, "-m", "perfcore", *words], cwd=here.path, env=here.env, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + PATIENCE
    while (not count.exists() or count.stat().st_size < 36) and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert err.count("saved runs of A, ") == err.count("saved runs of B, ") == 1
    pending = here.perf("status", "--json").json["pending"]
    assert len(pending) in (2, 4, 6)
    assert all(row["name"] in err for row in pending)
