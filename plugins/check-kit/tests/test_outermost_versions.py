"""The newest and the oldest version of a long history, which a scan cannot tell from outliers."""

from __future__ import annotations

import pytest
from perfcore_testing.project import Project
from perfcore_view_history.query import HistoryQuery
from perfcore_view_history.query import history as history_of

from perfcore.model.record import replace
from perfcore.repository import Repository
from perfcore.store.lookup import Ref

from .test_short_histories import _checked, _ends, _known, _measured, _profile, _register, _steps, repository

__all__ = ["repository"]
LEVEL = [10.0, 10.01, 9.99, 10.0, 10.02, 9.98, 10.0, 10.01, 9.99, 10.0]


def test_a_step_of_the_newest_version_is_told_everywhere(project: Project, repository: Repository) -> None:
    versions = _measured(project, repository, [*LEVEL, 13])
    result = _checked(repository)
    (step,) = _steps(result.changes)
    assert (step.kind, step.latest, result.exit_code) == ("degradation", versions[-1], 1)
    (drawn,) = history_of(repository, HistoryQuery()).series
    assert _known(drawn.changes) == _known([step])
    ends = _ends(repository)
    assert ends is not None
    assert (ends.good, ends.bad) == (versions[-2], versions[-1])


def test_a_step_of_the_newest_version_is_told_on_a_level_that_is_new(project: Project, repository: Repository) -> None:
    """What varies by how much is known from the level before it."""
    versions = _measured(project, repository, [*LEVEL, 5, 5.01, 4.99, 6])
    result = _checked(repository)
    assert [(step.kind, step.latest) for step in _steps(result.changes)] == [
        ("optimization", versions[10]),
        ("degradation", versions[-1]),
    ]


def test_a_version_is_no_step_on_a_new_level_of_a_history_that_varies_as_much(
    project: Project, repository: Repository
) -> None:
    """The three versions of the new level happen to be alike."""
    _measured(project, repository, [*[20, 23] * 6, 10, 10.01, 9.99, 11.2])
    assert [step.kind for step in _steps(_checked(repository).changes)] == ["optimization"]


def test_a_step_is_between_the_same_versions_once_the_level_stays(project: Project, repository: Repository) -> None:
    _measured(project, repository, [*LEVEL, 13])
    (first,) = _steps(_checked(repository).changes)
    version = project.commit("Another one")
    made = replace(_profile(20, 13e6, 15.6e6), origin=version)
    repository.register(Ref(kind="pending", pending=repository.save(made)), version)
    (second,) = _steps(_checked(repository).changes)
    assert (second.baseline, second.target) == (first.baseline, first.target)


def test_a_version_that_was_alone_is_no_step(project: Project, repository: Repository) -> None:
    _measured(project, repository, [*LEVEL, 13, 10])
    assert not _steps(_checked(repository).changes)


def test_a_version_that_is_as_far_as_others_of_its_level_is_no_step(project: Project, repository: Repository) -> None:
    """It differs from the one before, as every second version does."""
    _measured(project, repository, [10, 11.5] * 6)
    assert not _steps(_checked(repository).changes)


def test_each_machine_that_measured_the_newest_version_tells_its_step(project: Project, repository: Repository) -> None:
    """Both have a level of their own, and the second one's step is as far from the level of the first as that is."""
    versions = _measured(project, repository, [None] * 12)
    for number, version in enumerate(versions):
        _register(repository, version, number, 10 + 3 * (number == 11), "a" * 40)
        _register(repository, version, number, 20 + 6 * (number == 11), "b" * 40)
    steps = _steps(_checked(repository).changes)
    assert [(step.kind, step.latest) for step in steps] == [("degradation", versions[-1])] * 2


def test_a_step_after_the_oldest_version_does_not_vanish_with_the_eighth(
    project: Project, repository: Repository
) -> None:
    versions = _measured(project, repository, [8, *LEVEL[:6]])
    (before,) = _steps(_checked(repository).changes)
    version = project.commit("The eighth")
    made = replace(_profile(20, 10e6, 12e6), origin=version)
    repository.register(Ref(kind="pending", pending=repository.save(made)), version)
    result = _checked(repository)
    (step,) = _steps(result.changes)
    assert (step.id, step.latest, result.exit_code) == (before.id, versions[1], 1)


@pytest.mark.parametrize("levels", [[3, 5, 5, 5, 5, 5, 7, 7], [3, 3, 5, 5, 5, 5, 5, 7]])
def test_few_versions_of_one_amount_tell_a_step_beside_them(
    project: Project, repository: Repository, levels: list[float]
) -> None:
    """After the oldest version, and to the newest one."""
    versions = _measured(project, repository, levels, noise=0)
    steps = [versions[number] for number in range(1, 8) if levels[number] != levels[number - 1]]
    assert [step.latest for step in _steps(_checked(repository).changes)] == steps
