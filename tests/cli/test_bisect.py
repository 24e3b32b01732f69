"""`perf bisect`: real versions of a small program, built and run, and bisections that are interrupted."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from perfcore_command_bisect import journal as journals
from perfcore_command_bisect import report
from perfcore_command_bisect.bayes import BayesianSearch
from perfcore_command_bisect.engine import Bisection
from perfcore_command_bisect.result import BisectResult
from perfcore_testing.processes import PATIENCE

from perfcore.cli.console import new_console
from perfcore.locks import Lock
from perfcore.model.listener import SilentListener
from perfcore.model.record import replace
from perfcore.store.lookup import Ref

if TYPE_CHECKING:
    from .conftest import Here

PLUGIN = '''
import random
import subprocess

from perfcore.errors import CommandFailedError
from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec


class Work:
    """The work of each function that a program prints; with noise of half a percent where a tilde stands before it. The
    noise depends on the printed text and the number of the run, so that no test depends on the load of the machine."""

    schedule = {"repeat": 3, "warmup": 0}
    counts = {}

    def __init__(self, settings=None):
        pass

    def before(self, job):
        columns = [ColumnSpec("stack", "i64"), ColumnSpec("work", "f64", "", "value")]
        return Session(job, columns=columns, state=[])

    def collect(self, session, run):
        job, names = session.job, session.state
        done = subprocess.run(job.argv, cwd=job.cwd, env=dict(job.env), capture_output=True, text=True)
        if done.returncode:
            raise CommandFailedError(f"exit code {done.returncode}")
        number = self.counts[done.stdout] = self.counts.get(done.stdout, 0) + 1
        for line in done.stdout.splitlines():
            name, work = line.split()
            if name not in names:
                names.append(name)
            noise = random.Random(f"{number} of {line}").uniform(0.995, 1.005) if "~" in work else 1.0
            run.rows.add(stack=names.index(name), work=float(work.lstrip("~")) * noise)

    def after(self, session, outcome):
        names = session.state
        numbers = list(range(len(names)))
        text, number = (lambda name: ColumnSpec(name, "str")), (lambda name: ColumnSpec(name, "i64"))
        functions = session.table("functions", [text("name"), text("file"), number("line")])
        functions.extend({"name": names, "file": ["work.py"] * len(names), "line": [1] * len(names)})
        session.table("frames", [number("function"), number("offset")]).extend(
            {"function": numbers, "offset": [0] * len(names)}
        )
        session.table("stacks", [number("parent"), number("frame")]).extend(
            {"parent": [None] * len(names), "frame": numbers}
        )
'''
PROGRAM = """print("main", "~{main}")
print("Parser.next", "~{parser}")
"""
NAMED = """
plugins:
  own:
    collector:
      work: plugin.py:Work
"""
COMMAND = ("--", sys.executable, "-I", "-S", "work.py")
BISECT = ("bisect", "--collector", "work")


class History:
    """Versions of a program by a word each: what they are is in their subjects."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.ids: dict[str, str] = {}
        here.write("plugin.py", PLUGIN)
        here.write(".perfcore.yml", NAMED)
        here.write("build.sh", "true\n")

    def add(self, word: str, main: float = 100, parser: float = 50, **files: str) -> str:
        text = PROGRAM.format(main=main, parser=parser) + f"# {word}\n"
        self.ids[word] = self.here.commit(word, work__py=text, **files)
        return self.ids[word]


@pytest.fixture
def history(here: Here) -> History:
    """Fourteen versions: the tenth is slower, the third touches only a document, two do not build, one is empty."""
    made = History(here)
    for number in range(14):
        main = 100 if number < 9 else 130
        if number == 3:
            made.add("document", main, README="hello again\n")
        elif number in (6, 7):
            made.add(f"broken {number}", main, build__sh="exit 3\n")
        elif number == 11:
            made.ids["empty"] = here.commit("empty")
        else:
            made.add(f"version {number}", main, build__sh="true\n")
    here.perf("config", "set", "execute.pre_run", "sh build.sh")
    here.perf("config", "trust", "--yes")
    return made


def journal(here: Here) -> Any:
    return json.loads((here.path / ".perf" / "bisect.json").read_text())


