"""The check `calibration`: how small a change the other checks detect, tried on the project's own history."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfcore.analysis.sensitivity import CalibrationTask
    from perfcore.repository.repository import Repository
    from perfcore_check_calibration.calibration import CalibrationResult


class CalibrationCheck:
    """Tries the checks on replays of a project's history, as `perf check --calibrate` asks for it."""

    contract = "perfcore_check_calibration.contract:CalibrationContract"

    def calibrate(self, task: CalibrationTask) -> CalibrationResult:
        from perfcore_check_calibration.calibration import calibrate

        return calibrate(task)

    def calibrated(self, repository: Repository, config_ids: Container[str]) -> Iterator[str]:
        from perfcore_check_calibration import sensitivity

        return sensitivity.status(repository.store, config_ids)
