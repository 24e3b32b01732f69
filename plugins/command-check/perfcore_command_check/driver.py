"""The driver of `perf check`. The command line is imported when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.analysis.check_result import CheckResult
    from perfcore.analysis.sensitivity import CalibrationReport
    from perfcore.library import History


class Check:
    """Find regressions and improvements."""

    chapter = "Inspect"
    after = "show"
    contract = "perfcore_command_check.contract:CheckContract"

    def app(self) -> typer.Typer:
        from perfcore_command_check.command import new_app

        return new_app()

    def call(self, history: History, arguments: Mapping[str, Any]) -> CheckResult | CalibrationReport:
        """The result of `History.check(...)`, `contracts()` or `calibrate()`; the arguments are those of `answer`."""
        from perfcore_command_check.calls import answer

        return answer(history, **arguments)
