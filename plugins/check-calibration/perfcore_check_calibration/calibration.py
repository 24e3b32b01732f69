"""How small a change the checks of a project detect: the series to try them on, and the result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import attrs
from perfcore_check_kit import history, thresholds
from perfcore_check_kit import series as series_of
from perfcore_check_kit.checks import history_check

from perfcore.analysis.sensitivity import CalibrationTask
from perfcore.errors import NotFoundError, StorageError
from perfcore.repository.repository import Repository
from perfcore.text import align, clip, plural, printable
from perfcore_check_calibration import sensitivity
from perfcore_check_calibration.replay import Trial, replay
from perfcore_check_calibration.sensitivity import LABEL, Calibrated, Calibration, per_thousand, sees

SCHEMA = 1  # of the JSON document
_HEAD = ("command", "metric", "one version sees", "false alarms", "a history sees", "false alarms in 1,000")


@attrs.frozen(kw_only=True)
class CalibrationResult:
    """The sensitivities by metric. `tries_history` says whether the tried check scans histories."""

    calibrated: tuple[Calibrated, ...]
    tries_history: bool = True

    def as_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "calibration": [attrs.asdict(result) for result in self.calibrated]}

    def lines(self) -> Iterator[str]:
        """A table, the metrics that decide first."""
        untried = "too short" if self.tries_history else "not tried"
        rows: list[tuple[str, ...]] = [_HEAD]
        for calibrated in sorted(self.calibrated, key=lambda calibrated: not calibrated.primary):
            single, history = calibrated.single, calibrated.history
            rows.append(
                (
                    clip(printable(calibrated.label), LABEL),
                    printable(calibrated.metric) + ("" if calibrated.primary else " *"),
                    sees(single) if single else "",
                    f"{single.alarms} of {single.tried}" if single else "too few",
                    sees(history) if history else "",
                    per_thousand(history) if history else untried,
                )
            )
        yield from align(rows, right=(2, 3, 4, 5))
        if not all(calibrated.primary for calibrated in self.calibrated):
            yield ""
            yield "* fails no build unless --fail-on names it"


def calibrate(task: CalibrationTask) -> CalibrationResult:
    """Try the checks on the history of the branch. Where a check of two versions is tried, that of histories says
    between which versions nothing changed."""
    repository, listener = task.repository, task.listener
    tried = history_check(repository, task.method, listener)
    # Real changes of the history would count as false alarms, so a check of histories has to find them first.
    segmenting = tried or (history_check(repository, None, listener) if task.method else None)
    lines = series_of.config_histories(repository, repository.version())
    selected = history.select_series(repository, [line for line in lines if len(line.versions) > 1])
    if not selected:
        raise NotFoundError(
            "no command was measured for two versions: there is nothing to try the checks on",
            hint=f"perf collect {repository.plugins.usual_collector()} --all --add -- COMMAND",
        )
    if segmenting is not None:
        selected = history.scan_series(repository, selected, segmenting, thresholds.thresholds_of(repository))
    trial = Trial(
        repository=repository,
        series=tuple(selected),
        history_check=tried,
        method=None if tried else task.method,
        listener=listener,
    )
    calibrated = tuple(replay(trial))
    if task.store:
        _store(repository, Calibration(time=time.time_ns(), results=calibrated, method=task.method or ""))
    if segmenting is None:
        listener.note("no check of histories says where it changed, so that real changes count as false alarms")
    elif short := sum(len(series.line.versions) < history.SHORT for series in selected if series.primary):
        which = f"the history of {plural(short, 'command')} is too short"
        listener.note(f"{which} to know where it changed, so that real changes count as false alarms")
    return CalibrationResult(calibrated=calibrated, tries_history=tried is not None)


def _store(repository: Repository, calibration: Calibration) -> None:
    try:
        sensitivity.keep(repository.store, calibration)
    except StorageError as error:
        repository.plugins.warn(f"the result is not kept: {error.message}")
