"""Bisection as a call of the library, its document, and another search in the place of the Bayesian one."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
import jsonschema
import pytest
from perfcore_command_bisect.contract import BisectContract
from perfcore_command_bisect.result import BisectResult
from perfcore_command_bisect.search import Belief, Measurement, Observation, Question
from perfcore_testing.output import FakeContext
from perfcore_testing.project import Project, empty_project, project  # noqa: F401

from perfcore.errors import PluginError, UsageError
from perfcore.library import History, open_repository
from perfcore.plugins.registry import Plugins

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "bisect.json"
SLOWER = 5
COUNTER = '''
from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec


class Counted:
    """Reads the work of a version from a file of its tree: no clock takes part."""

    schedule = {"repeat": 3, "warmup": 0}

    def before(self, job):
        return Session(job, columns=[ColumnSpec("work", "f64", "", "value")])

    def collect(self, session, run):
        run.rows.add(work=float((session.job.cwd / "work.txt").read_text()))

    def after(self, session, outcome):
        pass
'''


@pytest.fixture
def history(project: Project, monkeypatch: pytest.MonkeyPatch) -> History:  # noqa: F811
    """Nine versions, the sixth of which does 10 % more work."""
    project.use_home(monkeypatch)
    project.write("counted.py", COUNTER)
    project.write(".perfcore.yml", "plugins: {own: {collector: {counted: 'counted.py:Counted'}}}\n")
    for number in range(9):
        work = 100.0 if number < SLOWER else 110.0
        project.commit(f"Change {number}", work__txt=f"{work}\n", number__txt=f"{number}\n")
    project.perf("config", "trust", "--yes")
    return open_repository(project.path)


class BinarySearch:
    """A plain bisection: each version is measured three times, and its median decides its side."""

    def believe(self, question: Question, evidence: Sequence[Observation], smallest: float) -> Belief:
        medians = {seen.place: statistics.median(seen.amounts) for seen in evidence if not seen.apart}
        last = question.places - 1
        first_bad, good = last, 0
        if 0 in medians and last in medians:
            middle = (medians[0] + medians[last]) / 2
            good = max(place for place, median in medians.items() if median < middle)
            first_bad = min(place for place, median in medians.items() if median >= middle)
        shares = [1.0 if good < place <= first_bad else 0.0 for place in range(question.places)]
        runs = sum(len(seen.amounts) for seen in evidence)
        return Belief(
            probabilities=tuple(share / sum(shares) for share in shares), nothing=0.0, runs=(runs, runs, runs)
        )

    def choose(self, question: Question, belief: Belief, setup: float, confidence: float) -> Measurement | None:
        last = question.places - 1
        if not belief.runs[2]:
            return Measurement(0, 3, last, 3)
        suspects = [place for place, probability in enumerate(belief.probabilities) if probability]
        return Measurement(suspects[len(suspects) // 2 - 1], 3, last, 1) if len(suspects) > 1 else None

    def verdict(
        self, question: Question, belief: Belief, max_runs: int, confidence: float
    ) -> Literal["found", "same"] | None:
        return "found" if belief.runs[2] and max(belief.probabilities) == 1.0 else None


def bisect(history: History, **options: Any) -> BisectResult:
    result = history.bisect("HEAD~8", "HEAD", "true", collector="counted", **options)
    assert isinstance(result, BisectResult)
    return result


def test_the_library_finds_the_version(history: History) -> None:
    result = bisect(history)
    assert result.found
    assert [version.subject for version in result.versions] == [f"Change {SLOWER}"]
    assert result.probability >= 0.95
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        result.status = None  # type: ignore[misc, assignment]


def test_the_document_is_that_of_the_schema_and_of_the_command(history: History, project: Project) -> None:  # noqa: F811
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(json.dumps(bisect(history).as_json()))
    jsonschema.validate(document, schema)
    words = ("bisect", "--collector", "counted", "--json", "HEAD~8", "HEAD", "--", "true")
    printed = project.perf(*words).json
    jsonschema.validate(printed, schema)
    assert printed == document, "the bisection had ended, so that the command prints the same result"


def test_a_document_of_a_bisection_that_decided_nothing_fits_the_schema(history: History) -> None:
    result = history.bisect("HEAD~3", "HEAD", "true", collector="counted")
    assert not result.found
    jsonschema.validate(json.loads(json.dumps(result.as_json())), json.loads(SCHEMA.read_text()))


def test_a_bisection_reports_to_its_listener(history: History) -> None:
    context = FakeContext()
    (history.repository.root / "work.txt").write_text("1\n")
    bisect(history, listener=context)
    assert any("as they were committed" in text for text in context.said)


def test_another_search_takes_the_place_of_the_bayesian_one(history: History) -> None:
    result = bisect(history, search=BinarySearch())
    assert [version.subject for version in result.versions] == [f"Change {SLOWER}"]
    measured = {reading.version for reading in result.status.journal.readings}
    assert len(measured) == 2 + 3, "the ends, and three of seven versions between them"


class NeverSure(BinarySearch):
    """A search that wants seven runs of a version and five of an end, again and again."""

    def choose(self, question: Question, belief: Belief, setup: float, confidence: float) -> Measurement | None:
        last = question.places - 1
        return Measurement(3, 7, last, 5) if belief.runs[2] else Measurement(0, 4, last, 4)

    def verdict(self, question: Question, belief: Belief, max_runs: int, confidence: float) -> None:
        return None


@pytest.mark.parametrize(("most", "of_version", "of_end"), [(8, 0, 4), (9, 0, 4), (10, 1, 5), (19, 7, 8), (21, 7, 9)])
def test_a_bisection_takes_no_more_runs_than_it_may(history: History, most: int, of_version: int, of_end: int) -> None:
    result = bisect(history, search=NeverSure(), max_runs=most)
    assert result.status.stopped == "runs"
    journal = result.status.journal
    assert [journal.fresh_runs[journal.versions[place]] for place in (0, 3, -1)] == [4, of_version, of_end]
    assert journal.new_runs == 4 + of_version + of_end <= most


def test_an_unknown_option_is_an_error_with_the_nearest_name(history: History) -> None:
    with pytest.raises(UsageError, match="no option 'confidance'"):
        bisect(history, confidance=0.9)


def test_without_the_distribution_the_library_names_it(history: History) -> None:
    without = open_repository(history.repository.root, plugins=Plugins(disabled=["perfcore-command-bisect"]))
    with pytest.raises(PluginError, match="perfcore-command-bisect"):
        without.bisect("HEAD~8", "HEAD", "true")


class TestBisect(BisectContract):
    """Every law of the kind command."""
