"""Objects by name, through one long-lived `git cat-file --batch`.

One process answers everything that is asked of single versions. Names go through its standard input, so nothing
that people write can be taken for an option.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any

from perfcore.named_tuple import NamedTuple
from perfcore_vcs_git.command import disown, finish, stop

if TYPE_CHECKING:
    from perfcore_vcs_git.command import Runner


class Found(NamedTuple):
    """An object: its full id, its kind and its content."""

    id: str
    kind: str
    data: bytes


class Objects:
    """The objects of one repository. Thread-safe; a forked process starts a git of its own."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._process: Any = None
        self._owner = 0

    def ask(self, name: str) -> Found | None:
        """The object that a name means, None where it means none or several. It has no line break in it."""
        with self._lock:
            try:
                return self._ask(name)
            except BaseException:
                self._drop()
                raise

    def complaints(self) -> str:
        """What git had to say since the last time this was asked."""
        with self._lock:
            process = self._taken()
            if process is None:
                return ""
            return finish(process)[1].decode("utf-8", "replace")

    def close(self) -> None:
        """End the process. The next question starts another."""
        with self._lock:
            self._drop()

    def _ask(self, name: str) -> Found | None:
        process = self._running()
        with contextlib.suppress(BrokenPipeError):  # it died: the missing answer tells
            process.stdin.write(name.encode("utf-8", "surrogateescape") + b"\n")
            process.stdin.flush()
        # git-cat-file(1), `--batch`: `id kind size`, or the name and `missing` or `ambiguous`. Split from the right,
        # as a name may hold blanks.
        words = process.stdout.readline().rsplit(None, 2)
        if not words:
            self._process = None
            status, complaint = finish(process)
            raise self._runner.explain(("cat-file",), status, complaint)
        if len(words) < 3 or not words[-1].isdigit():
            return None
        size = int(words[2])
        # git ends the content with a line feed of its own.
        data = process.stdout.read(size + 1)
        if len(data) != size + 1:
            self._process = None
            status, complaint = finish(process)
            raise self._runner.explain(("cat-file",), status, complaint)
        return Found(words[0].decode(), words[1].decode(), data[:-1])

    def _running(self) -> Any:
        if self._owner != os.getpid():
            self._taken()
        if self._process is None:
            # Ambiguous names are told apart by asking, so that no warning fills the pipe that nobody empties.
            self._process = self._runner.start(
                "cat-file", "--batch", stdin=True, config=("core.warnAmbiguousRefs=false",)
            )
            self._owner = os.getpid()
        return self._process

    def _drop(self) -> None:
        process = self._taken()
        if process is not None:
            stop(process)

    def _taken(self) -> Any:
        """The process, which is ours no more; None where there is none, or only that of a parent."""
        process, self._process = self._process, None
        if process is not None and self._owner != os.getpid():
            disown(process)
            return None
        return process
