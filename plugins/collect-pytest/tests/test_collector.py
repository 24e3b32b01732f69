"""The collector: which tests have rows, and what becomes of the others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from perfcore_collect_bench.worker.timing import VALUES
from perfcore_collect_pytest.collector import PytestCollector, PytestSettings
from perfcore_testing.collector import Measuring
from perfcore_testing.project import Project

from perfcore.errors import CommandFailedError
from perfcore.library import open_repository
from perfcore.model import Job
from perfcore.profile.benchmarks import split

from .conftest import MeasureTests, names, statuses, write

MIXED = """
    import os
    import pytest

    @pytest.mark.parametrize("size", [4, 8])
    def test_parse(perf, size):
        assert perf(sum, range(size)) > 0

    def test_compatible(benchmark):
        assert benchmark(int) == 0

    def test_plain():
        open("plain", "a").write("x")

    def test_wrong(perf):
        open("wrong", "a").write("x")
        perf(int)
        assert False, "too \\n bad"

    @pytest.fixture
    def broken():
        yield
        raise ValueError("in teardown")

    def test_teardown(perf, broken):
        perf(int)

    def test_skipped(perf):
        pytest.skip("not here")

    @pytest.mark.xfail(reason="later")
    def test_expected(perf):
        perf(int)
        assert False

    def test_unused(perf):
        pass

    def test_crash(perf):
        perf(int)
        os._exit(7)
