"""The example of the README prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_the_example_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(script, "README.md", "exec"), {})
    assert capsys.readouterr().out.split("\n") == [*re.findall(r"# (True)", script), ""]
