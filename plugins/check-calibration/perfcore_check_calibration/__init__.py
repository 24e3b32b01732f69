"""The check `calibration`: how small a change the other checks detect, tried on the project's own history."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.analysis.sensitivity import Calibrated, CalibrationTask


class CalibrationCheck:
    """Tries the checks on replays of a project's history, as `perf check --calibrate` asks for it."""

    contract = "perfcore_check_calibration.contract:CalibrationContract"

    def calibrate(self, task: CalibrationTask) -> Sequence[Calibrated]:
        from perfcore_check_calibration.replay import calibrate

        return calibrate(task)
