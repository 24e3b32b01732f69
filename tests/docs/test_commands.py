"""`docs/commands.md` says what the commands say, and `docs/configuration.md` has all keys."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from perfcore.cli.verbs import VERBS
from perfcore.plugins.installed import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"
SHIPPED = [name for name in COMMANDS if "." not in name]


def test_the_pages_of_commands_and_keys_are_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, DOCS / "generate.py", "--print"],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=True,
    )
    page = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("commands.md", "configuration.md"))
    assert page == made.stdout, "commands or their help have changed: run `python docs/generate.py`"


def test_every_command_and_key_has_its_place() -> None:
    lines = (DOCS / "commands.md").read_text(encoding="utf-8").splitlines()
    assert [name for name in (*VERBS, *SHIPPED) if f"## perf {name}" not in lines] == []


LETTERS = {
    "-a": {"--all"},
    "-C": {""},  # as in git
    "-b": {"--branches"},
    "-c": {"--command"},
    "-d": {"--delete"},
    "-e": {"--env"},
    "-f": {"--force"},
    "-h": {"--help"},
    "-k": {"--select", ""},  # only what is called so
    "-l": {"--list"},
    "-m": {"--metric"},
    "-n": {"--last", "--head"},  # at most so many
    "-o": {"--output"},
    "-p": {"--postprocess"},
    "-P": {"--param"},
    "-r": {"--repeat"},
    "-s": {"--short"},
    "-t": {"--budget"},
    "-V": {"--version"},  # that of perf
    "-v": {"--version"},  # of the project
    "-w": {"--workload"},
    "-y": {"--yes"},
}


def test_a_letter_has_one_meaning_in_all_commands() -> None:
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for letter, name in re.findall(r"^ +(-[A-Za-z])(?:, (--[a-z-]+))?(?= |$)", page, re.MULTILINE):
        found.setdefault(letter, set()).add(name)
    assert {letter: names for letter, names in found.items() if names - LETTERS.get(letter, set())} == {}
    assert len(found) > 12
