"""The table of the README is that of the code."""

from __future__ import annotations

from pathlib import Path

from perfcore_view_topology import TopologySettings

from perfcore.config.settings import Option, options_of

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def row(option: Option) -> str:
    """What the README says of an option."""
    words = "" if option.type is bool else "|".join(option.info.choices) or option.info.metavar or "TEXT"
    return f"| `{' '.join(filter(None, (option.flag, words)))}` | {option.info.help} |"


def test_the_options_are_those_of_the_settings() -> None:
    told = [line.replace("\\|", "|") for line in README.splitlines() if line.startswith("| `--")]
    assert sorted(told) == sorted(map(row, options_of(TopologySettings)))
