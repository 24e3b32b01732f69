"""The lists of what may run on this machine: many writers, damage, and no growth without end."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from perfcore.config import trust
from perfcore.config.trust import Commands, Trust, command_digest
from perfcore.errors import StorageError

WRITER = """
import sys
from pathlib import Path
from perfcore.config.trust import Commands
for number in range(int(sys.argv[3])):
    Commands(Path(sys.argv[1])).note(f"{sys.argv[2]}-{number}")
"""


def digest(number: int) -> str:
    return hashlib.sha256(b"%d" % number).hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "user" / "commands"


def test_what_is_noted_is_held_by_another_process_too(path: Path) -> None:
    Commands(path).note(digest(1))
    assert Commands(path).hold(digest(1))
    assert not Commands(path).hold(digest(2))
    assert path.stat().st_mode & 0o077 == 0


def test_what_is_noted_often_is_written_once(path: Path) -> None:
    for _ in range(3):
        Commands(path).note(digest(1))
    assert path.read_text().split() == [digest(1)]


def test_no_writer_loses_what_another_writes(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name, "100"]) for name in ("a", "b", "c", "d")
    ]
    assert [writer.wait() for writer in writers] == [0] * 4
    commands = Commands(path)
    assert all(commands.hold(f"{name}-{number}") for name in "abcd" for number in range(100))


@pytest.mark.parametrize("damage", [b"\xff\xfe\0", b"torn" + digest(2)[:20].encode(), b"\0" * 5000])
def test_a_damaged_line_spoils_no_other(path: Path, damage: bytes) -> None:
    Commands(path).note(digest(1))
    path.write_bytes(path.read_bytes() + damage)
    Commands(path).note(digest(2))
    assert Commands(path).hold(digest(1))
    assert Commands(path).hold(digest(2))
    assert not Commands(path).hold(digest(2)[:20])


def test_a_list_of_trusted_contents_with_a_torn_line_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "trusted"
    path.write_bytes(b"\xfftorn")
    Trust(path).add(digest(1))
    assert Trust(path).holds(digest(1))


def test_the_list_is_bounded_and_forgets_the_oldest(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_MOST_BYTES", 1000)
    for number in range(100):
        Commands(path).note(digest(0))  # in use all the time
        Commands(path).note(digest(number))
    assert sum(file.stat().st_size for file in path.parent.iterdir()) < 2500
    commands = Commands(path)
    assert commands.hold(digest(0))
    assert all(commands.hold(digest(number)) for number in range(90, 100))
    assert not commands.hold(digest(1))


def test_a_list_that_grew_beyond_all_bounds_takes_what_is_new(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_MOST_BYTES", 1000)
    path.parent.mkdir()
    path.write_bytes(b"x" * 10_000)
    Commands(path).note(digest(1))
    assert Commands(path).hold(digest(1))


def test_a_list_that_is_no_file_is_an_error_of_ours(path: Path) -> None:
    path.mkdir(parents=True)
    for call in (Commands(path).hold, Commands(path).note):
        with pytest.raises(StorageError, match="commands"):
            call(digest(1))


def test_a_command_is_another_one_in_another_repository_and_with_other_parts() -> None:
    whole = {"argv": ("./sort",), "env": {"A": "1"}, "params": {"setup": "make"}}
    digests = {
        command_digest(Path("/one"), **whole),
        command_digest(Path("/two"), **whole),
        command_digest(Path("/one"), **{**whole, "argv": ("./sort", "")}),
        command_digest(Path("/one"), **{**whole, "env": {"A": "2"}}),
        command_digest(Path("/one"), **{**whole, "params": {"setup": "make x"}}),
    }
    assert len(digests) == 5
    assert command_digest(Path("/one"), **{**whole, "argv": ["./sort"]}) in digests
