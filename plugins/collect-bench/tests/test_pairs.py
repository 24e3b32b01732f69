"""Runs of versions are pairs: the same loops, the same seed, the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perfcore_collect_bench.collector import BenchCollector, BenchSettings
from perfcore_testing.collector import Measuring
from perfcore_testing.project import Project

from perfcore.library import open_repository
from perfcore.model import Job

from .conftest import write

ORDER = """
def note(name):
    with open("order", "a") as file:
        file.write(name)
"""


def versions(tmp_path: Path, *texts: str, runs: int, name: str = "bench_a.py") -> list[Measuring]:
    """Sessions of several versions of a suite that are open together, as perfcore leads them."""
    sessions = []
    for index, text in enumerate(texts):
        folder = tmp_path / str(index)
        write(folder, {name: text})
        job = Job(argv=(name,), cmd=name, cwd=folder)
        sessions.append(Measuring(BenchCollector(BenchSettings()), job).__enter__())
    for _ in range(runs):
        for session in sessions:
            session.run()
    for session in sessions:
        session.__exit__(None, None, None)
    return sessions


def loops(measuring: Measuring) -> set[Any]:
    return {row["loops"] for row in measuring.rows}


def test_all_runs_of_all_versions_have_the_loops_of_the_first(tmp_path: Path) -> None:
    text = "def time_sum(): sum(range({}))"
    first, second = versions(tmp_path, text.format(1000), text.format(1200), runs=2, name="bench_same.py")
    assert len(loops(first)) == 1
    assert loops(second) == loops(first)


def test_a_version_that_is_much_slower_has_its_own_loops(tmp_path: Path) -> None:
    text = "def time_sum(): sum(range({}))"
    first, second = versions(tmp_path, text.format(100), text.format(100_000), runs=2, name="bench_slower.py")
    assert len(loops(first)) == len(loops(second)) == 1
    assert max(loops(second)) < min(loops(first))


def test_a_later_session_of_this_process_has_the_same_loops(tmp_path: Path) -> None:
    """A history of many versions is measured in several sessions."""
    text = "def time_sum(): sum(range(1000))"
    (first,) = versions(tmp_path / "a", text, runs=1, name="bench_later.py")
    (second,) = versions(tmp_path / "b", text, runs=1, name="bench_later.py")
    assert loops(second) == loops(first)


def test_the_runs_of_a_pair_have_one_hash_seed(tmp_path: Path) -> None:
    text = "def track_hash(): return hash('word') % 1_000_003"
    first, second = versions(tmp_path, text, text, runs=3)
    hashes = [row["amount"] for row in first.rows]
    assert len(set(hashes)) == 3
    assert [row["amount"] for row in second.rows] == hashes


def test_the_runs_of_a_pair_have_one_order(tmp_path: Path) -> None:
    text = ORDER + "\n".join(f"def track_{name}():\n    note('{name}')\n    return 1" for name in "abcdefgh")
    fewer = text.replace("def track_d", "def d")
    versions(tmp_path, text, fewer, runs=3)
    every = (tmp_path / "0" / "order").read_text()
    orders = [every[start : start + 8] for start in (0, 8, 16)]
    assert len(set(orders)) == 3
    assert every.replace("d", "") == (tmp_path / "1" / "order").read_text()


def test_benchmarks_see_the_seed_of_the_user_and_start_programs_with_it(tmp_path: Path) -> None:
    text = "import os\ndef track_seed(): return int('PYTHONHASHSEED' in os.environ)"
    write(tmp_path, {"bench_a.py": text})
    for variables, expected in (({}, 0), ({"PYTHONHASHSEED": "7"}, 1)):
        job = Job(argv=("bench_a.py",), cmd="bench_a.py", cwd=tmp_path, env=variables)
        with Measuring(BenchCollector(BenchSettings()), job) as measuring:
            measuring.run()
        assert [row["amount"] for row in measuring.rows] == [expected]


def test_garbage_is_collected_before_each_benchmark_and_while_it_is_measured(tmp_path: Path) -> None:
    text = "import gc\ndef track_on(): return gc.isenabled()\ndef track_old(): return len(gc.garbage)"
    (measuring,) = versions(tmp_path, text, runs=1)
    amounts = {row["benchmark"]: row["amount"] for row in measuring.rows}
    assert amounts == {"bench_a.track_on": 1, "bench_a.track_old": 0}


def test_versions_are_measured_from_their_trees(project: Project) -> None:
    suite = "import project\ndef track_size(): return project.SIZE\n"
    project.commit("Small", bench_a__py=suite, project__py="SIZE = 1\n")
    project.commit("Large", project__py="SIZE = 2\n")
    words = ("collect", "bench", "--repeat", "1", "--warmup", "0", "--version", "HEAD~1", "--version", "HEAD")
    project.perf(*words, "bench_a.py")
    history = open_repository(project.path)
    profiles = [history.profile(f"{index}@p") for index in (0, 1)]
    amounts = {project.git("log", "-1", "--format=%s", str(p.origin)).out.strip(): p for p in profiles}
    assert {subject: list(p.tables["resources"]["amount"]) for subject, p in amounts.items()} == {
        "Small": [1],
        "Large": [2],
    }
