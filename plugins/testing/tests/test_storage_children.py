"""The processes that contract tests of storages start."""

from __future__ import annotations

import os
import time

import pytest
from perfcore_testing.storage_children import Child


def test_one_that_runs_is_told_from_one_that_ended() -> None:
    with Child(time.sleep, 60) as child:
        child.check_running()
    with Child(os._exit, 3) as child:
        child.process.wait()
        with pytest.raises(AssertionError, match="ended with 3"):
            child.check_running()