def test_the_version_that_made_it_slower_is_found(history: History) -> None:
    here = history.here
    done = here.perf(*BISECT, "HEAD~13", "HEAD", *COMMAND)
    assert history.ids["version 9"] in done.out
    assert "this version made it worse: +" in done.out
    assert "tester@example.org" in done.out
    assert done.err == ""
    assert here.perf("status").out.count("pending") <= 1
    assert list(here.home.rglob("tree-*/work.py")) == []
    assert here.git("worktree", "list").out.count("\n") == 1
    assert here.git("status", "--porcelain").out == ""


def test_the_next_step_names_the_profiles_that_it_makes(history: History) -> None:
    """Also beside older profiles, pending and registered."""
    here = history.here
    for words in ((), (), ("--add", "--version", history.ids["version 9"])):
        here.perf("collect", "work", *words, *COMMAND)
    lines = here.perf(*BISECT, "HEAD~13", "HEAD", *COMMAND).out.splitlines()
    before, culprit = (history.ids[word][:10] for word in ("version 8", "version 9"))
    (collect,) = (line for line in lines if line.startswith("see where: "))
    assert f"-v {before} -v {culprit} --add -- {sys.executable}" in collect
    assert f"and then:  perf diff {before}:0@i {culprit}:1@i" in lines


def test_the_history_of_a_suite_gives_the_benchmark_that_changed(here: Here) -> None:
    other = "def track_other():\n    return 7\n"
    for value in (1, 2):
        here.commit(f"{value}", **{"benchmarks/bench_work.py": f"def track_work():\n    return {value}\n\n\n{other}"})
    here.perf("collect", "bench", "-v", "HEAD~1", "-v", "HEAD", "--repeat", "4", "--add", "--", "benchmarks")
    done = here.perf("bisect", "--auto", "--json").json
    assert (done["function"], done["ends_from"]) == ("bench_work.track_work", "degradation")
    assert [version["subject"] for version in done["found"]] == ["2"]
    done = here.perf("bisect", "--auto", "--benchmark", "track_work", "--json").json
    assert [version["subject"] for version in done["found"]] == ["2"]
    done = here.perf("bisect", "--auto", "--benchmark", "bench_work.track_wrk", code=3)
    assert "did you mean 'bench_work.track_work'?" in done.err


def test_a_suite_is_not_a_program_to_sample(here: Here) -> None:
    for value in (100, 130):
        here.commit(f"{value}", **{"benchmarks/bench_work.py": f"def track_work():\n    return {value}\n"})
    suite = ("--collector", "bench", "--benchmark", "bench_work.track_work", "--", "benchmarks")
    done = here.perf("bisect", "HEAD~1", "HEAD", *suite)
    assert "this version made it worse: +30.0 %" in done.out
    assert "see where" not in done.out
    assert "perf diff" not in done.out
    named = [word.removeprefix("bench_work.") for word in suite]
    assert "this version made it worse: +30.0 %" in here.perf("bisect", "HEAD~1", "HEAD", *named).out


def test_what_is_printed_for_programs_says_everything(history: History) -> None:
    done = history.here.perf(*BISECT, "HEAD~13", "HEAD", "--json", *COMMAND)
    found = done.json
    assert [one["id"] for one in found["found"]] == [history.ids["version 9"]]
    assert found["probability"] >= 0.95
    assert found["change"]["low"] - 0.005 <= 1.2 <= found["change"]["high"] + 0.005  # the noise moves both levels
    assert found["metric"] == "work"
    assert found["runs"] == sum(len(reading["amounts"]) for reading in found["readings"])
    assert len(found["versions"]) == 14


def test_versions_that_do_not_build_are_skipped(history: History) -> None:
    here = history.here
    here.git("checkout", "--quiet", "-b", "other", history.ids["version 5"])
    for word in ("broken a", "broken b"):
        history.add(word, 130, build__sh=f"exit 3 # {word}\n")
    history.add("last", 130, build__sh="true\n")
    done = here.perf(*BISECT, history.ids["version 0"], "HEAD", *COMMAND)
    assert "skipped: pre_run 'sh build.sh' failed with exit code 3" in done.out
    assert "one of these versions" in done.out
    for word in ("broken a", "broken b", "last"):
        assert history.ids[word] in done.out
    assert history.ids["version 5"] not in done.out.split("one of these")[1].split("see where")[0]


