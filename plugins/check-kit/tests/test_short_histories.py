"""Histories of few versions: the same changes everywhere, and none that was taken back fails a build."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from perfcore_check_kit import history, series
from perfcore_check_kit.checks import CheckOptions, check
from perfcore_check_kit.target import Range, Version
from perfcore_command_bisect import auto_range
from perfcore_command_show import metric_history
from perfcore_testing import profiles
from perfcore_testing.project import Project
from perfcore_view_history.query import HistoryQuery
from perfcore_view_history.query import history as history_of

from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import FailRule
from perfcore.errors import NotFoundError
from perfcore.model import Change, Profile
from perfcore.model.listener import SilentListener
from perfcore.model.record import replace
from perfcore.profile.table import column, table
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.store.lookup import Ref

RUNS = 8


@pytest.fixture
def repository(project: Project) -> Repository:
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    return Repository.open(project.path, places=places)


def _profile(number: int, cpu: float, wall: float, noise: float = 0.003) -> Profile:
    """Eight runs that were interleaved with those of the other versions."""
    draw, runs = random.Random(number), list(range(RUNS))
    amounts = {
        name: [int(level * draw.gauss(1, noise)) for _ in runs] for name, level in (("cpu", cpu), ("wall", wall))
    }
    columns = [column(name, values, unit="ns", role="value") for name, values in amounts.items()]
    resources = table("resources", [column("run", runs, role="order"), *columns])
    known = [
        column("run", runs, role="order"),
        column("session", ["one"] * RUNS, dtype="str"),
        column("block", runs),
        column("warmup", [False] * RUNS),
    ]
    made = profiles.profile({"resources": resources}, created=profiles.CREATED + number)
    return made.replace_tables(runs=table("runs", known))


def _measured(
    project: Project, repository: Repository, levels: Sequence[float | None], noise: float = 0.003
) -> list[str]:
    """Versions that took so many ms; those of None were not measured. Wall time takes a fifth more."""
    versions = [repository.version(), *(project.commit(f"Version {number}") for number in range(1, len(levels)))]
    for number, (version, level) in enumerate(zip(versions, levels, strict=True)):
        if level is not None:
            made = replace(_profile(number, level * 1e6, level * 1.2e6, noise), origin=version)
            repository.register(Ref(kind="pending", pending=repository.save(made)), version)
    return versions


def _register(repository: Repository, version: str, number: int, level: float, machine: str) -> None:
    made = replace(_profile(number, level * 1e6, level * 1.2e6), origin=version, environment_id=machine)
    repository.register(Ref(kind="pending", pending=repository.save(made)), version)


def _checked(repository: Repository) -> CheckResult:
    return check(repository, Range(start="", end=""), CheckOptions())


def _steps(changes: Sequence[Change]) -> list[Change]:
    return [c for c in changes if c.primary and c.kind in ("degradation", "optimization")]


def _known(changes: Sequence[Change]) -> list[tuple[object, ...]]:
    return [(c.id, c.kind, c.ratio, c.low, c.high, c.earliest, c.latest, c.undone) for c in changes]


def test_a_regression_that_a_later_version_took_back_fails_no_build(project: Project, repository: Repository) -> None:
    versions = _measured(project, repository, [10, 13, 13, 10])
    result = _checked(repository)
    slower, faster = _steps(result.changes)
    assert (slower.kind, slower.undone, faster.undone) == ("degradation", versions[3], "")
    assert f"undone in {versions[3][:10]}" in slower.evidence
    assert result.exit_code == 0
    assert "0 regressions, 1 improvement, 1 unchanged, 1 undone" in result.conclusion


@pytest.mark.parametrize("levels", [[10, 13], [10, 13, 11.8], [10, 13, 8], [13, 10, 13]])
def test_a_regression_that_stands_fails_the_build(
    project: Project, repository: Repository, levels: list[float]
) -> None:
    _measured(project, repository, levels)
    assert _checked(repository).exit_code == 1


@pytest.mark.parametrize(
    "levels", [[10, 13], [10, 10, 13, 10], [13, 10, 10], [10, None, 13, 13], [10, 11, 13, 10], [10, 10, 10]]
)
def test_all_views_of_a_short_history_have_the_changes_that_a_check_reports(
    project: Project, repository: Repository, levels: list[float | None]
) -> None:
    _measured(project, repository, levels)
    reported = _checked(repository).changes
    for _ in range(2):  # the second time from the read model
        (drawn,) = history_of(repository, HistoryQuery()).series
        assert _known(drawn.changes) == _known(_steps(reported))
    (wall,) = history_of(repository, HistoryQuery(subject="wall")).series
    assert [c.id for c in wall.changes] == [
        c.id for c in reported if c.metric == "wall" and c.kind in ("degradation", "optimization")
    ]


def test_a_change_names_the_unmeasured_versions_that_may_have_made_it(project: Project, repository: Repository) -> None:
    versions = _measured(project, repository, [10, None, None, 13])
    (slower,) = _steps(_checked(repository).changes)
    assert (slower.earliest, slower.latest) == (versions[1], versions[3])
    assert f"came between {versions[1][:10]} and {versions[3][:10]}" in slower.evidence


def test_all_steps_that_the_level_passes_on_its_way_back_are_undone(project: Project, repository: Repository) -> None:
    versions = _measured(project, repository, [10, 12, 15, 10])
    assert [change.undone for change in _steps(_checked(repository).changes)] == [versions[3], versions[3], ""]


def test_a_new_profile_changes_what_the_read_model_kept(project: Project, repository: Repository) -> None:
    versions = _measured(project, repository, [10, 13])
    assert [c.undone for c in history_of(repository, HistoryQuery()).series[0].changes] == [""]
    version = project.commit("Undo it")
    made = replace(_profile(7, 10e6, 12e6), origin=version)
    repository.register(Ref(kind="pending", pending=repository.save(made)), version)
    (drawn,) = history_of(repository, HistoryQuery()).series
    assert [(c.target, c.undone) for c in drawn.changes] == [(versions[1][:10], version), (version[:10], "")]


def test_a_bisection_takes_its_ends_from_the_regression_that_a_check_reports(
    project: Project, repository: Repository
) -> None:
    versions = _measured(project, repository, [10, None, 13, 13])
    ends = _ends(repository)
    assert ends is not None
    assert (ends.good, ends.bad, ends.source) == (versions[0], versions[2], "degradation")


def test_a_bisection_takes_no_ends_from_a_regression_that_was_taken_back(
    project: Project, repository: Repository
) -> None:
    _measured(project, repository, [10, 13, 10])
    assert _ends(repository) is None


def _ends(repository: Repository) -> auto_range.HistoryEnds | None:
    every = history.select_series(repository, series.config_histories(repository))
    primary = [one for one in every if one.primary]
    return auto_range.of_history(repository, metric_history.scan(repository, primary, every, SilentListener()))


def test_only_what_is_short_is_compared_version_by_version(project: Project, repository: Repository) -> None:
    _measured(project, repository, [10, 10, 10, 10, 10, 13, 13, 13, 13])
    (drawn,) = history_of(repository, HistoryQuery()).series
    reported = [change for change in _checked(repository).changes if change.primary]
    assert len(drawn.points) > history.SHORT
    assert [change.id for change in drawn.changes] == [change.id for change in reported]


def test_a_check_of_the_first_version_says_why_it_compared_nothing(project: Project, repository: Repository) -> None:
    versions = _measured(project, repository, [None, 10])
    result = _checked(repository)
    assert [(missing.version, missing.reason) for missing in result.unpaired] == [
        (versions[1], "no other of these versions was measured in this configuration")
    ]
    assert result.exit_code == 9


def test_a_short_history_says_where_another_machine_measures(project: Project, repository: Repository) -> None:
    first, second = repository.version(), project.commit("Version 1")
    _register(repository, first, 0, 10, "old")
    _register(repository, second, 1, 13, "new")
    (drawn,) = history_of(repository, HistoryQuery()).series
    assert [(c.kind, c.target, c.environments) for c in drawn.changes] == [("machine", second[:10], ("old", "new"))]
    assert [(missing.version, missing.reason) for missing in _checked(repository).unpaired] == [
        (second, f"{first[:10]} was measured on another machine")
    ]


@pytest.mark.parametrize("bridge", [0, 1])
@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")])
def test_a_version_that_two_machines_measured_goes_on_with_both(
    project: Project, repository: Repository, bridge: int, order: tuple[str, str]
) -> None:
    versions = [repository.version(), project.commit("Version 1"), project.commit("Version 2")]
    for number in range(bridge):
        _register(repository, versions[number], number, 10, "old")
    for machine in order:
        _register(repository, versions[bridge], 10, 10 if machine == "old" else 20, machine)
    _register(repository, versions[2], 2, 26, "new")
    result = _checked(repository)
    assert result.unpaired == ()
    (slower,) = _steps(result.changes)
    assert (slower.baseline, slower.target, slower.kind) == (versions[bridge][:10], versions[2][:10], "degradation")


def test_each_machine_that_measured_the_same_two_versions_is_named(project: Project, repository: Repository) -> None:
    """They may disagree, and are one question with one id."""
    versions = [repository.version(), project.commit("Version 1"), project.commit("Version 2")]
    for number, version in enumerate(versions[:2]):
        _register(repository, version, number, 10 + 3 * number, "old")
        _register(repository, version, 10 + number, 20, "new")
    _register(repository, versions[2], 2, 13, "old")
    whole = check(repository, Range(start="", end=""), CheckOptions()).changes
    of_version = check(repository, Version(versions[1]), CheckOptions()).changes
    for changes in (whole, of_version):
        about = [change for change in changes if change.target == versions[1][:10] and change.metric == "cpu"]
        assert [(change.kind, change.reason) for change in about] == [("degradation", "on old"), ("same", "on new")]
        named = {change.environments: change.reason for change in changes if change.target == versions[1][:10]}
        assert named == {("old",): "on old", ("new",): "on new"}, "of the other metric, too"
    (alone,) = (change for change in whole if change.target == versions[2][:10] and change.metric == "cpu")
    assert alone.reason == ""
    (drawn, *_) = history_of(repository, HistoryQuery()).series
    assert [change.reason for change in drawn.changes if change.kind == "degradation"] == ["on old"]


@pytest.mark.parametrize("count", [3, 12])
def test_the_first_version_on_a_new_machine_is_not_compared(
    project: Project, repository: Repository, count: int
) -> None:
    versions = [repository.version(), *(project.commit(f"Version {number}") for number in range(1, count))]
    for number, version in enumerate(versions):
        _register(repository, version, number, 10, "new" if number == count - 1 else "old")
    rules = (FailRule("not-compared"),)
    result = check(repository, Range(start="", end=""), CheckOptions(rules=rules))
    assert [(missing.version, missing.reason) for missing in result.unpaired] == [
        (versions[-1], f"{versions[-2][:10]} was measured on another machine")
    ]
    assert result.exit_code == 9
    version = project.commit("The next one")
    _register(repository, version, count, 10, "new")
    assert check(repository, Range(start=versions[-1], end=version), CheckOptions(rules=rules)).exit_code == 0


def test_the_hint_of_an_unmeasured_version_measures_that_one(project: Project, repository: Repository) -> None:
    versions = _measured(project, repository, [None, None, 10, None, None])
    hints = {}
    for number in (1, 3, 4):
        with pytest.raises(NotFoundError, match="has no profiles") as told:
            check(repository, Version(versions[number]), CheckOptions())
        hints[number] = told.value.hint
    assert hints[1] == f"measure and register it: perf collect time --version {versions[1][:10]} --add -- COMMAND"
    assert hints[3] == f"measure it with its baseline: perf check {versions[3][:10]} --collect"
    assert hints[4] == "measure it with its baseline: perf check --collect"
    repository.save(replace(_profile(9, 10e6, 12e6), origin=versions[4]))
    with pytest.raises(NotFoundError, match="has no profiles") as told:
        check(repository, Version(versions[4]), CheckOptions())
    assert told.value.hint == "its profiles are still pending: perf status lists them, perf add registers them"


@pytest.mark.parametrize("damaged", [0, 1, 2, 3])
def test_a_damaged_profile_is_left_out_of_a_short_history(
    project: Project, repository: Repository, damaged: int
) -> None:
    versions = _measured(project, repository, [10, 10, 13, 13])
    id = repository.entries(versions[damaged])[0].profile
    (project.path / ".perf/objects" / id[:2] / id[2:]).unlink()
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    again = Repository.open(project.path, places=places)
    (slower,) = _steps(_checked(again).changes)
    readable = [version[:10] for number, version in enumerate(versions) if number != damaged]
    at = 2 if damaged != 2 else 3
    assert (slower.target, slower.baseline) == (versions[at][:10], readable[readable.index(versions[at][:10]) - 1])
    assert [error.message for error in again.left_out]
    (drawn,) = history_of(again, HistoryQuery()).series
    assert [change.target for change in drawn.changes] == [slower.target]


def test_without_the_check_of_two_versions_a_short_history_is_drawn_without_marks(
    project: Project, repository: Repository
) -> None:
    _measured(project, repository, [10, 13])
    with_check = history_of(repository, HistoryQuery()).series[0]
    project.home.mkdir(exist_ok=True)
    (project.home / "config.yml").write_text("check: {name: absent}\n")
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    without = history_of(Repository.open(project.path, places=places), HistoryQuery()).series[0]
    assert len(with_check.changes) == 1
    assert (without.points, without.changes) == (with_check.points, ())
