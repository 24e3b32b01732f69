"""What a suite may say in the style of asv, and by the decorator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_bench import benchmark
from perfcore_collect_bench.decorator import ATTRIBUTE
from perfcore_collect_bench.worker.timing import VALUES

from .conftest import MeasureSuite, statuses

NOTE = """
from perfcore_collect_bench import benchmark

def note(text):
    with open("calls", "a") as file:
        file.write(text)
"""


def calls(folder: Path) -> str:
    return (folder / "calls").read_text()


def test_setups_come_from_the_outside_in_and_teardowns_from_the_inside_out(
    measure: MeasureSuite, tmp_path: Path
) -> None:
    text = NOTE + (
        "def setup(): note('M')\n"
        "def teardown(): note('m')\n"
        "class Suite:\n"
        "    number, repeat = 2, 1\n"
        "    def setup(self): note('C')\n"
        "    def teardown(self): note('c ')\n"
        "    def time_it(self): note('.')\n"
    )
    measuring = measure({"bench_a.py": text})
    values = calls(tmp_path).replace("MC..c m", "v").strip("m ")
    assert set(values) == {"v"}
    assert len(measuring.rows) == 1
    assert {row["loops"] for row in measuring.rows} == {2}


@pytest.mark.parametrize("per", ["run", "call"])
def test_the_decorator_says_how_often_is_set_up(measure: MeasureSuite, tmp_path: Path, per: str) -> None:
    text = NOTE + (
        f"@benchmark(setup=lambda: note('s') or 'state', teardown=lambda state: note(state[0] + 't'), per={per!r})\n"
        "def work(state): assert state == 'state'; sum(range(100_000))\n"
    )
    measuring = measure({"bench_a.py": text})
    assert statuses(measuring)["bench_a.work"] == ("measured", None)
    setups = calls(tmp_path).count("sst")
    assert calls(tmp_path) == "sst" * setups
    # Five calls that are kept, two that are dropped, and as many to count them out as the machine's speed asks for.
    assert setups == 1 if per == "run" else setups >= 7
    assert len(measuring.rows) == VALUES


def test_per_value_is_set_up_around_each_value(measure: MeasureSuite, tmp_path: Path) -> None:
    text = NOTE + "@benchmark(setup=lambda: note('s'), teardown=lambda _: note('t'))\ndef work(_): note('.')\n"
    (loops,) = {row["loops"] for row in measure({"bench_a.py": text}).rows}
    values = calls(tmp_path).replace("st", "").split("t")
    assert all(value.startswith("s.") for value in values if value)
    assert calls(tmp_path).count("s" + "." * int(loops) + "t") >= 7


def test_parameters_without_a_setup_are_given_by_name(measure: MeasureSuite) -> None:
    text = (
        NOTE
        + "@benchmark(params={'n': [1, 2], 'mode': ['x']})\ndef work(*, mode, n): assert mode == 'x' and n in (1, 2)\n"
    )
    measuring = measure({"bench_a.py": text})
    assert {row["n"] for row in measuring.rows} == {"1", "2"}


def test_setup_cache_runs_once_for_all_runs_and_gives_each_benchmark_its_own_copy(
    measure: MeasureSuite, tmp_path: Path
) -> None:
    text = NOTE + (
        "class Suite:\n"
        "    def setup_cache(self):\n        note('x')\n        return [1, 2, 3]\n"
        "    def setup(self, cache): assert cache == [1, 2, 3]\n"
        "    def track_a(self, cache): return cache.pop()\n"
        "    def track_b(self, cache): return cache.pop()\n"
    )
    measuring = measure({"bench_a.py": text}, runs=3)
    assert calls(tmp_path) == "x"
    assert [row["amount"] for row in measuring.rows] == [3] * 6


def test_skipped_parameters_have_no_rows(measure: MeasureSuite) -> None:
    text = "def track_n(n): return n\ntrack_n.params = [1, 2]\ntrack_n.skip_params = [(2,)]\n"
    measuring = measure({"bench_a.py": text})
    assert [row["param1"] for row in measuring.rows] == ["1"]
    table = measuring.session.tables["benchmarks"].build()
    assert {row["param1"]: row["status"] for row in table.iter_rows()} == {"1": "measured", "2": "skipped"}


def test_a_benchmark_may_have_a_process_of_its_own(measure: MeasureSuite) -> None:
    text = (
        "import os\nfrom perfcore_collect_bench import benchmark\n"
        "def note(): open('pids', 'a').write(f'{os.getpid()} ')\n"
        "@benchmark(own_process=True, setup=note, per='run')\ndef alone(_): pass\n"
        "@benchmark(setup=note, per='run')\ndef a(_): pass\n"
        "@benchmark(setup=note, per='run')\ndef b(_): pass\n"
    )
    folder = measure({"bench_a.py": text}).job.cwd
    pids = (folder / "pids").read_text().split()
    assert len(pids) == 3
    assert len(set(pids)) == 2


def test_a_call_that_the_clock_cannot_see_is_reported(measure: MeasureSuite) -> None:
    text = NOTE + "@benchmark(setup=list, per='call')\ndef tiny(_): pass\n"
    measuring = measure({"bench_a.py": text})
    assert "bench_a.tiny takes less than 100 steps of the clock" in measuring.session.notes[0]


def test_a_decorated_function_stays_as_it_is() -> None:
    def work(n: int) -> int:
        return n + 1

    assert benchmark(work) is work
    assert benchmark(params={"n": [1]})(work)(2) == 3
    assert getattr(work, ATTRIBUTE).per == "value"


@pytest.mark.parametrize("arguments", [{"per": "day"}, {"teardown": print}])
def test_a_decorator_that_makes_no_sense_is_an_error(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"per is 'day'|needs a setup"):
        benchmark(**arguments)


def test_the_import_of_the_decorator_needs_the_standard_library_only(measure: MeasureSuite) -> None:
    text = (
        "import sys\nfrom perfcore_collect_bench import benchmark\n"
        "def track_foreign(): return len({'attr', 'attrs', 'perfcore', 'numpy'} & set(sys.modules))\n"
    )
    assert [row["amount"] for row in measure({"bench_a.py": text}).rows] == [0]
