"""tagit keeps the laws of the kind `vcs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_vcs_tagit import Tagit

from perfcore.testing.vcs import VcsContract

if TYPE_CHECKING:
    from conftest import TagitScript


class TestContract(VcsContract):
    private = (".tagit",)
    has_merges = False
    has_untracked = False

    @pytest.fixture
    def script(self, script: TagitScript) -> TagitScript:
        return script

    @pytest.fixture
    def driver(self, driver: Tagit) -> Tagit:
        return driver
