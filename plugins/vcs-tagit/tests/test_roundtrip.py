"""Whatever a folder holds comes back byte for byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from perfcore_vcs_tagit import Tagit, places
from perfcore_vcs_tagit.repository import Repository
from perfcore_vcs_tagit.state import State
from perfcore_vcs_tagit.tree import EMPTY

if TYPE_CHECKING:
    from .conftest import Snapshot

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only here are names any bytes")

Node = tuple[str, int, bytes] | Mapping[bytes, "Node"]

_ODD = [
    b"-rf",
    b"a\nb",
    b"\x1b[31m",
    b"\xff\xfe",
    b"a",
    b"b",
    b"A",
    b" ",
    b"'\"",
    b"\xc5\xbe",
    b"e\xcc\x81",
    b"~",
    b"...",
]
_NAMES = st.sampled_from(_ODD) | st.binary(min_size=1, max_size=20).filter(
    lambda name: not set(name) & {0, 47} and name not in (b".", b"..", b".tagit", b".perf", b".tagitignore")
)
_LEAVES = st.one_of(
    st.tuples(st.just("file"), st.integers(0, 0o377).map(lambda mode: mode | 0o400), st.binary(max_size=300)),
    st.tuples(st.just("file"), st.just(0o644), st.integers(0, 200_000).map(lambda size: os.urandom(size // 2) * 2)),
    st.tuples(st.just("link"), st.just(0), st.binary(min_size=1, max_size=50).filter(lambda to: 0 not in to)),
)
_FOLDERS = st.recursive(
    st.dictionaries(_NAMES, _LEAVES, max_size=4),
    lambda inner: st.dictionaries(_NAMES, _LEAVES | inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(folders=st.lists(_FOLDERS, min_size=2, max_size=3))
def test_every_tree_comes_back(snapshot: Snapshot, folders: list[Mapping[bytes, Node]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "project")
        root.mkdir()
        Tagit(root).init()
        saved = {}
        for number, folder in enumerate(folders):
            _empty(root)
            _write(os.fsencode(root), folder)
            assert Tagit(root).is_dirty() == (Repository(places.find(root)).scan().tree != _head_tree(root))
            id = Repository(places.find(root)).save(f"v{number}", message="", author="", date=1).id
            saved[id] = snapshot(root)
            assert not Tagit(root).is_dirty()
        for number, (id, tree) in enumerate([*saved.items(), *saved.items()]):
            State(Repository(places.find(root))).move(None, id)
            assert snapshot(root) == tree
            assert not Tagit(root).is_dirty()
            Tagit(root).export(id, Path(place, str(number)))
            assert snapshot(Path(place, str(number))) == tree


def test_a_deep_tree_comes_back(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    Tagit(root).init()
    here = os.getcwd()
    try:
        os.chdir(root)
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
        Path("file").write_bytes(b"deep")
    finally:
        os.chdir(here)
    id = Repository(places.find(root)).save("deep", message="", author="", date=1).id
    Tagit(root).export(id, tmp_path / "out")
    assert not Tagit(root).is_dirty()
    assert Tagit(root).read_file(id, "d/" * 1200 + "file") == b"deep"
    assert Tagit(root).changed_files(None, id) == ("d/" * 1200 + "file",)
    subprocess.run(["rm", "-rf", "--", root, tmp_path / "out"], check=True)


def _head_tree(root: Path) -> str:
    repository = Repository(places.find(root))
    head = repository.refs().head
    return EMPTY if head is None else repository.tree_of(head)


def _empty(root: Path) -> None:
    for path in root.iterdir():
        if path.name != ".tagit":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _write(place: bytes, folder: Mapping[bytes, Node]) -> None:
    for name, node in folder.items():
        path = os.path.join(place, name)
        if isinstance(node, Mapping):
            os.mkdir(path)
            _write(path, node)
        elif node[0] == "link":
            os.symlink(node[2], path)
        else:
            with open(path, "wb") as file:
                file.write(node[2])
            os.chmod(path, node[1])
