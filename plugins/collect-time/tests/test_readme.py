"""The tables of the README are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from perfcore_collect_time import TimeSettings
from perfcore_collect_time.collector import COLUMNS

from perfcore.config.settings import Option, options_of
from perfcore.measure.schedule import SCHEDULE_KEYS

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def row(option: Option) -> str:
    """What the README says of an option."""
    words = "|".join(option.info.choices) or option.info.metavar or ("SECONDS" if option.info.unit == "s" else "VALUE")
    default = "" if option.default is None else f" Default: `{option.default}`."
    return f"| `--{option.name.replace('_', '-')} {words}` | {option.info.help}{default} |"


def test_the_options_are_those_of_the_settings() -> None:
    told = [line.replace("\\|", "|") for line in README.splitlines() if line.startswith("| `--")]
    assert told == [row(option) for option in options_of(TimeSettings)]


def test_the_schedule_is_told_by_its_own_names() -> None:
    for name in SCHEDULE_KEYS:
        assert f"`--{name.replace('_', '-')}`" in README


def test_the_columns_are_those_that_are_recorded() -> None:
    cells = [[cell.strip() for cell in line.split("|")[1:3]] for line in README.splitlines() if line.startswith("| ")]
    told = [(name, unit) for names, unit in cells for name in re.findall(r"`([a-z_]+)`", names)]
    assert told == [(column.name, column.unit) for column in COLUMNS]