def test_a_command_that_fails_in_a_version_skips_it(here: Here) -> None:
    made = History(here)
    made.add("good")
    made.ids["fails"] = here.commit("fails", work__py="raise SystemExit(5)\n")
    made.add("bad", 130)
    here.perf("config", "trust", "--yes")
    done = here.perf(*BISECT, "HEAD~2", "HEAD", *COMMAND)
    assert "exit code 5" in done.out
    assert made.ids["fails"] in done.out
    assert made.ids["bad"] in done.out


@pytest.mark.parametrize(("good", "bad", "end"), [("version 0", "broken 7", "bad"), ("broken 7", "version 9", "good")])
def test_an_end_that_does_not_build_is_named(history: History, good: str, bad: str, end: str) -> None:
    done = history.here.perf(*BISECT, history.ids[good], history.ids[bad], *COMMAND, code=6)
    assert f"{history.ids['broken 7'][:10]}, the {end} end: pre_run 'sh build.sh' failed" in done.err


def test_an_end_in_which_the_command_fails_is_named_with_a_hint_that_works(here: Here) -> None:
    good = here.commit("good", work__py="raise SystemExit(5)\n")
    here.commit("bad", work__py="print('main 7')\n")
    command = ("bisect", "HEAD~1", "HEAD", "--max-runs", "8", *COMMAND)
    done = here.perf(*command, code=6)
    assert f"{good[:10]}, the good end: `" in done.err
    hint = done.err.split("perf ")[-1].split()
    assert hint[:2] == ["config", "set"]
    here.perf(*hint)
    assert "the good end" not in here.perf(*command, code=None).err


def test_an_end_that_nobody_builds_is_told_with_what_would_build_it(here: Here) -> None:
    here.commit("good", Cargo__toml="")
    here.commit("bad", Cargo__toml="# more\n")
    done = here.perf("bisect", "HEAD~1", "HEAD", "--", "./prog", code=6)
    assert "end: cannot start `./prog`" in done.err
    assert "perf config set execute.pre_run '[cargo build --release]'" in done.err


def test_ends_that_are_the_same_program_are_not_measured_unless_asked(history: History) -> None:
    here = history.here
    for number in range(3):
        here.commit(f"nothing {number}")
    done = here.perf(*BISECT, "HEAD~3", "HEAD", *COMMAND, code=8)
    assert "build the same program" in done.out
    assert journal(here)["readings"] == []
    here.perf("bisect", "--again", "--max-runs", "8", code=8)
    assert journal(here)["readings"] != []


def test_a_change_that_was_undone_is_not_called_none(here: Here) -> None:
    made = History(here)
    for word, main in (("start", 100), ("slow", 150), ("undone", 100), ("slow", 150), ("undone", 100)):
        here.commit(word, work__py=PROGRAM.format(main=main, parser=50))
        made.ids.setdefault(word, here.head)
    here.perf("config", "trust", "--yes")
    done = here.perf(*BISECT, "HEAD~4", "HEAD", *COMMAND, code=8)
    assert "build the same program" in done.out
    assert "what lies between them may differ" in done.out


def test_no_two_versions_are_taken_for_one_program_where_that_is_asked(here: Here) -> None:
    made = History(here)
    made.add("start", other__py="0\n")
    made.add("start", other__py="1\n")
    made.add("start", other__py="0\n")
    slow = made.add("slow", 150)
    here.perf("config", "trust", "--yes")
    done = here.perf(*BISECT, "--again", "HEAD~3", "HEAD", *COMMAND)
    assert slow in done.out
    assert journal(here)["programs"] == {}


def test_a_version_that_is_the_same_program_as_another_is_not_measured(here: Here) -> None:
    """Eight versions are the first one again; only the ninth is not."""
    made = History(here)
    made.add("start", other__py="0\n")
    for number in range(8):
        here.commit(f"there {number}", other__py=f"{number + 1}\n")
        here.commit(f"back {number}", other__py="0\n")
    slow = here.commit("slow", other__py="0\n", work__py=PROGRAM.format(main=150, parser=50))
    here.perf("config", "trust", "--yes")
    done = here.perf(*BISECT, "HEAD~17", "HEAD", *COMMAND)
    assert slow in done.out
    like = [line for line in done.out.splitlines() if "the same program as" in line]
    read = {reading["version"][:10] for reading in journal(here)["readings"]}
    assert all(line[:10] not in read for line in like)
    assert journal(here)["programs"]


