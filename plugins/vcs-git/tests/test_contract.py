"""git keeps the laws of the kind `vcs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_vcs_git import Git

from perfcore.testing.vcs import VcsContract

if TYPE_CHECKING:
    from conftest import GitScript


class TestContract(VcsContract):
    private = (".git",)

    @pytest.fixture
    def script(self, script: GitScript) -> GitScript:
        return script

    @pytest.fixture
    def driver(self, driver: Git) -> Git:
        return driver
