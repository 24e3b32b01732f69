"""Files are replaced whole, with their mode, and nothing is left beside them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from perfcore import files

_KILLED = """
import os, sys
from pathlib import Path
from perfcore import files
files.sync = lambda fd: os._exit(9)
files.write_atomically(Path(sys.argv[1]), b"new", locked=sys.argv[2] == "locked")
"""


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path, locked: bool, durable: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a longer old content")
    path.chmod(0o640)
    files.write_atomically(path, b"new", locked=locked, durable=durable)
    assert path.read_bytes() == b"new"
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_mode_that_others_get(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    files.write_atomically(tmp_path / "file", b"")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    files.write_atomically(path, b"1")
    assert path.read_bytes() == b"1"


def test_what_cannot_be_replaced_stays(tmp_path: Path) -> None:
    (tmp_path / "folder/file").mkdir(parents=True)
    for locked in (False, True):
        with pytest.raises(OSError):
            files.write_atomically(tmp_path / "folder", b"new", locked=locked)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(("mode", "unfinished"), [("locked", 1), ("open", 3)])
def test_a_killed_writer_leaves_the_old_content(tmp_path: Path, mode: str, unfinished: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", _KILLED, str(path), mode], check=False).returncode == 9
        assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1 + unfinished
    files.write_atomically(path, b"new", locked=mode == "locked")
    assert path.read_bytes() == b"new"
    assert mode != "locked" or list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_stays_a_link_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    files.write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    files.write_whole(Path(os.devnull), b"gone")
    assert not Path(os.devnull).is_file()


def test_a_cache_is_believed_only_if_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new/folder/cache"
    assert files.cached(path) is None
    files.cache(path, b"content")
    assert files.cached(path) == b"content"
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole + b"x", b"", bytes(20) + whole[20:]):
        path.write_bytes(damaged)
        assert files.cached(path) is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    files.cache(tmp_path / "file/below", b"content")
    assert files.cached(tmp_path / "file/below") is None
