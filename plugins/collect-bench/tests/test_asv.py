"""A suite of asv, run by asv-runner."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from perfcore_collect_bench.worker.timing import VALUES

from perfcore.errors import CommandFailedError, UsageError
from perfcore.profile.benchmarks import split

from .conftest import MeasureSuite, statuses

SUITE = {
    "suite/__init__.py": "",
    "suite/shared.py": "NUMBER = 3\n",
    "suite/lists.py": """
        import gc, os, random
        from .shared import NUMBER

        class Lists:
            params = [[10, 20], ["plain", "fancy"]]
            param_names = ["n", "mode"]
            timeout = 30

            def setup_cache(self):
                with open("prepared", "x") as file:
                    file.write("yes")
                return NUMBER

            def setup(self, cache, n, mode):
                assert cache == 3 and os.path.exists("prepared")
                if mode == "fancy" and n == 20:
                    raise NotImplementedError("not fancy")
                self.numbers = list(range(n))

            def time_sort(self, cache, n, mode):
                sorted(self.numbers)

            def track_length(self, cache, n, mode):
                return len(self.numbers)
            track_length.unit = "items"

        def time_sum():
            sum(range(1000))

        def track_collecting():
            return gc.isenabled()

        def peakmem_list():
            return [0] * 3_000_000

        def timeraw_import():
            return "import json"

        def time_broken():
            raise ValueError("broken")
    """,
}

COMBINATIONS = ((10, "plain"), (10, "fancy"), (20, "plain"))
TIMES = ("lists.Lists.time_sort", "lists.time_sum")

pytest.importorskip("asv_runner")


def test_a_suite_of_asv_runs_unchanged(measure: MeasureSuite) -> None:
    measuring = measure(SUITE, words=("suite",), asv=True)
    metrics = {name: {c.name for c in p.tables["resources"].values()} for name, p in split(measuring.profile).items()}
    assert metrics == {
        **{f"lists.Lists.time_sort[mode={mode},n={n}]": {"wall", "cpu", "relative"} for n, mode in COMBINATIONS},
        **{f"lists.Lists.track_length[mode={mode},n={n}]": {"amount_items"} for n, mode in COMBINATIONS},
        "lists.time_sum": {"wall", "cpu", "relative"},
        "lists.track_collecting": {"amount"},
        "lists.peakmem_list": {"peak_memory"},
        "lists.timeraw_import": {"wall"},
    }
    assert statuses(measuring)["lists.time_broken"] == ("failed", "ValueError: broken")
    table = measuring.session.tables["benchmarks"].build()
    assert [row["n"] for row in table.iter_rows() if row["status"] == "skipped"] == ["20", "20"]
    assert str(measuring.session.sampling["harness"]).startswith("asv-runner 0.3")


def test_loops_are_those_of_asv_and_the_same_in_all_runs(measure: MeasureSuite) -> None:
    """One call where there is a setup, else as many as fill a value."""
    measuring = measure(SUITE, words=("suite",), asv=True, runs=2, select=["time_sum", "time_sort[mode=plain,n=10]"])
    loops = {name: {row["loops"] for row in measuring.rows if row["benchmark"] == name} for name in TIMES}
    assert loops["lists.Lists.time_sort"] == {1}
    assert len(loops["lists.time_sum"]) == 1
    assert max(loops["lists.time_sum"]) > 1
    runs = [row["run"] for row in measuring.rows]
    assert runs.count(0) == runs.count(1)  # fewer values where a slow machine made the calibration long
    assert 2 <= runs.count(0) <= 2 * VALUES
    assert all(row["cpu"] > 0 for row in measuring.rows)


def test_a_module_that_cannot_be_imported_leaves_the_others(measure: MeasureSuite) -> None:
    files = {"suite/__init__.py": "", "suite/a.py": "def track_one(): return 1", "suite/b.py": "import no_such_module"}
    measuring = measure(files, words=("suite",), asv=True)
    assert [row["benchmark"] for row in measuring.rows] == ["a.track_one"]
    assert "no_such_module" in str(statuses(measuring)["b"][1])


@pytest.mark.skipif(importlib.util.find_spec("pympler") is not None, reason="asv-runner measures it with pympler")
def test_what_asv_runner_leaves_out_is_told(measure: MeasureSuite) -> None:
    source = """
        class Lists:
            def mem_copy(self): return [0]
        def track_one(): return 1
    """
    measuring = measure({"suite/lists.py": source}, words=("suite",), asv=True)
    (note,) = [note for note in measuring.session.notes if "failed" in note]
    assert "lists.mem_copy: asv measures it with pympler, which is not installed" in note


def test_only_a_folder_is_a_suite_of_asv(measure: MeasureSuite) -> None:
    with pytest.raises(UsageError, match="one folder"):
        measure({"bench_a.py": "def track_one(): return 1"}, words=("bench_a.py",), asv=True)


def test_a_python_without_asv_runner_is_an_error_with_a_hint(measure: MeasureSuite, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    with pytest.raises(CommandFailedError, match="asv_runner") as caught:
        measure({"suite/a.py": "def track_one(): return 1"}, words=("suite",), asv=True, python="./python")
    assert "perfcore-collect-bench[asv]" in str(caught.value.hint)
