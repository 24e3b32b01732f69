"""The scripts beside the tests, run in processes of their own: they fork, which a process with threads should not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))


@pytest.fixture
def torture() -> Callable[..., Any]:
    """Runs a script and gives the JSON that it prints."""

    def run(script: str, *arguments: object, timeout: float = 600) -> Any:
        command = [sys.executable, str(HERE / script), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
