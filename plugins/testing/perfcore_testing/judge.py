"""The contract of checks that judge a version as a whole.

    class TestContract(JudgeContract):
        @pytest.fixture
        def driver(self):
            return Budgets()

A subclass whose driver needs a file of the project overrides `agreement`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perfcore.model.record import replace
from perfcore_testing import profiles
from perfcore_testing.changes import assert_told

if TYPE_CHECKING:
    from perfcore_check_kit.version_history import VersionHistory

    from perfcore.hookspecs import Check
    from perfcore.model import Judgement


class JudgeContract:
    """What every check with `judge` does. Override the fixture `driver`."""

    @pytest.fixture
    def driver(self) -> Check:
        raise NotImplementedError("override this fixture: it gives the driver to test")

    @pytest.fixture
    def agreement(self) -> dict[str, str]:
        """Files at the root of the project by name, such as the agreement that a check reads."""
        return {}

    @pytest.fixture
    def history(self, tmp_path: Path, agreement: dict[str, str]) -> VersionHistory:
        """Two versions of a project, each measured with one command."""
        from perfcore_check_kit.version_history import VersionHistory

        from perfcore.repository import Repository
        from perfcore.repository.repository import UserPlaces
        from perfcore.store.lookup import Ref
        from perfcore_testing.project import Project

        root = tmp_path / "judged"
        root.mkdir()
        project = Project(root, tmp_path / "home of the judged")
        project.git("init", "--quiet", "--initial-branch=main")
        project.commit("First", README="hello\n")
        project.perf("init")
        places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
        repository = Repository.open(root, places=places)
        for run_number in range(2):
            version = project.commit(f"Version {run_number}") if run_number else repository.version()
            measured = replace(profiles.timed(), origin=version, created=profiles.CREATED + run_number)
            repository.register(Ref(kind="pending", pending=repository.save(measured)), version)
        for name, text in agreement.items():
            project.write(name, text)
        return VersionHistory(repository=repository)

    @pytest.fixture
    def judge(self, driver: Any, history: VersionHistory) -> Judgement:
        judgement: Judgement = driver.judge(history, history.repository.version())
        return judgement

    def test_every_verdict_is_sound(self, judge: Judgement, history: VersionHistory) -> None:
        """It has an id of its own, names the judged version, and says which sentence it is on."""
        for verdict in judge.verdicts:
            assert_told(verdict)
            assert verdict.contract
            assert verdict.target == history.repository.version()[:10]
        assert len({verdict.id for verdict in judge.verdicts}) == len(judge.verdicts)

    def test_verdicts_have_a_source(self, judge: Judgement) -> None:
        """Results are stored under it."""
        assert judge.source

    def test_only_changes_of_the_version_are_allowed(self, judge: Judgement, history: VersionHistory) -> None:
        assert judge.allowed <= {change.id for change in history.changes}

    def test_judging_again_says_the_same(self, driver: Any, judge: Judgement, history: VersionHistory) -> None:
        assert driver.judge(history, history.repository.version()) == judge

    def test_judging_stores_nothing(self, driver: Any, history: VersionHistory) -> None:
        """Only the core stores results."""
        before = _files(history)
        driver.judge(history, history.repository.version())
        assert _files(history) == before


def _files(history: VersionHistory) -> dict[str, bytes]:
    """Everything below `.perf` without the caches, which any reader may write."""
    folder = history.repository.perf
    paths = (path for path in folder.rglob("*") if path.is_file() and "cache" not in path.relative_to(folder).parts)
    return {str(path): path.read_bytes() for path in paths}
