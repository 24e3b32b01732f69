"""Which commands a version lacks that its gate measures, in real repositories."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from perfcore_check_kit import checks, missing_measurements
from perfcore_check_kit.checks import CheckOptions
from perfcore_check_kit.target import Version
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.analysis.fail_on import DEFAULT, NOT_COMPARED, FailRule
from perfcore.model.record import replace
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.store.lookup import Ref

HOUR = 3600 * 10**9


class History:
    """A branch whose versions are a day apart."""

    def __init__(self, project: Project) -> None:
        places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
        self.project, self.repository = project, Repository.open(project.path, places=places)
        self.versions = [self.repository.version()]

    def measure(
        self,
        *commands: str,
        hours: float = 0,
        machine: str = "1:" + "e" * 40,
        collector: str = "time",
        options: str = "",
    ) -> None:
        """Register profiles of the newest version, so many hours after it was made."""
        for command in commands:
            profile = profiles.timed(runs=6)
            measured = replace(
                profile,
                header=replace(profile.header, cmd=command, args="", workload=""),
                collector=replace(profile.collector, name=collector),
                config_id=f"1:{command}{options}{collector}",
                environment_id=machine,
                origin=self.versions[-1],
                created=profiles.CREATED + round((24 * len(self.versions) + hours) * HOUR),
            )
            self.repository.register(Ref(kind="pending", pending=self.repository.save(measured)), self.versions[-1])

    def commit(self, *commands: str) -> None:
        """A version, measured with these commands."""
        self.versions.append(self.project.commit(f"Version {len(self.versions)}"))
        self.measure(*commands)

    @property
    def missing(self) -> Sequence[str]:
        return [unpaired.label for unpaired in missing_measurements.of_version(self.repository, self.versions[-1])]


@pytest.fixture
def history(project: Project) -> History:
    return History(project)


def test_a_gate_whose_suite_was_not_measured_does_not_pass(history: History) -> None:
    history.measure("parse", "suite")
    history.commit("parse")
    options = CheckOptions(rules=(*DEFAULT, FailRule("not-compared")))
    result = checks.check(history.repository, Version(history.versions[-1]), options)
    (unpaired,) = result.unpaired
    assert (unpaired.label, unpaired.side) == ("suite", "baseline")
    assert unpaired.reason == f"it was measured in {history.versions[0][:10]}, and is no longer"
    assert result.exit_code == NOT_COMPARED
    assert checks.check(history.repository, Version(history.versions[-1]), CheckOptions()).exit_code == 0


def test_what_a_version_lacks_is_told_of_that_version_only(history: History) -> None:
    history.measure("parse", "suite")
    history.commit("parse")
    history.commit("parse")
    assert not history.missing


def test_a_suite_that_each_of_the_last_three_versions_has_is_of_the_gate(history: History) -> None:
    for _ in range(3):
        history.commit("parse", "suite")
    history.commit("parse")
    assert history.missing == ["suite"]


def test_a_suite_that_some_versions_lack_is_not(history: History) -> None:
    history.measure("parse", "monthly")
    history.commit("parse")
    history.commit("parse", "monthly")
    history.commit("parse")
    assert not history.missing


def test_a_nightly_suite_is_not_of_the_gate(history: History) -> None:
    for _ in range(4):
        history.commit("parse")
        history.measure("nightly", hours=9)
    history.commit("parse")
    assert not history.missing


def test_a_suite_of_another_machine_is_not(history: History) -> None:
    history.measure("parse")
    history.measure("suite", machine="1:" + "f" * 40)
    history.commit("parse")
    assert not history.missing


def test_another_collector_of_a_command_is_missing_and_other_options_are_not(history: History) -> None:
    history.measure("parse", "sort")
    history.measure("parse", collector="sample")
    history.commit("parse")
    history.measure("sort", options="stdin")
    (unpaired,) = missing_measurements.of_version(history.repository, history.versions[-1])
    assert unpaired.config_id == "1:parsesample"


def test_a_version_that_was_measured_in_no_earlier_way_lacks_nothing(history: History) -> None:
    history.measure("parse", "suite")
    history.commit("another")
    assert not history.missing
    history.commit()
    assert not history.missing
