"""Many processes that register with one version at once, beside one that collects garbage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_eight_processes_register_a_hundred_profiles_each_and_all_are_there(torture: Callable[..., Any]) -> None:
    done = torture("writers.py", 8, 100)
    assert done["codes"] == [0] * 9
    assert done["collections"] > 1
    assert (done["registered"], done["contents"], done["pending"]) == (800, 800, 0)
    assert done["numbers"]
    assert done["wrong"] == []
    assert done["seconds"] == 1
    assert done["names"] < 800  # so there are different profiles of one name in one second
