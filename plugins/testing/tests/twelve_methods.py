"""git by the required methods of the kind `vcs` alone: the driver that the core has to complete."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from perfcore_vcs_git import Git

from perfcore.model import MajorVersion, MinorVersion

PAUSE = "TWELVE_METHODS_PAUSE"
"""Names a pipe: a checkout writes to it when it is over, and waits to be killed."""


class TwelveMethods:
    """What the ancestor's API has for a version control system, and `detect`."""

    def __init__(self, root: Path) -> None:
        self._git = Git(root)

    @classmethod
    def detect(cls, path: Path) -> Path | None:
        return Git.detect(path)

    def init(self) -> None:
        self._git.init()

    def walk_minor_versions(self, head: str) -> Iterator[MinorVersion]:
        return self._git.walk_minor_versions(head)

    def walk_major_versions(self) -> Iterator[MajorVersion]:
        return self._git.walk_major_versions()

    def get_minor_head(self) -> str:
        return self._git.get_minor_head()

    def get_head_major_version(self) -> MajorVersion:
        return self._git.get_head_major_version()

    def get_minor_version_info(self, version: str) -> MinorVersion:
        return self._git.get_minor_version_info(version)

    def check_minor_version_validity(self, version: str) -> None:
        self._git.check_minor_version_validity(version)

    def massage_parameter(self, parameter: str) -> str:
        return self._git.massage_parameter(parameter)

    def is_dirty(self) -> bool:
        return self._git.is_dirty()

    def save_state(self) -> str:
        return self._git.save_state()

    def restore_state(self, state: str) -> None:
        self._git.restore_state(state)

    def checkout(self, version: str) -> None:
        self._git.checkout(version)
        if pipe := os.environ.get(PAUSE):
            with open(pipe, "w") as file:
                file.write("checked out\n")
            signal.pause()
