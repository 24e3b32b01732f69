"""Forty commits of known cost: `check`, `history` and `bisect` name the commits that changed it.

Three changes are planted: the program becomes 5 % slower, later faster, and then slower again for six commits. The cost
of a commit stands in a file of its tree, and the collector of this test adds noise that is the same in every run of the
test: the methods are on trial here, and no load of the machine changes what they get.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

COMMITS = 40
SLOWER, FASTER, SLOWED, UNDONE = 10, 19, 27, 33
KINDS = {SLOWER: "degradation", FASTER: "optimization", SLOWED: "degradation", UNDONE: "optimization"}
COST = 3_600_000.0
# Runs of a version. With noise of 1 %, the standard error of a median of 20 runs is 1.25 * 0.01 / sqrt(20) = 0.28 %,
# an eighteenth of the smallest step.
REPEATS = 20

COLLECTOR = '''
import random

from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec


class Counted:
    """The counted work of a tree, with noise that depends on the cost and the number of the run alone."""

    schedule = {"repeat": 3, "warmup": 0}
    counts = {}

    def before(self, job):
        return Session(job, columns=[ColumnSpec("work", "f64", "", "value")])

    def collect(self, session, run):
        text = (session.job.cwd / "work.txt").read_text()
        number = self.counts[text] = self.counts.get(text, 0) + 1
        noise = random.Random(f"{number} of {text}").gauss(0, 0.01)
        run.rows.add(work=float(text.split()[0]) * (1 + noise))

    def after(self, session, outcome):
        pass
'''


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


def _cost(number: int) -> float:
    factor = 1.05 if number >= SLOWER else 1.0
    factor *= 0.85 if number >= FASTER else 1.0
    factor *= 1.1 if SLOWED <= number < UNDONE else 1.0
    return round(COST * factor)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    directory = tmp_path_factory.mktemp("forty")
    project = Project(directory / "project", directory / "home")
    project.path.mkdir()
    project.git("init", "--quiet", "--initial-branch=main")
    project.write("counted.py", COLLECTOR)
    project.write(".perfcore.yml", "plugins: {own: {collector: {counted: 'counted.py:Counted'}}}\n")
    ids = tuple(
        project.commit(f"Change {number}", work__txt=f"{_cost(number)} in version {number}\n")
        for number in range(COMMITS)
    )
    project.perf("init")
    project.perf("config", "trust", "--yes")
    project.perf("collect", "counted", "--all", "--add", "--repeat", str(REPEATS), "--", "true", timeout=PATIENCE)
    return History(project, ids)


def test_check_names_the_commits(history: History) -> None:
    document = history.project.perf("check", "all", "--json", code=1).json
    changes = [change for change in document["changes"] if change["kind"] != "variance"]
    assert {history.planted(change): change["kind"] for change in changes} == KINDS
    assert len(changes) == len(KINDS)
    for change in changes:
        first, named, last = (history.number(change[key]) for key in ("earliest", "target", "latest"))
        assert first <= named <= last
        assert last - first <= 3, "a range this wide tells nobody which commit it was"


def test_check_knows_which_slowdown_was_undone(history: History) -> None:
    changes = history.project.perf("check", "all", "--json", code=1).json["changes"]
    work = {history.planted(c): c for c in changes if c["kind"] != "variance"}
    assert work[SLOWER]["undone"] == ""
    assert work[SLOWED]["undone"].startswith(work[UNDONE]["target"])
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
    document = history.project.perf(
        "bisect", *ends, *words, "--collector", "counted", "--", "true", timeout=PATIENCE
    ).json
    assert [found["id"] for found in document["found"]] == [history.ids[guilty]]


def test_bisect_finds_its_question_in_the_history(history: History) -> None:
    """The last slowdown that lasts."""
    words = ("--confidence", "0.99", "--max-runs", "6000", "--json")
    document = history.project.perf("bisect", "--auto", *words, timeout=PATIENCE).json
    assert [found["id"] for found in document["found"]] == [history.ids[SLOWER]]