def test_a_function_is_followed_where_the_whole_hides_it(here: Here) -> None:
    made = History(here)
    for number in range(8):
        made.add(f"version {number}", main=100 + (number >= 2) * 40, parser=50 + (number >= 5) * 10)
    here.perf("config", "trust", "--yes")
    done = here.perf(*BISECT, "HEAD~7", "HEAD", "--function", "Parser.next", "--json", *COMMAND)
    assert [one["id"] for one in done.json["found"]] == [made.ids["version 5"]]
    assert done.json["function"] == "Parser.next"
    here.perf("bisect", "--reset")
    done = here.perf(*BISECT, "HEAD~7", "HEAD", "--function", "Parser.nex", *COMMAND, code=3)
    assert "did you mean 'Parser.next'?" in done.err


def test_a_function_needs_stacks(history: History) -> None:
    done = history.here.perf("bisect", "HEAD~13", "HEAD", "--function", "main", *COMMAND, code=3)
    assert "has no stacks" in done.err
    assert "--collector sample" in done.err


def test_the_history_gives_ends_and_command(history: History) -> None:
    here = history.here
    for number in (0, 1, 2, 4, 5, 10, 12, 13):
        here.perf("collect", "work", "--add", "--version", history.ids[f"version {number}"], *COMMAND)
    done = here.perf("bisect", "--auto", "--json")
    assert [one["id"] for one in done.json["found"]] == [history.ids["version 9"]]
    assert done.json["versions"][0]["id"] == history.ids["version 5"]
    assert done.json["versions"][-1]["id"] == history.ids["version 10"]
    assert "measuring the same command as before" in done.err
    assert done.json["ends_from"] == "degradation"
    assert "no lasting regression" not in done.err
    assert here.perf(*BISECT, "HEAD~13", "HEAD", "--json", *COMMAND).json["ends_from"] is None


def test_where_no_degradation_stands_the_largest_step_gives_the_ends(history: History) -> None:
    """Three runs of either version are too few for a check."""
    here = history.here
    for word in ("version 5", "version 10"):
        here.perf("collect", "work", "--add", "--version", history.ids[word], *COMMAND)
    done = here.perf("bisect", "--auto", "--max-runs", "8", "--json", code=None)
    assert done.json["ends_from"] == "step"
    first, second = (line for line in done.err.splitlines() if line.startswith("note: "))
    ends = f"from {history.ids['version 5'][:10]} to {history.ids['version 10'][:10]}"
    guessed = "note: the history shows no lasting regression; taking the largest step for the worse: work of "
    assert re.fullmatch(rf"{guessed}.*, \+[\d.]+ % {ends}", first)
    assert "measuring the same command as before" in second
    assert here.perf("bisect", "--json", code=None).json["ends_from"] == "step", "that is known when it goes on"


def test_a_history_without_a_degradation_has_no_ends(history: History) -> None:
    here = history.here
    here.perf("collect", "work", "--add", "--version", history.ids["version 1"], *COMMAND)
    done = here.perf("bisect", "--auto", code=3)
    assert "the history shows no regression" in done.err


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (("--metric", "wrk"), "no profile here has a metric 'wrk'", "the metrics are "),
        (("--benchmark", "parse"), "no profile here has a function or benchmark 'parse'", ""),
        (("--collector", "time"), "nothing here was measured with this command and collector", "profiles of "),
        (("--", "other"), "nothing here was measured with this command and collector", "profiles of "),
    ],
)
def test_what_was_never_measured_is_no_history_without_a_regression(
    history: History, words: tuple[str, ...], said: str, hint: str
) -> None:
    here = history.here
    assert "no version here has a profile" in here.perf("bisect", "--auto", *words, code=3).err
    here.perf("collect", "work", "--add", "--version", history.ids["version 1"], *COMMAND)
    done = here.perf("bisect", "--auto", *words, code=3)
    assert said in done.err
    assert hint in done.err


def test_profiles_that_are_there_are_evidence(history: History) -> None:
    here = history.here
    here.perf("collect", "work", "--add", "--version", history.ids["version 8"], *COMMAND)
    here.perf(*BISECT, "HEAD~13", "HEAD", *COMMAND)
    old = [reading for reading in journal(here)["readings"] if reading.get("apart")]
    assert [reading["version"] for reading in old] == [history.ids["version 8"]]
    assert len(old[0]["amounts"]) == 3


