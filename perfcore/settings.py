"""Options of a plugin, declared once, and those that collectors of commands have in common: the names that authors of
plugins import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfcore.config.settings import OptionInfo, option

__all__ = ["ON_FAILURE", "OUTPUT", "TIMEOUT", "OptionInfo", "on_failure_option", "option", "output_option"]
__all__ += ["timeout_option"]

TIMEOUT = OptionInfo("End a run that takes longer.", unit="s", minimum=0.001)
ON_FAILURE = OptionInfo(
    "If the exit code is not 0: `fail`, or `ignore` it and keep the run.", choices=("fail", "ignore")
)
OUTPUT = OptionInfo(
    "Where to write standard output: `null`, `inherit`, or a file that every run overwrites.",
    identity=True,
    metavar="null|inherit|FILE",
)


def _fields(default: Any, info: OptionInfo) -> Callable[..., Any]:
    return lambda help=info.help: option(default, **info._replace(help=help)._asdict())


timeout_option = _fields(None, TIMEOUT)  # `timeout: float | None`
on_failure_option = _fields("fail", ON_FAILURE)  # `on_failure: str`, fail or ignore
output_option = _fields("null", OUTPUT)  # `output: str`, for `perfcore_collect_kit.command.output`
