"""How the laws of the kind collector are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing import hostile
from perfcore_testing.collector import CollectorContract, Measuring

from perfcore.errors import PerfError
from perfcore.hookspecs import Collector
from perfcore.model import Job
from perfcore.model.record import replace
from perfcore_collect_bench.collector import BenchCollector, BenchSettings

_SUITE = """
import sys
from perfcore_collect_bench import benchmark

def run_code():
    sys.argv[1:] = {words!r}
    exec({code!r}, {{"__name__": "__main__"}})

@benchmark(setup=run_code, per="run")
def nothing(_):
    pass
"""
_LONGEST_NAME = 256  # bytes of the name of a folder, in most file systems
_ONE = "def track_one(): return 1\n"


class BenchContract(CollectorContract):
    """A job is a suite of one benchmark, which runs the code once in a process. Its words are paths."""

    runs_shells = False
    resets_signals = True

    @pytest.fixture
    def driver(self) -> BenchCollector:
        return BenchCollector(BenchSettings())

    def job(self, folder: Path, code: str, *words: str, **changes: Any) -> Job:
        file = folder / "bench_contract.py"
        if folder.is_dir():
            file.write_text(_SUITE.format(words=list(words), code=code), encoding="utf-8")
        return replace(Job(argv=(file.name,), cmd=file.name, cwd=folder), **changes)

    def test_the_command_gets_its_words_unchanged(self, driver: Collector, tmp_path: Path) -> None:
        """Each is a folder, whatever characters its name has."""
        names = [name for name in hostile.NAMES if name.strip(".") and not {"/", "\0"} & set(name)]
        names = [name for name in names if len(os.fsencode(name)) < _LONGEST_NAME]
        for index, name in enumerate(names):
            (tmp_path / name).mkdir()
            (tmp_path / name / f"bench_{index}.py").write_text(_ONE)
        with Measuring(driver, Job(argv=tuple(names), cmd=names[0], cwd=tmp_path)) as measuring:
            measuring.run()
        assert len(measuring.rows) == len(names)

    def test_a_word_that_no_command_can_get_is_an_error(self, driver: Collector, tmp_path: Path) -> None:
        with (
            pytest.raises(PerfError),
            Measuring(driver, Job(argv=("a\0b",), cmd="a", cwd=tmp_path)) as measuring,
        ):
            measuring.run()