def test_what_was_stored_of_the_answer_is_measured_again(history: History) -> None:
    """The version before the culprit was slow for as long as it was measured."""
    here = history.here
    here.perf("collect", "work", "--all", "--repeat", "10", "--add", *COMMAND, code=None)  # two versions do not build
    innocent, culprit = history.ids["version 8"], history.ids["version 9"]
    repository = here.repository
    (entry,) = repository.entries(culprit)
    slow = replace(repository.store.load(entry.profile), created=1)
    here.perf("rm", f"{innocent}:0@i")
    repository.register(Ref(kind="pending", pending=repository.save(slow)), innocent)
    done = here.perf(*BISECT, "HEAD~13", "HEAD", "--json", *COMMAND).json
    assert [version["id"] for version in done["found"]] == [culprit]
    measured = {reading["version"] for reading in done["readings"] if not reading["stored"]}
    assert {innocent, culprit} <= measured


def test_what_is_measured_can_be_registered(history: History) -> None:
    here = history.here
    here.perf(*BISECT, "HEAD~13", "HEAD", "--add", *COMMAND)
    counts = [len(here.repository.entries(version)) for version in history.ids.values()]
    measured = {reading["version"] for reading in journal(here)["readings"]}
    assert [bool(count) for count in counts] == [version in measured for version in history.ids.values()]
    assert here.perf("status", "--json").json["pending"] == []


def test_a_killed_bisection_goes_on(history: History) -> None:
    here = history.here
    words = (*BISECT, "HEAD~13", "HEAD", *COMMAND)
    process = subprocess.Popen(
        (sys.executable, "-m", "perfcore", *words), cwd=here.path, env=here.real.env, stdout=subprocess.DEVNULL
    )
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        if (here.path / ".perf" / "bisect.json").exists() and journal(here)["sessions"] >= 2:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = journal(here)
    assert before["sessions"] >= 2
    done = here.perf("bisect")
    assert "taken already" in done.out
    assert history.ids["version 9"] in done.out
    assert journal(here)["readings"][: len(before["readings"])] == before["readings"]
    assert list(here.home.rglob("tree-*/work.py")) == []


def test_runs_of_stored_profiles_do_not_count_as_measured_ones(history: History) -> None:
    here = history.here
    words = ("collect", "work", "--all", "--repeat", "10", "--add", *COMMAND)
    here.perf(*words, code=None)  # two versions do not build
    done = here.perf(*BISECT, "HEAD~13", "HEAD", "--max-runs", "8", *COMMAND, code=None)
    assert journal(here)["earlier_runs"] >= 80
    assert history.ids["version 9"] in done.out


def test_the_same_question_goes_on(history: History) -> None:
    here = history.here
    done = here.perf(*BISECT, "HEAD~13", "HEAD", "--max-runs", "8", *COMMAND, code=8)
    assert "inconclusive after 8 runs" in done.out
    assert "perf bisect --max-runs 16" in done.out
    done = here.perf(*BISECT, "HEAD~13", "HEAD", "--max-runs", "100", *COMMAND)
    assert "8 runs taken already" in done.out
    assert history.ids["version 9"] in done.out


def test_one_that_could_not_tell_is_over_and_makes_room_for_another(history: History) -> None:
    here = history.here
    here.perf(*BISECT, "HEAD~13", "HEAD", "--max-runs", "8", *COMMAND, code=8)
    done = here.perf(*BISECT, "HEAD~12", "HEAD", "--max-runs", "8", *COMMAND, code=8)
    assert "taken already" not in done.out
    assert journal(here)["versions"][0] == history.ids["version 1"]


def test_one_that_is_not_over_is_named_with_its_command(history: History) -> None:
    here = history.here
    here.perf(*BISECT, "HEAD~13", "HEAD", "--max-runs", "8", *COMMAND, code=8)
    text = json.loads((here.path / ".perf" / "bisect.json").read_text())
    (here.path / ".perf" / "bisect.json").write_text(json.dumps({**text, "max_runs": 120}))
    other = here.perf(*BISECT, "HEAD~12", "HEAD", *COMMAND, code=2)
    assert "is under way, of " in other.err
    assert "work.py" in other.err
    assert "--reset" in other.err


