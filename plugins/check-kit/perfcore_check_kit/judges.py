"""Checks that judge a version as a whole, such as contracts: their selection and their verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfcore.analysis.check_drivers import make
from perfcore.errors import PluginError
from perfcore.model import Change, Judgement
from perfcore.model.listener import Listener
from perfcore.plugins.drivers import Phases, guard
from perfcore.repository.repository import Repository
from perfcore_check_kit.version_history import VersionHistory

if TYPE_CHECKING:
    from perfcore.analysis.sensitivity import CalibrationReport

CONTRACT = "contract"
CONTRACT_FILE = ".perfcontract.yml"  # also the method of stored verdicts on contracts, so that it never changes


def judgements(repository: Repository, version: str, changes: Sequence[Change]) -> Iterator[Judgement]:
    """What every configured judge says of a version that the checks have compared."""
    history = VersionHistory(repository=repository, changes=tuple(changes))
    for name in repository.trusted("check.judges"):
        if name == CONTRACT and not (repository.root / CONTRACT_FILE).exists():  # mostly: no import
            yield Judgement(source=CONTRACT_FILE)  # stored verdicts of a file that is gone end
        else:
            yield judge(repository, name).call("judge", history=history, version=version)


def judge(repository: Repository, name: str) -> Phases:
    """The check of this name that judges versions."""
    needed_by = CONTRACT_FILE if name == CONTRACT else "check.judges"
    plugin, driver = make(repository, name, needed_by)
    if not hasattr(driver, "judge"):
        raise PluginError(f"{plugin} judges no versions", hint="check.judges lists the checks that do")
    return repository.plugins.phases(plugin, driver)


def calibrate(repository: Repository, method: str | None, *, store: bool, listener: Listener) -> CalibrationReport:
    """The result of the check `calibration`: how small a change the checks detect here."""
    from perfcore.analysis.sensitivity import CalibrationTask

    plugin, driver = make(repository, "calibration", "perf check --calibrate")
    if not hasattr(driver, "calibrate"):
        raise PluginError(f"{plugin} calibrates nothing")
    task = CalibrationTask(repository=repository, method=method, store=store, listener=listener)
    with guard(plugin, "calibrate"):
        return driver.calibrate(task)
