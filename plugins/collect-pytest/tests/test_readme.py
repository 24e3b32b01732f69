"""The README says what the code says, and its examples are tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from perfcore_collect_bench.worker import timing
from perfcore_collect_pytest import plugin
from perfcore_collect_pytest.collector import PytestSettings

from perfcore.config.settings import options_of

from .conftest import MeasureTests, names

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `--([a-z-]+)(?: \w+)?` \| (.*?)(?: Default: `.*)? \|$", README, re.MULTILINE))


def test_the_options_are_those_of_the_settings_and_the_plugin() -> None:
    class Group:
        """Takes what the plugin adds."""

        def __init__(self) -> None:
            self.options: dict[str, str] = {}

        def getgroup(self, *words: str) -> Group:
            return self

        def addoption(self, name: str, *, help: str, **options: Any) -> None:
            self.options[name.removeprefix("--")] = help

    group = Group()
    plugin.pytest_addoption(group)
    assert {**group.options, **{option.name: option.info.help for option in options_of(PytestSettings)}} == ROWS


def test_the_numbers_are_those_of_the_code() -> None:
    assert timing.VALUE_TIME == 2_000_000
    assert "take 2 ms" in README
    assert (timing.DROPPED, timing.VALUES) == (2, 10)
    assert "two values are dropped, ten are kept" in README


def test_the_examples_are_tests(measure: MeasureTests) -> None:
    text = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    expected = ["test_sort[1000]", "test_sort[4]", "test_sort_in_place"]
    assert names(measure(text)) == [f"test_a.py::{name}" for name in expected]
