"""A watched folder: files are ingested as they arrive, and removed when their receipts are durable.

A process that is killed between the receipt and the removal finds the file again, and its segment known.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import attrs

from perfcore import files
from perfcore.model.listener import Listener
from perfcore.text import printable
from perfcore_command_fleet.files import DEAD_LETTERS, Candidate, candidates
from perfcore_command_fleet.ingest import Ingested, Ingester

_SETTLED = 2.0  # seconds without a write after which a file that no source reads is not one that is being written
_FORGET = 600.0  # seconds after which what others stored is read; sooner, it is only seen at the commit point
_REASON = ".reason"


@attrs.define
class Spool:
    """One folder. `limit` bounds the bytes of the dead letters, of which the oldest go first."""

    folder: Path
    ingester: Ingester
    listener: Listener
    limit: int
    keep: bool = False
    _open: dict[Path, tuple[int, int]] = attrs.field(factory=dict)
    _read: float = 0.0

    def turn(self, now: float) -> Ingested:
        """Ingest what has arrived. Files that are still being written are read again when they have grown."""
        arrived = [
            file for file in candidates([self.folder]) if self._open.get(file.path) != (file.size, file.modified)
        ]
        if now - self._read >= _FORGET:
            self._read = now
            self.ingester.forget()
        result = self.ingester.ingest(arrived)
        by_path = {file.path: file for file in arrived}
        for path in result.done:
            if self.keep:
                self._open[path] = _stamp(by_path[path])
            else:
                self._remove(path)
        for path in result.open:
            self._open[path] = _stamp(by_path[path])
        rejected = {path: text for path, text in result.problems if path not in set(result.open)}
        for path, text in rejected.items():
            if now - by_path[path].modified / 1e9 >= _SETTLED:
                self._reject(path, text)
        self._shrink()
        return result

    def _remove(self, path: Path) -> None:
        self._open.pop(path, None)
        with contextlib.suppress(FileNotFoundError):
            path.unlink()

    def _reject(self, path: Path, text: str) -> None:
        """Move a file to the dead letters, with the reason beside it."""
        target = self.folder / DEAD_LETTERS / path.relative_to(self.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(target.with_name(target.name + _REASON), f"{printable(text)}\n".encode())
        with contextlib.suppress(FileNotFoundError):
            os.replace(path, target)  # moved aside as it is: nothing is written

    def _shrink(self) -> None:
        letters = []
        for root, _, names in os.walk(self.folder / DEAD_LETTERS):
            for name in names:
                with contextlib.suppress(OSError):
                    path = Path(root, name)
                    status = path.stat(follow_symlinks=False)
                    letters.append((status.st_mtime_ns, status.st_size, path))
        size = sum(letter[1] for letter in letters)
        for _, length, path in sorted(letters):
            if size <= self.limit:
                return
            path.unlink(missing_ok=True)
            size -= length
            if not path.name.endswith(_REASON):
                self.listener.note(f"removed the dead letter {printable(path.name)}: --limit")


def watch(spools: list[Spool], interval: float, tell: Callable[[Ingested], None], turns: int | None = None) -> None:
    """Ingest from all folders for ever, or so many times."""
    done = 0
    while turns is None or done < turns:
        for spool in spools:
            tell(spool.turn(time.time()))
        done += 1
        if turns is None or done < turns:
            time.sleep(interval)


def _stamp(file: Candidate) -> tuple[int, int]:
    return file.size, file.modified