def test_a_finished_one_makes_room_for_another(history: History) -> None:
    here = history.here
    here.perf(*BISECT, "HEAD~13", "HEAD", *COMMAND)
    again = here.perf("bisect")
    assert history.ids["version 9"] in again.out
    assert "nothing was measured now, as this bisection had ended; with --reset" in again.out
    done = here.perf(*BISECT, "HEAD~12", "HEAD", *COMMAND)
    assert "taken already" not in done.out


def test_time_that_is_over_ends_it_for_now(history: History) -> None:
    done = history.here.perf(*BISECT, "HEAD~13", "HEAD", "--budget", "0.001", *COMMAND, code=8)
    assert "in the time there was" in done.out
    assert "go on: perf bisect" in done.out


def test_ends_that_do_not_differ_are_told(here: Here) -> None:
    made = History(here)
    for number, word in enumerate(("first", "second", "third", "last")):
        made.ids[word] = here.commit(word, work__py=f"print('main 100') # {number}\n")
    here.perf("config", "trust", "--yes")
    done = here.perf(*BISECT, "HEAD~3", "HEAD", *COMMAND, code=8)
    assert "differ by 0.0 %, less than 1 %; 8 runs" in done.out
    assert {reading["version"] for reading in journal(here)["readings"]} == {made.ids["first"], made.ids["last"]}


@pytest.fixture
def little(here: Here) -> History:
    """Six versions, the fourth of which takes half a percent more, without any noise."""
    made = History(here)
    for number in range(6):
        text = f"print('main {100 if number < 3 else 100.5}') # {number}\n"
        made.ids[f"version {number}"] = here.commit(f"version {number}", work__py=text)
    here.perf("config", "trust", "--yes")
    return made


def test_a_step_that_is_smaller_than_what_matters_is_not_looked_for(little: History) -> None:
    here = little.here
    done = here.perf(*BISECT, "HEAD~5", "HEAD", *COMMAND, code=8)
    assert "differ by +0.5 %, less than 1 %; 8 runs" in done.out
    assert "--threshold" in done.out
    done = here.perf("bisect", "--threshold", "0.002", "--json")
    assert [one["id"] for one in done.json["found"]] == [little.ids["version 3"]]
    assert done.json["threshold"] == 0.002
    assert done.json["ends"]["value"] == pytest.approx(1.005, abs=0.001)


@pytest.mark.parametrize(("key", "value"), [("check.threshold", "0.002"), ("check.thresholds", '{"work": 0.002}')])
def test_what_matters_is_taken_from_the_configuration(little: History, key: str, value: str) -> None:
    little.here.perf("config", "set", key, value)
    done = little.here.perf(*BISECT, "HEAD~5", "HEAD", *COMMAND)
    assert little.ids["version 3"] in done.out


TURNS = """import os, pathlib
place = pathlib.Path(os.environ["TURNS"])
turn = len(place.read_text()) if place.exists() else 0
place.write_text("." * (turn + 1))
print("main", 60 + 40 * (turn // 2 % 3))
"""


def test_ends_of_which_nobody_knows_whether_they_differ_are_told(here: Here, tmp_path: Path) -> None:
    """Each run of two takes 60, 100 or 140, whichever version it is of."""
    History(here)
    for number in range(3):
        here.commit(f"version {number}", work__py=f"{TURNS}# {number}\n")
    here.perf("config", "trust", "--yes")
    turns = ("--env", f"TURNS={tmp_path / 'turns'}")
    done = here.perf(*BISECT, "HEAD~2", "HEAD", "--max-runs", "12", *turns, *COMMAND, code=8)
    assert "which is not surely more than 1 %; 8 runs" in done.out
    assert "lie further apart" in done.out


@pytest.fixture
def quicker(here: Here) -> History:
    """Four versions, the third of which is faster."""
    made = History(here)
    for number in range(4):
        made.add(f"version {number}", 100 if number < 2 else 70)
    here.perf("config", "trust", "--yes")
    return made


def test_an_end_that_is_no_worse_is_no_success(quicker: History) -> None:
    here = quicker.here
    done = here.perf(*BISECT, "HEAD~3", "HEAD", *COMMAND, code=8)
    assert "the bad end is not worse than the good one: it is better" in done.out
    assert "this version made it better: -" in done.out
    assert quicker.ids["version 2"] in done.out
    assert "--better higher" in done.out


