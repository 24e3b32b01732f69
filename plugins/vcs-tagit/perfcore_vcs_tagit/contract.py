"""How the laws of the kind vcs are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_testing.vcs import Script, VcsContract

from perfcore_vcs_tagit.cli import main
from perfcore_vcs_tagit.driver import Tagit

_PROGRAM = "import sys; from perfcore_vcs_tagit.cli import main; sys.exit(main())"


class TagitScript(Script):
    """A user at the command line, in a repository. Versions are tagged v1, v2 and so on."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.count = 0
        root.mkdir(parents=True, exist_ok=True)
        self.tagit("init")

    def tagit(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run `tagit` in this process, as if it were one of its own, and expect an exit code."""
        out, err = _stream(), _stream()
        with contextlib.chdir(self.root), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            ended = main(words)
        done = subprocess.CompletedProcess(["tagit", *words], ended, _text(out), _text(err))
        assert done.returncode == code, (words, done)
        assert "Traceback" not in done.stderr, done
        return done

    def really(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run `tagit` in a process of its own, and expect an exit code."""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", _PROGRAM, *words],
            cwd=self.root,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            timeout=120,
            check=False,
        )
        assert done.returncode == code, (words, done)
        assert "Traceback" not in done.stderr, done
        return done

    def quickly(self, *words: str) -> str:
        """From elsewhere, by the path of the repository; gives what is printed."""
        return self.tagit("-C", str(self.root), *words).stdout

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
        status = json.loads(self.tagit("status", "--json").stdout)
        return [(change["change"], change["path"]) for change in status["changes"]]


class TagitContract(VcsContract):
    private = (".tagit",)
    has_merges = False
    has_untracked = False

    @pytest.fixture
    def script(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TagitScript:
        """A user in an empty repository whose path is as odd as paths are."""
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # a trigger is listed there
        return TagitScript(tmp_path / 'it\'s $HOME ~ "žluťoučký" 日本')

    @pytest.fixture
    def driver(self, script: TagitScript) -> Tagit:
        return Tagit(script.root)


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "backslashreplace")
