"""A user of tagit."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from perfcore_vcs_tagit import Tagit
from perfcore_vcs_tagit.cli import main

pytest.register_assert_rewrite("perfcore.testing.vcs")

from perfcore.testing.project import empty_project, project  # noqa: E402
from perfcore.testing.vcs import Script  # noqa: E402

__all__ = ["empty_project", "project"]

Snapshot = Callable[[Path], Mapping[bytes, tuple[str, int, bytes]]]
_PROGRAM = "import sys; from perfcore_vcs_tagit.cli import main; sys.exit(main())"
_OURS = (b".tagit", b".perf")


class TagitScript(Script):
    """A user at the command line, in a repository. Versions are tagged v1, v2 and so on."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.count = 0
        root.mkdir(parents=True, exist_ok=True)
        self.tagit("init")

    def tagit(self, *words: str, code: int = 0, **options: str) -> subprocess.CompletedProcess[str]:
        """Run `tagit` and expect an exit code."""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", _PROGRAM, *words],
            cwd=self.root,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            env={**os.environ, **options},
            timeout=120,
            check=False,
        )
        assert done.returncode == code, (words, done)
        assert "Traceback" not in done.stderr, done
        return done

    def quickly(self, *words: str) -> str:
        """The same in this process; gives what is printed."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["-C", str(self.root), *words])
        assert code == 0, (words, err.getvalue())
        return out.getvalue()

    def save(self, tag: str, *words: str) -> str:
        """Save, and give the id."""
        return self.quickly("save", tag, *words).split()[0]

    def commit(self, message: str) -> str:
        self.count += 1
        return self.save(f"v{self.count}", "--message", message)

    def branch(self, name: str) -> None:
        self.quickly("branch", name)

    def switch(self, name: str) -> None:
        self.quickly("checkout", name)

    def changes(self) -> list[tuple[str, str]]:
        """(letter, path) of what `tagit status` lists."""
        found = json.loads(self.tagit("status", "--json").stdout)
        return [(change["change"], change["path"]) for change in found["changes"]]


@pytest.fixture
def script(tmp_path: Path) -> TagitScript:
    """A user in an empty repository whose path is as odd as paths are."""
    return TagitScript(tmp_path / 'it\'s $HOME ~ "žluťoučký" 日本')


@pytest.fixture
def driver(script: TagitScript) -> Tagit:
    """The driver in that repository."""
    return Tagit(script.root)


@pytest.fixture
def snapshot() -> Snapshot:
    """Tells all that is in a folder, to be compared."""
    return _snapshot


def _snapshot(root: Path) -> dict[bytes, tuple[str, int, bytes]]:
    """(kind, permissions, bytes or target) of everything below a folder, empty folders too."""
    found: dict[bytes, tuple[str, int, bytes]] = {}
    place = os.fsencode(root)
    for folder, names, files in os.walk(place):
        names[:] = [name for name in names if name not in _OURS]
        for name in (*names, *files):
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, place)
            status = os.lstat(path)
            if name in _OURS:
                continue
            if stat.S_ISLNK(status.st_mode):
                found[inside] = ("link", 0, os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                found[inside] = ("folder", 0, b"")
            else:
                with open(path, "rb") as file:
                    found[inside] = ("file", status.st_mode & 0o777, file.read())
    return found