"""


def test_only_tests_that_pass_are_measured(measure: MeasureTests, tmp_path: Path) -> None:
    """One that fails is tried once, also where it fails after it was timed or ends its process."""
    write(tmp_path / "test_broken.py", "import no_such_module\ndef test_b(perf): perf(int)\n")
    measuring = measure(MIXED, runs=2)
    measured = {"test_a.py::test_parse[4]", "test_a.py::test_parse[8]", "test_a.py::test_compatible"}
    assert set(names(measuring)) == measured
    assert (tmp_path / "wrong").read_text() == "x"
    assert not (tmp_path / "plain").exists()
    became = statuses(measuring)
    assert {name for name, (status, _) in became.items() if status == "measured"} == measured
    expected = {
        "test_a.py::test_wrong": ("failed", "too bad"),
        "test_a.py::test_teardown": ("failed", "in teardown"),
        "test_a.py::test_skipped": ("skipped", "not here"),
        "test_a.py::test_expected": ("skipped", ""),
        "test_a.py::test_unused": ("failed", "measures nothing"),
        "test_a.py::test_crash": ("failed", "exited with code 7"),
        "test_broken.py": ("failed", "no_such_module"),
    }
    for name, (status, message) in expected.items():
        assert became[name][0] == status
        assert message in became[name][1]
    assert any("failed" in note for note in measuring.session.notes)


def test_a_run_is_a_process_with_several_values_of_the_same_loops(measure: MeasureTests) -> None:
    measuring = measure("def test_sum(perf): perf(sum, range(100))", runs=2)
    assert [row["run"] for row in measuring.rows] == [0] * VALUES + [1] * VALUES
    assert len({row["loops"] for row in measuring.rows}) == 1
    assert all(row["cpu"] > 0 for row in measuring.rows)
    (part,) = split(measuring.profile).values()
    assert len(part.tables["resources"]["wall"]) == 2
    seeds = measuring.session.tables["workers"].build()["hash_seed"]
    assert len(set(seeds)) == 2
    assert str(measuring.session.sampling["harness"]).startswith("pytest ")


def test_versions_have_the_same_loops_and_order(tmp_path: Path) -> None:
    text = "def test_it(perf):\n    open('order', 'a').write('{}')\n    perf(sum, range(500))\n"
    sessions = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        for letter in "pqrst":
            write(folder / f"test_{letter}.py", text.format(letter))
        sessions.append(Measuring(PytestCollector(PytestSettings()), Job(argv=(".",), cmd=".", cwd=folder)).__enter__())
    for _ in range(2):
        for session in sessions:
            session.run()
    for session in sessions:
        session.__exit__(None, None, None)
    orders = [(tmp_path / name / "order").read_text() for name in "ab"]
    assert orders[0] == orders[1]
    assert orders[0][:5] != orders[0][5:]
    loops = [{(row["benchmark"], row["loops"]) for row in session.rows} for session in sessions]
    assert loops[0] == loops[1]
    assert len(loops[0]) == 5


def test_arguments_select_tests_and_leave_no_cache_behind(measure: MeasureTests, tmp_path: Path) -> None:
    text = "def test_one(perf): perf(int)\ndef test_two(perf): perf(int)\ndef test_three(perf): perf(int)\n"
    options = {"select": "one or two", "arguments": "--deselect 'test_a.py::test_two' -x --perf"}
    assert names(measure(text, words=("test_a.py",), **options)) == ["test_a.py::test_one"]
    assert not (tmp_path / ".pytest_cache").exists()


def test_the_project_is_imported_from_its_root_also_below_it(tmp_path: Path) -> None:
    write(tmp_path / "pytest.ini", "[pytest]")
    write(tmp_path / "src" / "words.py", "def parse(): pass")
    write(tmp_path / "tests" / "test_a.py", "import words\ndef test_one(perf): perf(words.parse)")
    job = Job(argv=(".",), cmd=".", cwd=tmp_path / "tests")
    with Measuring(PytestCollector(PytestSettings()), job) as measuring:
        measuring.run()
    assert names(measuring) == ["tests/test_a.py::test_one"]


def test_warnings_may_be_errors_where_the_plugin_is_installed(
    measure: MeasureTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest warns of modules of installed plugins that were imported before it."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    measuring = measure("def test_one(perf): perf(int)", arguments="-W error")
    assert names(measuring) == ["test_a.py::test_one"]


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("def test_a(): pass", (".",), "no test uses the fixture"),
        ("def test_a(perf): assert False, 'bad'", (".",), "bad"),
        ("def test_a(perf): perf(int)", ("--no-such-option",), "no-such-option"),
        ("import time\ndef test_a(perf): time.sleep(60)", (".",), "took longer than 0.5 s"),
    ],
)
def test_a_session_without_a_measurement_is_an_error(
    measure: MeasureTests, text: str, words: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(CommandFailedError, match=expected):
        measure(text, words=words, timeout=0.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"select": "nosuch"}, r"no test is selected; deselected: 2 tests with the fixture `perf` or `benchmark`$"),
        ({"select": "plain"}, r"no selected test uses the fixture `perf` or `benchmark`; deselected: 2 tests with it$"),
        ({"arguments": "-m nosuch"}, r"no test is selected; deselected: 2 tests with"),
        ({"arguments": "--deselect test_a.py::test_one -k 'one or plain'"}, r"no selected test .* 2 tests with it$"),
    ],
)
def test_a_selection_without_a_measurement_is_not_called_a_suite_without_one(
    measure: MeasureTests, options: dict[str, str], message: str
) -> None:
    text = "def test_one(perf): perf(int)\ndef test_two(perf): perf(int)\ndef test_plain(): pass\n"
    with pytest.raises(CommandFailedError, match=message) as caught:
        measure(text, **options)
    assert caught.value.hint == "-k (--select), -m and --deselect choose the tests"


def test_an_interpreter_without_pytest_is_an_error(measure: MeasureTests, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    python.chmod(0o755)
    with pytest.raises(CommandFailedError, match="cannot import pytest"):
        measure("def test_a(perf): perf(int)", python="./python")


def test_versions_are_measured_from_their_trees_and_tests_are_named_as_in_pytest(project: Project) -> None:
    tests = "import pytest, words\n@pytest.mark.parametrize('n', [4])\ndef test_parse(perf, n): perf(words.parse, n)\n"
    small = "import pathlib\ndef parse(n): pathlib.Path({!r}).write_text('a')\n"
    trace = str(project.path.parent / "trace")
    project.write("tests/test_words.py", tests)
    first = project.commit("First", words__py=small.format(trace + "1"))
    second = project.commit("Second", words__py=small.format(trace + "2"))
    options = ("--repeat", "1", "--warmup", "0", "--add", "-v", first, "-v", second)
    project.perf("collect", "pytest", *options, ".", env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert all(Path(trace + version).exists() for version in "12")
    history = open_repository(project.path)
    assert [len(history.entries(version)) for version in (first, second)] == [1, 1]
    for name in ("tests/test_words.py::test_parse[4]", "test_parse[4]"):
        assert "tests/test_words.py::test_parse[4]" in project.perf("history", name).out
