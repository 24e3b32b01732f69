"""The table of the README is that of the code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perfcore_collect_papi import PapiSettings
from perfcore_collect_papi.names import DEFAULT_EVENTS

from perfcore.config.settings import Option, options_of

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def row(option: Option) -> str:
    """What the README says of an option."""
    words = "|".join(option.info.choices) or option.info.metavar or ("SECONDS" if option.info.unit == "s" else "")
    default = "" if option.default is None else f" Default: `{shown(option.default)}`."
    return f"| `{' '.join(filter(None, (option.flag, words)))}` | {option.info.help}{default} |"


def shown(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)


def test_the_options_are_those_of_the_settings() -> None:
    told = [line.replace("\\|", "|") for line in README.splitlines() if line.startswith("| `--")]
    assert told == [row(option) for option in options_of(PapiSettings)]


def test_the_default_events_are_told() -> None:
    assert all(event in README for event in DEFAULT_EVENTS)
