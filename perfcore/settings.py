"""Options of a plugin, declared once, and those that collectors of commands have in common: the names that authors of
plugins import."""

from __future__ import annotations

from typing import Any

from perfcore.config.settings import OptionInfo, option

__all__ = ["OptionInfo", "on_failure_option", "option", "output_option", "timeout_option"]


def timeout_option(help: str = "End a run that takes longer.") -> Any:
    """`timeout: float | None`"""
    return option(None, help=help, unit="s", minimum=0.001)


def on_failure_option() -> Any:
    """`on_failure: str`, fail or ignore."""
    return option(
        "fail", help="If the exit code is not 0: `fail`, or `ignore` it and keep the run.", choices=("fail", "ignore")
    )


def output_option() -> Any:
    """`output: str`, for `perfcore_collect_kit.command.output`."""
    return option(
        "null",
        help="Where to write standard output: `null`, `inherit`, or a file that every run overwrites.",
        identity=True,
        metavar="null|inherit|FILE",
    )
