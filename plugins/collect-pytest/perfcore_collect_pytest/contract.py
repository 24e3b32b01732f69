"""How the laws of the kind collector are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.collector import CollectorContract, Measuring

from perfcore.errors import PerfError
from perfcore.hookspecs import Collector
from perfcore.model import Job
from perfcore.model.record import replace
from perfcore_collect_pytest.collector import PytestCollector, PytestSettings

_TEST = """
import sys

def test_contract(perf):
    sys.argv[1:] = {words!r}
    exec({code!r}, {{"__name__": "__main__"}})
    perf(int)
"""
_ONE = "def test_one(perf): perf(int)\n"
_NAMES = ("a blank", "'quotes'", '"$HOME"', "`id`; *", "line\nbreak", "ü\u202e")
"""Of folders. What has `[` or `::` is more than a path to pytest, as is what begins with `-`."""


class PytestContract(CollectorContract):
    """A job is a file with one test, which runs the code once in a process. Its words are arguments of pytest."""

    runs_shells = False
    resets_signals = True

    @pytest.fixture
    def driver(self) -> PytestCollector:
        return PytestCollector(PytestSettings())

    def job(self, folder: Path, code: str, *words: str, **changes: Any) -> Job:
        file = folder / "test_contract.py"
        if folder.is_dir():
            file.write_text(_TEST.format(words=list(words), code=code), encoding="utf-8")
        return replace(Job(argv=(file.name,), cmd=file.name, cwd=folder), **changes)

    def test_the_command_gets_its_words_unchanged(self, driver: Collector, tmp_path: Path) -> None:
        """Each is a folder, whatever characters its name has."""
        for index, name in enumerate(_NAMES):
            (tmp_path / name).mkdir()
            (tmp_path / name / f"test_{index}.py").write_text(_ONE)
        with Measuring(driver, Job(argv=_NAMES, cmd=_NAMES[0], cwd=tmp_path)) as measuring:
            measuring.run()
        assert len({row["benchmark"] for row in measuring.rows}) == len(_NAMES)

    def test_a_word_that_no_command_can_get_is_an_error(self, driver: Collector, tmp_path: Path) -> None:
        with (
            pytest.raises(PerfError),
            Measuring(driver, Job(argv=("test_a.py", "a\0b"), cmd="a", cwd=tmp_path)) as measuring,
        ):
            measuring.run()