def test_who_looks_for_an_improvement_gets_it(quicker: History) -> None:
    done = quicker.here.perf(*BISECT, "HEAD~3", "HEAD", "--better", "higher", *COMMAND)
    assert quicker.ids["version 2"] in done.out
    assert "is not worse" not in done.out


def test_a_change_whose_interval_contains_nothing_is_not_said_to_have_a_size(history: History) -> None:
    """The answer is sure by what all versions explain together, before its own runs tell how much it changed."""
    here = history.here
    here.perf(*BISECT, "HEAD~13", "HEAD", *COMMAND)
    stored = journals.read(here.path / ".perf")
    assert stored is not None
    status = Bisection(here.repository, stored, SilentListener(), BayesianSearch()).status()
    assert status.belief.effect is not None
    assert status.own_change_is_sure
    effect = attrs.evolve(status.belief.effect, low=-0.1, value=-0.01, high=0.3)
    unsure = attrs.evolve(status, belief=attrs.evolve(status.belief, effect=effect))
    assert not unsure.own_change_is_sure
    assert unsure.is_worse
    version = here.repository.vcs.get_minor_version_info(history.ids["version 9"])
    console = new_console(directory=here.path)
    lines = list(report.conclusion(console, BisectResult(unsure, (version,))))
    (made,) = (line for line in lines if "this version" in line)
    assert made.startswith("this version made it worse; probability ")
    assert any(re.fullmatch(r"the size of its own change is less sure: .*; the ends differ by \+.*", x) for x in lines)


def test_forgetting(history: History) -> None:
    here = history.here
    assert "there is no bisection" in here.perf("bisect", "--reset").err
    here.perf(*BISECT, "HEAD~13", "HEAD", "--max-runs", "8", *COMMAND, code=8)
    assert "is discarded" in here.perf("bisect", "--reset").err
    assert "say between which versions" in here.perf("bisect", code=2).err


@pytest.mark.parametrize(
    "text",
    ['{"format": 1', "", "[]", '{"format": 1, "versions": [], "command": {"argv": [], "cmd": ""}}', "\0\xff"],
)
def test_a_damaged_journal_is_refused_and_can_be_removed(here: Here, text: str) -> None:
    (here.path / ".perf" / "bisect.json").write_text(text)
    done = here.perf("bisect", code=4)
    assert "is damaged" in done.err
    assert "--reset" in done.err
    here.perf("bisect", "--reset")
    assert not (here.path / ".perf" / "bisect.json").exists()


def test_a_newer_journal_is_left_alone(here: Here) -> None:
    (here.path / ".perf" / "bisect.json").write_text('{"format": 99}')
    assert "newer" in here.perf("bisect", code=4).err


def test_fsck_and_gc_leave_the_journal_alone(history: History) -> None:
    here = history.here
    here.perf(*BISECT, "HEAD~13", "HEAD", "--max-runs", "8", *COMMAND, code=8)
    before = journal(here)
    assert "nothing is damaged or missing" in here.perf("fsck").err
    here.perf("gc")
    assert journal(here) == before


def test_changes_that_are_not_committed_are_left_out_and_that_is_told(history: History) -> None:
    here = history.here
    here.write("work.py", "raise SystemExit(9)\n")
    done = here.perf(*BISECT, "HEAD~13", "HEAD", *COMMAND)
    assert "uncommitted changes are left out" in done.err
    assert history.ids["version 9"] in done.out
    assert (here.path / "work.py").read_text() == "raise SystemExit(9)\n"


def test_an_unknown_metric_is_an_error_with_the_nearest_name(history: History) -> None:
    done = history.here.perf(*BISECT, "HEAD~13", "HEAD", "--metric", "wrok", *COMMAND, code=3)
    assert "has no metric wrok" in done.err
    assert "did you mean 'work'?" in done.err


def test_outside_of_a_repository_there_is_nothing_to_bisect(bare: Here) -> None:
    assert "not inside a perfcore repository" in bare.perf("bisect", "HEAD~1", "HEAD", *COMMAND, code=3).err


