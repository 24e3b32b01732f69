"""`perf check --calibrate`: how small a change the checks detect here."""

from __future__ import annotations

from perfcore.analysis.calibration import CalibrationResult, calibrate
from perfcore.analysis.checks import CheckOptions
from perfcore.analysis.sensitivity import LABEL, of_pairs, per_thousand, sees
from perfcore.cli.console import Console
from perfcore.text import align, clip, printable

_HEAD = ("command", "metric", "one version sees", "false alarms", "a history sees", "false alarms in 1,000")


def print_calibration(console: Console, options: CheckOptions, *, as_json: bool) -> None:
    """Try the checks on the history of the branch, and print how small a change they detect."""
    result = calibrate(console.repository, options, console)
    console.clear_progress()
    if as_json:
        console.json(result.as_json())
    else:
        _print(console, result)


def _print(console: Console, result: CalibrationResult) -> None:
    untried = "too short" if result.tries_history else "not tried"
    rows: list[tuple[str, ...]] = [_HEAD]
    for calibrated in sorted(result.calibrated, key=lambda calibrated: not calibrated.primary):
        single, history = calibrated.single, calibrated.history
        rows.append(
            (
                clip(printable(calibrated.label), LABEL),
                printable(calibrated.metric) + ("" if calibrated.primary else " *"),
                sees(single) if single else "",
                of_pairs(single) if single else "too few",
                sees(history) if history else "",
                per_thousand(history) if history else untried,
            )
        )
    for line in align(rows, right=(2, 3, 4, 5)):
        console.line(line)
    if not all(calibrated.primary for calibrated in result.calibrated):
        console.line()
        console.line("* fails no build unless --fail-on names it")
