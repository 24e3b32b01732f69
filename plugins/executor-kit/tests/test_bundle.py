"""Trees as bytes and back."""

from __future__ import annotations

import io
import os
import platform
import re
import tarfile
from pathlib import Path

import pytest
from perfcore_executor_kit import bundle
from perfcore_executor_local.trees import unpack

from perfcore.errors import FormatError, StorageError


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
        assert not (tmp_path / str(position)).exists()
    assert not (tmp_path / "outside").exists()


def test_a_tree_that_finds_no_room_is_told_with_its_machine_and_leaves_nothing(tmp_path: Path) -> None:
    """Here a name is too long; a full disk is told in the same way."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in ("first", "x" * 300):
            archive.addfile(tarfile.TarInfo(name))
    with pytest.raises(
        StorageError, match=f"cannot be unpacked to .*tree on {re.escape(platform.node())}: File name too"
    ):
        unpack(packed.getvalue(), tmp_path / "tree")
    assert not (tmp_path / "tree").exists()
