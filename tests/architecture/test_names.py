"""Names say what they hold, and the core stays small."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import perfcore

ROOT = Path(perfcore.__file__).parents[1]
_WORDS = """
found known one each some made kept told shown said rest whole left part place number other wanted given what where own
there seen asked taken thing things it them these those that this got had having much more less lone both here elsewhere
already later earlier now again beside alone back went comes
"""
VAGUE = frozenset(_WORDS.split())
"""Words that fit any variable, and so tell a reader nothing about this one."""
MOST = 3.0
"""Per cent of all names. pluggy, rich, pytest and typer, measured in the same way, have between 0.1 and 1.3."""
CORE_LINES = 16_000
"""Lines of Python in the core. It is only ever lowered: a new feature is a plugin."""


def _sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.py")):
        if not {"tests", "templates", ".venv", "benchmarks"} & set(path.relative_to(folder).parts):
            yield path


def _names(tree: ast.AST) -> Iterator[str]:
    """Each name that a statement binds: assignments, loops, `with`, `:=`; no arguments and no attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != "_":
            yield node.id


@pytest.mark.parametrize("folder", ["perfcore", "plugins"])
def test_few_names_are_vague(folder: str) -> None:
    names = Counter(
        name.strip("_") for path in _sources(ROOT / folder) for name in _names(ast.parse(path.read_text("utf-8")))
    )
    vague = {name: count for name, count in names.most_common() if name in VAGUE}
    assert 100 * sum(vague.values()) / names.total() < MOST, vague


def test_the_core_does_not_grow() -> None:
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in _sources(ROOT / "perfcore"))
    assert lines <= CORE_LINES
