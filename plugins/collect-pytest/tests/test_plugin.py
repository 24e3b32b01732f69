"""Sessions of pytest with the plugin, as users lead them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from perfcore_testing.project import Done, Project

from perfcore.library import open_repository

from .conftest import PLUGIN

Pytest = Callable[..., Done]
TESTS = """
import pytest, words

@pytest.mark.parametrize("n", [4])
def test_parse(perf, n):
    assert perf(words.parse, n) == n

def test_compatible(benchmark):
    assert benchmark(words.parse, 2) == 2
"""
WORDS = "def parse(n):\n    for _ in range({}): pass\n    return n\n"
COUNTED = "import pathlib\ndef parse(n):\n    with open({!r}, 'a') as calls: calls.write('x')\n    return n\n"


@pytest.fixture
def run(project: Project) -> Pytest:
    """Runs pytest in the project: `run("--perf", code=1)`."""

    def run(*words: str, code: int = 0, plugins: tuple[str, ...] = PLUGIN) -> Done:
        env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
        done = project.run(sys.executable, "-m", "pytest", *plugins, *words, env=env)
        assert done.code == code, done
        return done

    project.write(".gitignore", ".pytest_cache\n")
    return run


def test_the_plugin_imports_nothing_of_perfcore_but_itself() -> None:
    """Every run of pytest imports it where it is installed."""
    code = (
        "import sys, pytest; before = set(sys.modules); import perfcore_collect_pytest.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    package = "perfcore_collect_pytest"
    assert done.stdout.split() == [package, f"{package}.plugin", f"{package}.plugin_names"]


def test_without_perf_the_functions_run_once(project: Project, run: Pytest) -> None:
    calls = project.path.parent / "calls"
    project.commit("First", test_words__py=TESTS, words__py=COUNTED.format(str(calls)))
    done = run()
    assert "2 passed" in done.out
    assert "performance" not in done.out
    assert calls.read_text() == "xx"
    assert open_repository(project.path).pending() == []


def test_a_regression_against_the_registered_baseline_fails(project: Project, run: Pytest) -> None:
    """The new version does a thousand times as much: no machine makes up for that."""
    project.commit("Fast", test_words__py=TESTS, words__py=WORDS.format(10))
    first = run("--perf", "--perf-processes", "4", "--perf-fail", "-k", "parse").out
    assert "no baseline" in first
    (pending,) = open_repository(project.path).pending()
    assert f"perf add {pending.name}" in first
    project.perf("add", pending.name)
    project.commit("Slow", words__py=WORDS.format(10_000))
    done = run("--perf", "--perf-processes=4", "--perf-fail", "-k", "parse", code=1)
    (row,) = [line for line in done.out.splitlines() if "test_parse[4]" in line]
    assert row.split()[-1] == "regression"
    assert "test_compatible" not in done.out
    assert "measuring 1 test in 4 processes" in done.out
    ours = done.out.partition("measuring 1 test")[2]  # above stands the path of the tests, however long
    assert max(map(len, ours.splitlines())) <= 80


def test_one_process_judges_nothing(project: Project, run: Pytest) -> None:
    project.commit("First", test_words__py=TESTS, words__py=WORDS.format(10))
    run("--perf", "--perf-processes=1")
    project.perf("add", "0@p")
    done = run("--perf", "--perf-processes=1", "--perf-fail")
    assert "inconclusive: too few processes (2 tests)" in done.out


def test_a_test_that_fails_is_not_measured(project: Project, run: Pytest) -> None:
    project.commit("First", test_words__py=TESTS + "    assert 0\n", words__py=WORDS.format(10))
    run("--perf", "--perf-processes=1", code=1)
    assert _benchmarks(project) == {"test_words.py::test_parse[4]"}


def test_outside_of_a_repository_the_figures_are_shown(project: Project) -> None:
    folder = project.path.parent / "elsewhere"
    folder.mkdir()
    (folder / "test_a.py").write_text("def test_a(perf): perf(int)\n")
    words = (sys.executable, "-m", "pytest", *PLUGIN, "--perf", "--perf-processes=1")
    done = project.run(*words, cwd=folder, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert done.code == 0, done
    (row,) = [line for line in done.lines if line.startswith("test_a.py::test_a")]
    assert " ns " in row
    assert "no performance history" in done.out


def test_an_interrupt_while_it_measures_ends_the_session_with_a_summary(project: Project, run: Pytest) -> None:
    """The test interrupts the session when it is measured, and not before."""
    text = "def test_a(perf): perf(int)\n"
    conftest = (
        "import os, signal\n"
        "def pytest_collection_finish(session):\n"
        "    if session.config.pluginmanager.hasplugin('perfcore-worker'): os.kill(os.getppid(), signal.SIGINT)\n"
    )
    project.commit("First", test_a__py=text, conftest__py=conftest)
    done = run("--perf", code=2)
    assert "interrupted: the tests are not measured" in done.out
    assert "1 passed" in done.out
    assert "Traceback" not in done.out + done.err


def test_xdist_is_refused_with_perf(project: Project, run: Pytest) -> None:
    pytest.importorskip("xdist")
    project.commit("First", test_words__py=TESTS, words__py=WORDS.format(10))
    plugins = (*PLUGIN, "-p", "xdist.plugin")
    assert "add -n 0" in run("--perf", "-n", "2", code=4, plugins=plugins).err
    run("--perf", "-n", "0", "--collect-only", plugins=plugins)


def test_fixtures_of_the_project_go_first(project: Project, run: Pytest) -> None:
    conftest = (
        "import pytest\n@pytest.fixture\ndef perf(): return 'own'\n@pytest.fixture\ndef benchmark(): return 'own'\n"
    )
    text = "def test_own(perf, benchmark): assert (perf, benchmark) == ('own', 'own')\n"
    project.commit("First", test_a__py=text, conftest__py=conftest)
    run()


def _benchmarks(project: Project) -> set[object]:
    history = open_repository(project.path)
    (pending,) = history.pending()
    return set(history.profile(pending).tables["resources"]["benchmark"])
