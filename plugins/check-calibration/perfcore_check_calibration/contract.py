"""The contract of `calibration`, as `perf plugins check` tries it: it neither compares nor scans."""

from __future__ import annotations

from typing import cast

from perfcore.analysis.sensitivity import CalibrationTask
from perfcore.model.listener import SilentListener
from perfcore.repository.repository import Repository
from perfcore_check_calibration import CalibrationCheck


class CalibrationContract:
    def test_without_series_there_is_no_result(self) -> None:
        """Nothing of the repository is read then."""
        task = CalibrationTask(
            repository=cast(Repository, None), series=(), history_check=None, method=None, listener=SilentListener()
        )
        assert CalibrationCheck().calibrate(task) == []
