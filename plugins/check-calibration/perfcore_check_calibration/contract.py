"""The contract of `calibration`, as `perf plugins check` tries it: it neither compares nor scans."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_testing.project import new_repository

from perfcore.analysis.sensitivity import CalibrationTask
from perfcore.errors import NotFoundError
from perfcore.library import open_repository
from perfcore.model.listener import SilentListener
from perfcore_check_calibration import CalibrationCheck


class CalibrationContract:
    def test_without_measured_versions_there_is_nothing_to_try(self, tmp_path: Path) -> None:
        """The error says how to measure some."""
        project = new_repository(tmp_path)
        project.commit("First")
        repository = open_repository(project.path).repository
        task = CalibrationTask(repository=repository, method=None, store=True, listener=SilentListener())
        with pytest.raises(NotFoundError, match="nothing to try") as error:
            CalibrationCheck().calibrate(task)
        assert "perf collect" in str(error.value.hint)
