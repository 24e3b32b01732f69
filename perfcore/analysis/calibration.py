"""Calibration: how small a change the checks of this project detect, by the check that tries them."""

from __future__ import annotations

import time
from typing import Any

import attrs

from perfcore.analysis import fail_on, history, judges, sensitivity
from perfcore.analysis import series as series_of
from perfcore.analysis.checks import CheckOptions, history_check
from perfcore.analysis.sensitivity import Calibrated, Calibration, CalibrationTask
from perfcore.errors import NotFoundError, PluginError, StorageError
from perfcore.model.listener import Listener, SilentListener
from perfcore.plugins.guard import guard
from perfcore.repository.repository import Repository
from perfcore.text import plural

SCHEMA = 1  # of the JSON document
_NAME = "calibration"


@attrs.frozen(kw_only=True)
class CalibrationResult:
    """The sensitivities by metric. `tries_history` says whether the tried check scans histories."""

    calibrated: tuple[Calibrated, ...]
    tries_history: bool = True

    def as_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "calibration": [attrs.asdict(result) for result in self.calibrated]}


def calibrate(repository: Repository, options: CheckOptions, listener: Listener | None = None) -> CalibrationResult:
    """Try the checks on the history of the branch; with `options.store` the result is stored, for `status`. Where a
    check of two versions is tried, that of histories says between which versions nothing changed."""
    listener = listener or SilentListener()
    plugin, driver = judges.make(repository, _NAME, "perf check --calibrate")
    if not hasattr(driver, "calibrate"):
        raise PluginError(f"{plugin} calibrates nothing")
    tried = history_check(repository, options.method, listener)
    segmenting = tried or (history_check(repository, None, listener) if options.method else None)
    lines = series_of.config_histories(repository, repository.version())
    selected = history.select_series(repository, [line for line in lines if len(line.versions) > 1])
    if not selected:
        raise NotFoundError(
            "no command was measured for two versions: there is nothing to try the checks on",
            hint="perf collect time --all --add -- COMMAND",
        )
    if segmenting is not None:
        selected = history.scan_series(repository, selected, segmenting, fail_on.thresholds_of(repository))
    task = CalibrationTask(
        repository=repository,
        series=tuple(selected),
        history_check=tried,
        method=None if tried else options.method,
        listener=listener,
    )
    with guard(plugin, "calibrate"):
        calibrated = tuple(driver.calibrate(task))
    if options.store:
        _store(repository, Calibration(time=time.time_ns(), results=calibrated, method=options.method or ""))
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
