"""Two versions of a program whose file was renamed: equal functions, replicates, and versions as words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from perfcore_command_diff import matching
from perfcore_command_diff.renames import renames
from perfcore_testing.profiles import CREATED, profile
from perfcore_testing.project import Project

from perfcore.library import History, open_repository
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

APP = "def parse(text):\n    return text.split()\n\n\ndef main():\n    for _ in range(9):\n        parse('a b')\n"
CONFIG = "1:" + "0" * 40


def sampled(file: str, samples: Mapping[str, int], number: int = 0) -> Profile:
    builder = StackBuilder()
    lines = {"parse": (2, 1), "main": (7, 5), "new": (9, 9)}
    stacks = [builder.add((Frame("main", file, 7, 5), Frame(name, file, *lines[name]))) for name in samples]
    columns = [column("stack", stacks), column("samples", list(samples.values()), role="value")]
    made = profile({"resources": table("resources", columns), **builder.tables()})
    return replace(made, config_id=CONFIG, created=CREATED + number)


@pytest.fixture
def history(project: Project) -> History:
    """Two versions with two profiles each; between them `app.py` became `core/app.py`."""
    history = open_repository(project.path)
    for folder, amounts in (("", (30, 34)), ("core/", (60, 64))):
        if folder:
            (project.path / folder).mkdir()
            project.git("mv", "app.py", f"{folder}app.py")
        version = project.commit(f"Put it in {folder or 'the root'}", **{f"{folder}app.py": APP})
        for number, amount in enumerate(amounts):
            history.save(sampled(f"{folder}app.py", {"parse": amount, "main": 10}, number))
            history.register("0@p", version)
    return history


def test_functions_of_a_renamed_file_stay_the_same(history: History) -> None:
    rows = {(row.name, row.file): (row.baseline, row.target) for row in history.diff("HEAD~1:0@i", "0@i").table.rows}
    assert rows[("parse", "core/app.py")] in ((30, 60), (34, 64), (30, 64), (34, 60))
    assert not any(file == "app.py" for _, file in rows)


def test_other_profiles_of_both_versions_are_replicates(history: History) -> None:
    versions = history.version("HEAD~1"), history.version()
    pair = matching.match(history.repository, history.profile("HEAD~1:0@i"), history.profile("HEAD:0@i"), versions)
    sides = matching.sides(history.repository, pair, versions)
    assert [len(side.replicates) for side in sides] == [2, 2]
    assert sides[0].paths == {"core/app.py": "app.py"}
    assert {str(file) for side in sides for each in side.replicates for file in each.tables["functions"]["file"]} == {
        "core/app.py"
    }


@pytest.mark.parametrize("words", [("HEAD~1", "HEAD"), ("HEAD~1..HEAD",)])
def test_versions_stand_for_what_was_measured_alike(history: History, project: Project, words: tuple[str, ...]) -> None:
    text = project.perf("diff", *words).out
    assert "parse" in text
    assert f"baseline: {history.version('HEAD~1')[:10]}:" in text


def test_versions_without_a_common_command_are_refused(history: History, project: Project) -> None:
    project.commit("Nothing measured", **{"new.py": "x = 1\n"})
    assert "no command was measured for both" in project.perf("diff", "HEAD~1", "HEAD", code=3).err


def test_the_page_has_the_source_of_both_versions_and_the_noise(history: History, project: Project) -> None:
    project.perf("diff", "HEAD~1", "HEAD", "--view", "flamegraph", "-o", "page.html")
    page = (project.path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")


def test_a_file_that_changed_beyond_half_is_another() -> None:
    contents = {"old.py": b"a\nb\nc\nd", "new.py": b"a\nb\nx\ny\nz", "same.py": b"a\nb\nc\ne"}
    functions = {"f"}

    def read(version: str, path: str) -> bytes | None:
        return contents.get(path)

    assert renames({"old.py": functions}, {"new.py": functions}, "1", "2", read) == {}
    added = {"new.py": functions, "same.py": functions}
    assert renames({"old.py": functions}, added, "1", "2", read) == {"old.py": "same.py"}
    assert renames({"old.py": functions}, {"same.py": {"g"}}, "1", "2", read) == {}
    assert renames({"old.py": functions}, {"gone.py": functions}, "1", "2", read) == {}


def test_a_word_that_is_neither_is_refused(history: History, project: Project) -> None:
    assert "no profile 'nothing'" in project.perf("diff", "nothing", "HEAD", code=3).err
