"""Every decoder keeps its laws: for what was found so far, and for some thousands of inputs that were not."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from . import run
from .targets import TARGETS

RUNS = 6000


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_found_before_keeps_the_laws(name: str) -> None:
    tried = list(run.inputs(run.CORPUS / name, run.FOUND / name))
    assert tried
    for path in tried:
        try:
            TARGETS[name](path.read_bytes())
        except Exception as error:
            error.add_note(f"for {path}")
            raise


def test_every_input_belongs_to_a_target() -> None:
    assert {path.name for folder in (run.CORPUS, run.FOUND) for path in folder.iterdir()} <= set(TARGETS)


def test_the_corpus_stays_small() -> None:
    sizes = [path.stat().st_size for path in run.inputs(*run.CORPUS.iterdir(), *run.FOUND.iterdir())]
    assert sum(sizes) < 1_500_000


@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris has no wheel for this system")
def test_some_thousands_of_new_inputs_break_no_law(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, Path(run.__file__), "--together", str(RUNS)],
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    assert "stat::number_of_executed_units" in done.stderr
