"""Files are replaced by `perfcore.files.write_atomically` alone, and files of caches by `perfcore.files.cache`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import perfcore

ROOT = Path(perfcore.__file__).parents[1]
PACKAGES = (ROOT / "perfcore", *sorted(ROOT.glob("plugins/*/perfcore_*/")))
FUNCTIONS = {
    "os.rename",
    "os.replace",
    "os.fsync",
    "tempfile.mkstemp",
    "tempfile.NamedTemporaryFile",
    "fcntl.F_FULLFSYNC",
}
EXCEPTIONS = {
    "perfcore/files.py": "the helper",
    "perfcore/cli/console.py": "an output is written as it comes, and may not fit into memory",
    "perfcore/config/trust.py": "a full log gets another name; nothing is written",
    "perfcore/repository/creation.py": "a directory appears whole",
    "plugins/vcs-kit/perfcore_vcs_kit/private_copy.py": "a directory is moved away and back to see whether it can be",
    "plugins/command-fleet/perfcore_command_fleet/spool.py": "a file that no source reads is moved aside",
    "plugins/fleet-sampler/perfcore_fleet_sampler/sampler.py": "it runs in services, which have no perfcore",
    "plugins/view-kit/perfcore_view_kit/site.py": "a folder of pages takes the place of another whole",
    "plugins/storage-git/perfcore_storage_git/mirror.py": "a folder that git has made gets its name when it is whole",
    "plugins/storage-local/perfcore_storage_local/files.py": "a new key appears by a link; times tell writes apart",
    "plugins/vcs-git/perfcore_vcs_git/state.py": "git's own lock becomes its index",
    "plugins/vcs-tagit/perfcore_vcs_tagit/objects.py": "a pack is written as its objects come",
}
"""The modules that rename or sync by themselves. Each says its reason where it does."""


def own_writes(tree: ast.AST) -> Iterator[int]:
    """The lines of a module that rename a file, wait for the disk, or make a temporary file with a name."""
    for node in ast.walk(tree):
        is_function = isinstance(node, ast.Attribute) and ast.unparse(node) in FUNCTIONS
        if isinstance(node, ast.expr) and (is_function or _is_of_path(node)):
            yield node.lineno


def _is_of_path(node: ast.expr) -> bool:
    """Whether a path is renamed. `os.replace` and `str.replace` have two arguments."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in ("replace", "rename") and len(node.args) == 1 and not node.keywords


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_files_are_replaced_by_the_helper_alone(package: Path) -> None:
    lines = {
        f"{name}:{line}"
        for path in sorted(package.rglob("*.py"))
        if (name := path.relative_to(ROOT).as_posix()) not in EXCEPTIONS
        for line in own_writes(ast.parse(path.read_text("utf-8")))
    }
    assert lines == set(), "use perfcore.files.write_atomically or cache, or enter the module with its reason"


def test_every_exception_is_still_needed() -> None:
    for name in EXCEPTIONS:
        assert list(own_writes(ast.parse((ROOT / name).read_text("utf-8")))), name


def test_each_way_to_write_is_seen() -> None:
    source = """
os.replace(a, b)
path.rename(b)
path.replace(b)
os.fsync(handle)
tempfile.NamedTemporaryFile()
text.replace("a", "b")
storage.replace(key, data, tag)
files.write_atomically(path, data)
"""
    assert sorted(own_writes(ast.parse(source))) == [2, 3, 4, 5, 6]
