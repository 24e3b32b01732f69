"""Trees of other versions, made to be measured and removed afterwards."""

from __future__ import annotations

import contextlib
from pathlib import Path

from perfcore.errors import PerfError
from perfcore.measure.scratch import Guarded, place_of
from perfcore.repository.repository import Repository


class Trees(Guarded):
    """The trees of one command, as a context manager: all at paths of one length."""

    def __init__(self, repository: Repository) -> None:
        super().__init__(place_of(repository), "tree", self._remove_tree)
        self.repository = repository

    def get(self, version: str) -> Path:
        """A clean tree of the version."""
        path, vcs = self.take(), self.repository.vcs
        if hasattr(vcs, "worktree"):
            vcs.worktree(version, path)
        else:
            path.mkdir()
            vcs.export(version, path)
        return path

    def _remove_tree(self, path: Path) -> None:
        vcs = self.repository.vcs
        if hasattr(vcs, "remove_worktree"):
            with contextlib.suppress(PerfError):
                vcs.remove_worktree(path)
