"""A real program over forty commits, measured for real: `check`, `history` and `bisect` name what changed it.

Three changes are planted: it becomes 5 % slower, later faster, and then slower again for six commits. What decides is
CPU time, which a busy machine disturbs little. How often each version is measured follows from the noise that there is.
"""

from __future__ import annotations

import math
import shutil
import sys
from typing import Any

import attrs
import pytest
from perfcore_testing.project import Project

posix = pytest.mark.skipif(sys.platform != "linux", reason="the collector `time` measures on Linux")
compiled = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
pytestmark = [posix, compiled]

COMMITS = 40
SLOWER, FASTER, SLOWED, UNDONE = 10, 19, 27, 33
KINDS = {SLOWER: "degradation", FASTER: "optimization", SLOWED: "degradation", UNDONE: "optimization"}
ROUNDS = 3_600_000  # about 5 ms
PRECISION = 0.004  # standard error of a version's median: the smallest step is twelve times as large
LEAST, MOST = 15, 60  # runs of a version

PROGRAM = """\
/* Version {number} of a program that works for some milliseconds. */
const char *version = "{number}";

int main(void)
{{
    volatile unsigned long sum = 1;
    for (long round = 0; round < {rounds}; round++)
        sum = sum * 6364136223846793005UL + 1442695040888963407UL;
    return version[0] == 0 && sum == 0;
}}
"""


@attrs.frozen
class History:
    """Forty measured commits, by their numbers."""

    project: Project
    ids: tuple[str, ...]

    def number(self, version: str) -> int:
        """The number of the commit whose id begins like this."""
        (found,) = [number for number, id in enumerate(self.ids) if id.startswith(version)]
        return found

    def planted(self, change: dict[str, Any]) -> int:
        """The planted change that may have come with any of the versions that a reported one names."""
        first, last = self.number(change["earliest"]), self.number(change["latest"])
        (found,) = [place for place in KINDS if first <= place <= last]
        return found


def _rounds(number: int) -> int:
    factor = 1.05 if number >= SLOWER else 1.0
    factor *= 0.85 if number >= FASTER else 1.0
    factor *= 1.1 if SLOWED <= number < UNDONE else 1.0
    return round(ROUNDS * factor)


def _repeats(project: Project) -> int:
    """How often to measure a version, by the spread of twenty runs: the standard error of a median of n is about
    1.25 standard deviations over the root of n, and a standard deviation is 0.74 of the middle half."""
    told = project.perf("collect", "time", "--repeat", "20", "--version", "HEAD", "--json", "--", "./work").json
    (cpu,) = [metric for metric in told["profiles"][0]["metrics"] if metric["metric"] == "cpu"]
    return max(LEAST, min(MOST, math.ceil((1.25 * 0.74 * cpu["spread"] / PRECISION) ** 2)))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    folder = tmp_path_factory.mktemp("forty")
    project = Project(folder / "project", folder / "home")
    project.path.mkdir()
    project.git("init", "--quiet", "--initial-branch=main")
    ids = tuple(
        project.commit(f"Change {number}", work__c=PROGRAM.format(number=number, rounds=_rounds(number)))
        for number in range(COMMITS)
    )
    project.perf("init")
    project.perf("config", "set", "execute.pre_run", "cc -O1 -o work work.c")
    repeats = str(_repeats(project))
    project.perf("collect", "time", "--all", "--add", "--repeat", repeats, "--", "./work", timeout=600)
    return History(project, ids)


def test_check_names_the_commits(history: History) -> None:
    told = history.project.perf("check", "all", "--json", code=1).json
    changes = [change for change in told["changes"] if change["metric"] == "cpu" and change["kind"] != "variance"]
    assert {history.planted(change): change["kind"] for change in changes} == KINDS
    assert len(changes) == len(KINDS)
    for change in changes:
        first, named, last = (history.number(change[key]) for key in ("earliest", "target", "latest"))
        assert first <= named <= last
        assert last - first <= 3, "a range this wide tells nobody which commit it was"


def test_check_knows_which_slowdown_was_undone(history: History) -> None:
    changes = history.project.perf("check", "all", "--json", code=1).json["changes"]
    cpu = {history.planted(c): c for c in changes if c["metric"] == "cpu" and c["kind"] != "variance"}
    assert cpu[SLOWER]["undone"] == ""
    assert cpu[SLOWED]["undone"].startswith(cpu[UNDONE]["target"])
    assert [history.planted(change) for change in changes if change["fails"]] == [SLOWER]


def test_history_marks_the_commits(history: History) -> None:
    (series,) = history.project.perf("history", "--json").json["series"]
    assert [point["version"] for point in series["points"]] == list(history.ids)
    changes = [change for change in series["changes"] if change["kind"] != "variance"]
    assert {history.planted(change): change["kind"] for change in changes} == KINDS
    lines = history.project.perf("history").lines
    drawn = {column - 2: mark for column, mark in enumerate(lines[2]) if mark in "^v"}
    assert drawn == {history.number(c["target"]): "^" if c["kind"] == "degradation" else "v" for c in changes}


@pytest.mark.parametrize(("good", "bad", "guilty"), [(2, 17, SLOWER), (21, 31, SLOWED)])
def test_bisect_names_the_commit(history: History, good: int, bad: int, guilty: int) -> None:
    """With what was measured already and, where that is not enough, with runs of its own."""
    ends = history.ids[good], history.ids[bad]
    words = ("--confidence", "0.99", "--max-runs", "6000", "--json")
    told = history.project.perf("bisect", *ends, *words, "--", "./work", timeout=600).json
    assert [found["id"] for found in told["found"]] == [history.ids[guilty]]


def test_bisect_finds_its_question_in_the_history(history: History) -> None:
    """The last slowdown that lasts."""
    words = ("--confidence", "0.99", "--max-runs", "6000", "--json")
    told = history.project.perf("bisect", "--auto", *words, timeout=600).json
    assert [found["id"] for found in told["found"]] == [history.ids[SLOWER]]
