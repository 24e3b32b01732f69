"""What holds for every change that a check gives, whether it compares two samples or scans a history."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfcore.model import Change


def assert_told(change: Change) -> None:
    """It has an id, words that are safe to print, and numbers that fit one another."""
    assert change.id
    assert change.evidence, "a change says what it rests on"
    assert change.evidence.isprintable(), f"not for a terminal: {change.evidence!r}"
    numbers = (change.baseline_value, change.target_value, change.ratio, change.low, change.high)
    assert all(figure is None or math.isfinite(figure) for figure in numbers), change
    assert (change.low is None) == (change.high is None)
    if change.low is not None and change.high is not None:
        assert change.ratio is not None
        assert change.confidence is not None
        assert change.low <= change.ratio <= change.high
    assert change.p_value is None or 0 <= change.p_value <= 1


def assert_the_same_elsewhere(driver: object, asked: str, builders: str) -> None:
    """What is stored depends on nothing but the data and the settings: other processes, each with its own hashes, say
    the same. `asked` is what is asked of the driver, with names that the module `builders` has."""
    kind = type(driver)
    settings = "driver.Settings()" if hasattr(kind, "Settings") else ""
    script = f"""\
from importlib import import_module
from {builders} import *
driver = import_module({kind.__module__!r}).{kind.__qualname__}
print(driver({settings}).{asked})
"""
    outputs = set()
    # Hashes of texts, and with them the order of sets, differ from process to process unless a seed is given.
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
    assert len(outputs) == 1
