"""Finds the files of a suite and imports them as modules."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FOLDER = "benchmarks"  # every module in a folder of this name may hold benchmarks
PREFIX = "bench_"
_PACKAGE = "perfcore_suite"  # of a suite without `__init__.py`: the name of its folder may be that of the project
_FOREIGN = ("__pycache__", "node_modules", "site-packages")


class SuiteFile(NamedTuple):
    """A module of a suite. `name` is its dotted name below `root`, which is known to Python as `package`."""

    name: str
    path: Path
    root: Path
    package: str

    @property
    def module(self) -> str:
        return f"{self.package}.{self.name}"


def find(paths: list[Path], *, every: bool = False) -> list[SuiteFile]:
    """The files in these folders by convention, or `every` one, and these files whatever their names, in order.
    FileNotFoundError names a path that does not exist."""
    files: dict[Path, SuiteFile] = {}
    for index, path in enumerate(paths):
        absolute = path.resolve()
        if not absolute.exists():
            raise FileNotFoundError(f"there is no file or folder {str(path)!r}")
        root = absolute if absolute.is_dir() else absolute.parent
        package = root.name if every else _package(root, index)
        for file in sorted(_walk(root, every)) if absolute.is_dir() else [absolute]:
            words = file.relative_to(root).with_suffix("").parts
            files.setdefault(file, SuiteFile(".".join(words), file, root, package))
    return list(files.values())


def search_path(folder: Path, files: list[SuiteFile]) -> list[str]:
    """The first folders of `sys.path`: the tree that is measured, then those from which a suite imports its modules."""
    roots = dict.fromkeys(file.root for file in files)
    packages = [root.parent for root in roots]
    scripts = [root for root in roots if not (root / "__init__.py").is_file()]
    return list(dict.fromkeys(str(path) for path in (*tree_path(folder), *scripts, *packages)))


def tree_path(folder: Path) -> list[Path]:
    """Where a project is imported from: its tree, with the layout `src`, too, and not where it is installed."""
    return [folder, *([folder / "src"] if (folder / "src").is_dir() else [])]


def load(file: SuiteFile) -> types.ModuleType:
    """Import a module of a suite from its file, also where the tree that is measured has another of its name."""
    load_package(file)
    return importlib.import_module(file.module)


def load_package(file: SuiteFile) -> None:
    """Import the package of a suite from the folder that was given, and not another one of its name."""
    if file.package not in sys.modules:
        _load_package(file.root, file.package)


def _walk(folder: Path, inside: bool = False) -> Iterator[Path]:
    inside = inside or folder.name == FOLDER
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name in _FOREIGN:
            continue
        if path.is_dir():
            if not (path / "pyvenv.cfg").exists():  # a virtual environment holds the suites of others
                yield from _walk(path, inside)
        elif path.suffix == ".py" and (path.name.startswith(PREFIX) or (inside and _may_hold_benchmarks(path.stem))):
            yield path


def _may_hold_benchmarks(stem: str) -> bool:
    return stem not in ("__init__", "__main__", "conftest", "setup")


def _package(root: Path, index: int) -> str:
    if (root / "__init__.py").is_file() and root.name.isidentifier():
        return root.name
    return f"{_PACKAGE}_{index}" if index else _PACKAGE


def _load_package(root: Path, name: str) -> None:
    init = root / "__init__.py"
    if name.startswith(_PACKAGE) or not init.is_file():
        package = types.ModuleType(name)
        package.__path__ = [str(root)]
        sys.modules[name] = package
        return
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(root)])
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    try:
        spec.loader.exec_module(package)
    except BaseException:
        del sys.modules[name]
        raise
