"""The laws of remotes, over a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.remotes import FolderRemote, RemoteContract


class TestFolder(RemoteContract):
    @pytest.fixture
    def remote(self, tmp_path: Path) -> FolderRemote:
        return FolderRemote(tmp_path / "shared")