def test_two_at_once_are_refused(history: History) -> None:
    here = history.here
    (here.path / ".perf" / "locks").mkdir(exist_ok=True)
    lock = Lock(here.path / ".perf" / "locks" / "bisect")
    assert lock.acquire(0)
    try:
        assert "another `perf bisect`" in here.perf("bisect", code=3).err
    finally:
        lock.release()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("HEAD", "HEAD~3"), "is newer than"),
        (("HEAD", "HEAD"), "both ends are"),
        (("HEAD",), "two versions are wanted, GOOD and BAD, and 1 is named"),
        (("HEAD", "HEAD", "HEAD"), "and 3 are named"),
        (("HEAD~1", "HEAD", "--better", "faster"), "lower or higher"),
        (("HEAD~1", "HEAD", "--confidence", "2"), "a probability"),
        (("HEAD~1", "HEAD", "--threshold", "-0.1"), "--threshold"),
        (("HEAD~1", "HEAD", "--threshold", "nan"), "the threshold is nan"),
        (("HEAD~1", "HEAD", "--threshold", "inf"), "the threshold is inf"),
        (("HEAD~1", "HEAD", "--budget", "soon"), "--budget"),
        (("--auto", "HEAD~1", "HEAD"), "from the history"),
    ],
)
def test_what_makes_no_sense_is_refused(history: History, words: tuple[str, ...], says: str) -> None:
    done = history.here.perf("bisect", *words, *COMMAND, code=None)
    assert done.code in (2, 3)
    assert says in done.err
    assert "hint" in done.err or done.code == 2


def test_versions_of_other_lines_have_no_row_between_them(history: History) -> None:
    here = history.here
    here.git("checkout", "--quiet", "-b", "side", "HEAD~3")
    here.commit("aside")
    done = here.perf("bisect", "main", "side", *COMMAND, code=3)
    assert "no ancestor" in done.err
    assert "git merge-base" in done.err


def test_a_change_on_a_side_line_is_found_there(here: Here) -> None:
    made = History(here)
    made.add("start")
    here.git("checkout", "--quiet", "-b", "side")
    for number in range(4):
        made.ids[f"side {number}"] = here.commit(
            f"side {number}", work__py=PROGRAM.format(main=100 if number < 2 else 130, parser=50) + f"# {number}\n"
        )
    here.git("checkout", "--quiet", "main")
    for number in range(4):
        here.commit(f"main {number}", other__py=f"# {number}\n")
    here.git("merge", "--quiet", "--no-edit", "side")
    here.perf("config", "trust", "--yes")
    done = here.perf(*BISECT, made.ids["start"], "HEAD", "--json", *COMMAND)
    assert [one["id"] for one in done.json["found"]] == [made.ids["side 2"]]


def test_a_merge_of_an_older_line_says_how_to_look_into_it(here: Here) -> None:
    """The versions of a line that began before the good end do not contain it."""
    made = History(here)
    made.add("start")
    here.git("checkout", "--quiet", "-b", "side")
    for number in range(3):
        made.ids[f"side {number}"] = here.commit(
            f"side {number}", work__py=PROGRAM.format(main=100 if number < 1 else 130, parser=50) + f"# {number}\n"
        )
    here.git("checkout", "--quiet", "main")
    good = here.commit("main", other__py="# 1\n")
    here.git("merge", "--quiet", "--no-edit", "side")
    here.perf("config", "trust", "--yes")
    done = here.perf(*BISECT, good, "HEAD", *COMMAND)
    (hint,) = (line for line in done.lines if line.startswith("it is a merge: "))
    words = shlex.split(hint.rpartition(": perf ")[2])
    at = words.index("--")
    assert words[at - 2 : at] == [made.ids["start"][:10], made.ids["side 2"][:10]]
    done = here.perf(*words[:at], "--json", *words[at:])
    assert [version["id"] for version in done.json["found"]] == [made.ids["side 1"]]


def test_subjects_from_outside_move_no_cursor(here: Here) -> None:
    made = History(here)
    made.add("good")
    here.commit("evil \x1b[31m\u202e subject", work__py=PROGRAM.format(main=150, parser=50))
    here.perf("config", "trust", "--yes")
    done = here.perf(*BISECT, "HEAD~1", "HEAD", *COMMAND)
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_an_interrupt_says_how_to_go_on(history: History) -> None:
    here = history.here
    words = (*BISECT, "HEAD~13", "HEAD", *COMMAND)
    process = subprocess.Popen(
        (sys.executable, "-m", "perfcore", *words),
        cwd=here.path,
        env=here.real.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(4):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert "`perf bisect` goes on" in err or process.returncode == 0
    assert list(here.home.rglob("tree-*/work.py")) == []
