"""Imports go down only, heavy packages stay out of start-up, and every lazy target can be imported."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import perfcore
from perfcore.cli.verbs import VERBS

ROOT = Path(perfcore.__file__).parent
LAYERS = (
    ("errors", "text"),
    ("html_table",),
    ("files", "locks", "model"),
    ("config",),
    ("settings", "environment", "programs"),
    ("hookspecs",),
    ("plugins",),
    ("profile", "store"),
    ("repository",),
    ("analysis",),
    ("measure",),
    ("library",),
    ("cli",),
)
ORDER = {
    "config": (("documents", "settings"), ("layers",), ("trust",)),
    "plugins": (
        ("requirement",),
        ("installed",),
        ("local", "observers", "stevedore_driver"),
        ("drivers",),
        ("description",),
        ("registry",),
    ),
    "repository": (
        ("location", "imports"),
        ("scratch",),
        ("creation", "registration"),
        ("entries",),
        ("repository",),
        ("version_filter",),
    ),
}
"""The order of modules within packages: a module imports only from groups before its own. Packages that are not listed
here have no import cycle, as have these."""
LONGEST = 400
"""Lines of a module: codebases of this kind have 80 to 160, and a codec or a detector may need more."""
LONG = ("perfcore.hookspecs", "perfcore.library")  # each is the manual of its readers on one page
PACKAGES = (ROOT, *sorted(ROOT.parent.glob("plugins/*/perfcore_*/")))
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
HEAVY = ("numpy", "scipy", "polars", "rich", "git", "hypothesis", "pytest", "asyncio", "unittest", "http")


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        words = path.relative_to(ROOT.parent).with_suffix("").parts
        yield ".".join(words[:-1] if words[-1] == "__init__" else words), path


def at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module, without those that only a type checker reads."""
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    return (node for node in ast.walk(tree) if id(node) not in only_types)


def imports(path: Path) -> Iterator[str]:
    """The names of perfcore that a module imports at run time, at its top or inside a function."""
    for node in at_run_time(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "perfcore":
            if node.module == "perfcore":
                yield from (f"perfcore.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "perfcore")


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda value: str(value).rpartition("/")[2])
def test_imports_go_down_only(name: str, path: Path) -> None:
    own = [*name.split("."), ""][1]
    for target in imports(path):
        other = [*target.split("."), ""][1]
        if other in RANK and own in RANK and other != own:
            assert RANK[other] < RANK[own] or {own, other} == {"profile", "store"}, f"{name} imports {target}"


def graph(package: Path) -> dict[str, frozenset[str]]:
    """The modules of a package that each of them imports, at its top or inside a function. The root of a package is
    left out: it gives the names of its parts lazily."""
    paths = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in package.rglob("*.py")
    }
    del paths[package.name]
    return {name: frozenset(_imported(name, path, paths)) - {name} for name, path in paths.items()}


def _imported(name: str, path: Path, paths: Mapping[str, Path]) -> Iterator[str]:
    for node in at_run_time(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in paths)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                target = f"{node.module}.{alias.name}"
                target = target if target in paths else node.module
                # `__init__` of a subpackage gives names of its own parts lazily
                if target in paths and not target.startswith(f"{name}."):
                    yield target


def cycle(edges: Mapping[str, frozenset[str]]) -> list[str]:
    """The modules that are part of an import cycle or depend on one; empty without cycle."""
    left = dict(edges)
    while leaves := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in leaves:
            del left[name]
    return sorted(left)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_no_package_has_an_import_cycle(package: Path) -> None:
    assert cycle(graph(package)) == []


def test_a_cycle_would_be_seen() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}
    assert cycle({name: frozenset(targets) for name, targets in edges.items()}) == ["a", "b", "c"]


@pytest.mark.parametrize("package", ORDER)
def test_modules_of_a_package_import_in_their_order(package: str) -> None:
    edges = graph(ROOT)
    rank = {f"perfcore.{package}.{name}": at for at, names in enumerate(ORDER[package]) for name in names}
    modules = {name for name in edges if name.startswith(f"perfcore.{package}.")}
    assert modules == rank.keys(), f"declare the order of {package}'s modules"
    wrong = [(name, other) for name in modules for other in edges[name] & modules if rank[other] >= rank[name]]
    assert wrong == []


def test_no_module_is_too_long() -> None:
    long = {name: lines for name, path in modules() if (lines := len(path.read_text().splitlines())) > LONGEST}
    assert {name: lines for name, lines in long.items() if name not in LONG} == {}


def test_profile_does_not_know_the_store() -> None:
    for name, path in modules():
        if name.startswith("perfcore.profile"):
            assert not [target for target in imports(path) if target.startswith("perfcore.store")], name


def test_only_plugins_knows_the_plugin_libraries() -> None:
    for name, path in modules():
        text = path.read_text()
        if not name.startswith("perfcore.plugins"):
            assert "import pluggy" not in text, name
            assert "stevedore" not in text, name


def test_only_the_command_line_reads_arguments_and_exits() -> None:
    for name, path in modules():
        if name.startswith(("perfcore.cli", "perfcore_testing")) or name == "perfcore.__main__":
            continue
        if name == "perfcore.programs.command":  # a command gets the environment that perf has
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in ("sys.argv", "sys.exit", "os.environ", "sys.stdout"), name
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) != "print", name


@pytest.mark.parametrize(
    "statement",
    ["from perfcore.cli import main; main(['--version'])", "import perfcore.repository", "import perfcore.cli.app"],
)
def test_start_up_imports_nothing_heavy(statement: str) -> None:
    script = f"import sys; {statement}; print(*sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & set(HEAVY)


def test_version_answers_before_typer_is_imported() -> None:
    script = "import sys; from perfcore.cli import main; main(['--version']); assert 'typer' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_every_module_can_be_imported() -> None:
    with pytest.warns(DeprecationWarning, match="perfcore_testing"):  # `perfcore.testing`, the old name
        names = [module.name for module in pkgutil.walk_packages(perfcore.__path__, "perfcore.")]
    for name in names:
        if not name.endswith("__main__") and not name.startswith("perfcore.testing."):
            importlib.import_module(name)


def test_every_verb_has_an_app() -> None:
    for verb in VERBS.values():
        assert importlib.import_module(f"perfcore.cli.{verb.module}").app is not None
