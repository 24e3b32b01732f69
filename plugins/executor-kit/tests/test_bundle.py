"""Trees as bytes and back."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from perfcore_executor_kit import bundle
from perfcore_executor_local.trees import unpack

from perfcore.errors import FormatError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "run.sh").write_text("echo\n")
    (tree / "sub" / "run.sh").chmod(0o755)
    (tree / "link").symlink_to("sub/run.sh")
    os.mkfifo(tree / "pipe")
    return tree


def test_a_tree_comes_back_without_its_other_kinds_of_file(tree: Path, tmp_path: Path) -> None:
    unpack(bundle.pack(tree), tmp_path / "copy")
    names = sorted(path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*"))
    assert names == ["link", "sub", "sub/run.sh"]
    assert os.access(tmp_path / "copy" / "link", os.X_OK)


def test_equal_trees_have_equal_bytes(tree: Path) -> None:
    packed = bundle.pack(tree)
    os.utime(tree / "sub" / "run.sh", (1, 1))
    assert bundle.pack(tree) == packed


def test_a_bundle_that_is_cut_off_or_leaves_its_directory_is_refused(tree: Path, tmp_path: Path) -> None:
    outside = io.BytesIO()
    with tarfile.open(fileobj=outside, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../outside"))
    for position, packed in enumerate((b"", b"no bundle", bundle.pack(tree)[:60], outside.getvalue())):
        with pytest.raises(FormatError, match="cannot be unpacked"):
            unpack(packed, tmp_path / str(position))
    assert not (tmp_path / "outside").exists()
