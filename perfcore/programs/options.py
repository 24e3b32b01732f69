"""Options that collectors of commands have in common, for their `Settings`."""

from __future__ import annotations

from typing import Any

from perfcore.config.settings import option


def timeout(help: str = "End a run that takes longer.") -> Any:
    """`timeout: float | None`"""
    return option(None, help=help, unit="s", minimum=0.001)


def on_failure() -> Any:
    """`on_failure: str`, fail or ignore."""
    return option(
        "fail", help="What an exit code other than 0 means: `ignore` keeps the run.", choices=("fail", "ignore")
    )


def output() -> Any:
    """`output: str`, for `starting.output`."""
    return option(
        "null",
        help="Where standard output goes: `null`, `inherit`, or a file, written anew by every run.",
        identity=True,
        metavar="null|inherit|FILE",
    )
