"""`docs/commands.md` says what the commands say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from perfcore.cli.verbs import VERBS
from perfcore.config.layers import KEYS
from perfcore.plugins.installed import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"
SHIPPED = [name for name in COMMANDS if "." not in name]


def test_the_page_of_commands_is_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--print"],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=True,
    )
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert page == made.stdout, "commands or their help have changed: run `python docs/generate.py`"


def test_every_command_and_key_has_its_place() -> None:
    lines = (DOCS / "commands.md").read_text(encoding="utf-8").splitlines()
    assert [name for name in (*VERBS, *SHIPPED) if f"## perf {name}" not in lines] == []
    assert [key for key in KEYS if not any(line.startswith(f"| `{key}` |") for line in lines)] == []
