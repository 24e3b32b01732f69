"""Every distribution declares the packages that it imports at run time, and imports the packages that it declares."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import perfcore

ROOT = Path(perfcore.__file__).parents[1]
PROJECTS = {
    path.parent.name: path for path in (ROOT / "pyproject.toml", *sorted(ROOT.glob("plugins/*/pyproject.toml")))
}
IMPORTED_AS = {
    "gitpython": "git",
    "perfcore-core": "perfcore",
    "python-papi": "pypapi",
    "ruamel-yaml": "ruamel",
}
"""The packages whose import name is not the name of their distribution."""
PROGRAMS = {"py-spy"}
"""Distributions that bring a program, which is started and not imported."""
HOST = {"perfcore"}
"""Every plugin depends on the core, even if it imports nothing of it: the requirement names the plugin API."""
COLLECTIONS = {"standard"}
"""Distributions without code of their own, which only depend on others."""
OLD_NAMES = {("perfcore-core", "perfcore_testing")}
"""Imports by modules that only forward from an old name to a distribution of its own."""
LAWS = "perfcore_testing"
"""A module that imports it holds the contract of a plugin. Only `perf plugins check` and tests import such a module,
and they have what it needs; users of the plugin do not import it."""


def project(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def normalized(requirement: str) -> str:
    """The name of the distribution in a requirement, as the index compares names."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def import_name(distribution: str) -> str:
    return IMPORTED_AS.get(distribution, distribution.replace("-", "_"))


def declared(configuration: dict[str, Any]) -> set[str]:
    """The import names of the run-time dependencies, without programs."""
    names = map(normalized, configuration["project"].get("dependencies", ()))
    return {import_name(name) for name in names if name not in PROGRAMS}


def optional(configuration: dict[str, Any]) -> set[str]:
    extras = configuration["project"].get("optional-dependencies", {})
    return {import_name(normalized(line)) for name, lines in extras.items() for line in lines if name != "test"}


def imported(package: Path) -> set[str]:
    """The top names of all packages that the modules import at run time, at their top or inside a function."""
    names: set[str] = set()
    for path in package.rglob("*.py"):
        of_module = set(_imports(ast.parse(path.read_text("utf-8"))))
        if LAWS not in of_module or package.name in ("perfcore", LAWS):
            names |= of_module
    return names


def _imports(node: ast.AST) -> Iterator[str]:
    """The top names of the packages that a node of the syntax tree imports at run time."""
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]
    else:
        children: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            children = node.orelse
        for child in children:
            yield from _imports(child)


@pytest.mark.parametrize(
    "path", [p for name, p in PROJECTS.items() if name not in COLLECTIONS], ids=lambda p: p.parent.name
)
def test_imports_are_dependencies_and_dependencies_are_imported(path: Path) -> None:
    configuration = project(path)
    package = configuration["tool"]["flit"]["module"]["name"]
    forwarded = {name for distribution, name in OLD_NAMES if distribution == configuration["project"]["name"]}
    foreign = imported(path.parent / package) - sys.stdlib_module_names - {package} - forwarded
    assert foreign - declared(configuration) - optional(configuration) == set(), "imported, and not declared"
    assert declared(configuration) - foreign - HOST == set(), "declared, and not imported"


def test_imports_for_the_type_checker_alone_are_no_dependencies() -> None:
    source = """
import attrs
if TYPE_CHECKING:
    import pytest
else:
    import rich
def lazy():
    from numpy.typing import NDArray
    from . import sibling
"""
    assert set(_imports(ast.parse(source))) == {"attrs", "rich", "numpy"}


def test_every_exception_is_still_needed() -> None:
    configurations = [project(path) for path in PROJECTS.values()]
    requirements = {normalized(line) for c in configurations for line in c["project"].get("dependencies", ())}
    assert requirements >= PROGRAMS | IMPORTED_AS.keys()
    packages = {c["project"]["name"]: p.parent for c, p in zip(configurations, PROJECTS.values(), strict=True)}
    for distribution, name in OLD_NAMES:
        module = project(packages[distribution] / "pyproject.toml")["tool"]["flit"]["module"]["name"]
        assert name in imported(packages[distribution] / module)
