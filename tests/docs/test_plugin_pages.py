"""Every kind of plugin has a page that shows its contract as it is, and an example that works."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.distributions import Site

from perfcore import hookspecs
from perfcore.config.settings import options_of
from perfcore.hookspecs import EVENTS, KINDS
from perfcore.plugins import Plugins

PAGES = (*KINDS, "events")


@pytest.fixture
def page(kind: str, page_of: Callable[[str], Any]) -> Any:
    return page_of(f"plugins/{kind}.md")


def headers(name: str) -> list[str]:
    """The methods of a class of `hookspecs.py`, each as it is declared, in one line."""
    tree = ast.parse(Path(hookspecs.__file__).read_text(encoding="utf-8"))
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return [
        f"def {node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"
        for node in found.body
        if isinstance(node, ast.FunctionDef) and node.returns is not None
    ]


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_names_every_method_with_its_arguments(kind: str, page: Any) -> None:
    protocol = KINDS[kind].protocol.__name__ if kind in KINDS else "Events"
    declared = headers(protocol)
    assert len(declared) == len(KINDS[kind].methods if kind in KINDS else EVENTS)
    lines = [line.removesuffix(": ...").replace(" = ", "=") for line in page.text.splitlines()]  # as ast writes it
    assert [line for line in lines if line.startswith("def ") and line in declared] == declared


@pytest.mark.parametrize("kind", ["events"])
def test_the_page_of_events_names_all_phases_that_can_be_wrapped(page: Any) -> None:
    phases = [f"`{kind.name}.{method}`" for kind in KINDS.values() for method in kind.wrapped]
    assert [phase for phase in phases if phase not in page.text] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_names_the_entry_point_group(kind: str, page: Any) -> None:
    assert f'[project.entry-points."{KINDS[kind].group}"]' in page.files["pyproject.toml"]


@pytest.mark.parametrize("kind", PAGES)
def test_an_example_is_accepted(page: Any, install: Callable[[Any], None]) -> None:
    install(page)
    assert page.commands
    mine = [d for d in Plugins().describe() if d.info.distribution == "acme-perf"]
    assert mine
    assert {d.state for d in mine} == {"ok"}, mine
    assert all(d.help and (d.settings is None or options_of(d.settings)) for d in mine)


@pytest.mark.parametrize("kind", PAGES)
def test_a_session_prints_what_the_page_says(
    page: Any, install: Callable[[Any], None], play: Callable[[Any], None]
) -> None:
    install(page)
    play(page)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory where the system has one: contracts of storages wait for thousands of writes otherwise."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_keeps_the_contract_of_its_kind(
    page: Any, install: Callable[[Any], None], site: Site, in_memory: Path
) -> None:
    """By the test that the page shows, run as its reader would run it."""
    install(page)
    (test,) = (name for name in page.files if name.startswith("test_"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={in_memory}/tests", test],
        cwd=site.path,
        env={**os.environ, **site.env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
