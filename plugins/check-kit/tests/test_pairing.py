"""What is compared with what, in real repositories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from perfcore_check_kit import pairing, thresholds
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.errors import UsageError
from perfcore.model import Pairing, Profile, Sample, Unpaired
from perfcore.model.record import replace
from perfcore.profile.table import column, table
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.store.lookup import Ref


@pytest.fixture
def repository(project: Project) -> Repository:
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    return Repository.open(project.path, places=places)


def _register(
    repository: Repository, version: str, wall: int = 1, profile: Profile | None = None, **changes: Any
) -> None:
    made = replace(profile or profiles.timed(wall=wall * 1000), origin=version, **changes)
    repository.register(Ref(kind="pending", pending=repository.save(made)), version)


def _pairs(repository: Repository, version: str) -> list[tuple[str | None, str | None]]:
    found = pairing.of_version(repository, version)
    return [(pair.baseline.version, pair.target.version) for pair in found if isinstance(pair, Pairing)]


def test_each_configuration_finds_its_own_nearest_ancestor(project: Project, repository: Repository) -> None:
    first = repository.version()
    _register(repository, first, config_id="1:a")
    second = project.commit("Second")
    _register(repository, second, config_id="1:b")
    third = project.commit("Third")
    _register(repository, third, config_id="1:a")
    _register(repository, third, config_id="1:b")
    assert sorted(_pairs(repository, third)) == sorted([(first, third), (second, third)])


def test_all_profiles_of_one_configuration_are_one_sample(project: Project, repository: Repository) -> None:
    first = repository.version()
    for number in range(2):
        _register(repository, first, created=profiles.CREATED + number)
    second = project.commit("Second")
    for number in range(3):
        _register(repository, second, created=profiles.CREATED + number)
    (pair,) = pairing.of_version(repository, second)
    assert isinstance(pair, Pairing)
    assert (len(pair.baseline.profiles), len(pair.target.profiles)) == (2, 3)


def test_a_profile_that_is_registered_under_two_names_counts_once(project: Project, repository: Repository) -> None:
    first = repository.version()
    _register(repository, first)
    second = project.commit("Second")
    again = [repository.save(profiles.timed(wall=1000)) for _ in range(2)]
    for pending in again:
        repository.register(Ref(kind="pending", pending=pending), second)
    assert len({entry.name for entry in repository.entries(second)}) == 2
    (pair,) = pairing.of_version(repository, second)
    assert isinstance(pair, Pairing)
    assert len(pair.target.profiles) == 1


def test_branches_are_ancestors_only_of_what_was_merged(project: Project, repository: Repository) -> None:
    first = repository.version()
    _register(repository, first)
    project.git("checkout", "--quiet", "-b", "side")
    side = project.commit("Side")
    _register(repository, side)
    project.git("checkout", "--quiet", "main")
    main = project.commit("Main")
    _register(repository, main)
    assert _pairs(repository, main) == [(first, main)]


def _merge(project: Project) -> tuple[str, str, str]:
    """(main before, side, the merge of side into main)."""
    project.git("checkout", "--quiet", "-b", "side")
    side = project.commit("Side", side="side")
    project.git("checkout", "--quiet", "main")
    main = project.commit("Main", main="main")
    project.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    return main, side, project.git("rev-parse", "HEAD").out.strip()


def test_a_merge_is_compared_along_each_parent_and_the_first_decides(project: Project, repository: Repository) -> None:
    main, side, merged = _merge(project)
    for version in (main, side, merged):
        _register(repository, version)
    found = [pair for pair in pairing.of_version(repository, merged) if isinstance(pair, Pairing)]
    assert [(pair.baseline.version, pair.aside) for pair in found] == [(main, False), (side, True)]


def test_a_merge_has_one_baseline_where_all_parents_lead_to_it(project: Project, repository: Repository) -> None:
    first = repository.version()
    *_, merged = _merge(project)
    for version in (first, merged):
        _register(repository, version)
    found = [pair for pair in pairing.of_version(repository, merged) if isinstance(pair, Pairing)]
    assert [(pair.baseline.version, pair.aside) for pair in found] == [(first, False)]


def test_the_merged_line_decides_where_the_main_one_was_never_measured(
    project: Project, repository: Repository
) -> None:
    _, side, merged = _merge(project)
    for version in (side, merged):
        _register(repository, version)
    found = [pair for pair in pairing.of_version(repository, merged) if isinstance(pair, Pairing)]
    assert [(pair.baseline.version, pair.aside) for pair in found] == [(side, False)]


def test_a_profile_of_no_configuration_is_told(project: Project, repository: Repository) -> None:
    _register(repository, repository.version(), config_id="")
    second = project.commit("Second")
    _register(repository, second, config_id="")
    (unknown,) = pairing.of_version(repository, second)
    assert isinstance(unknown, Unpaired)
    assert "config_id" in unknown.reason


def test_what_cannot_be_paired_says_why(project: Project, repository: Repository) -> None:
    first = repository.version()
    _register(repository, first, environment_id="1:here")
    (alone,) = pairing.of_version(repository, first)
    assert isinstance(alone, Unpaired)
    assert alone.reason == "no ancestor was measured in this configuration"
    second = project.commit("Second")
    _register(repository, second, environment_id="1:there")
    (elsewhere,) = pairing.of_version(repository, second)
    assert isinstance(elsewhere, Unpaired)
    assert elsewhere.reason == f"{first[:10]} was measured on another machine"


def test_a_history_is_compared_step_by_step_over_gaps(project: Project, repository: Repository) -> None:
    versions = [repository.version(), *(project.commit(name) for name in ("b", "c", "d"))]
    for version in (versions[0], versions[1], versions[3]):
        _register(repository, version)
    history = [(version, repository.entries(version)) for version in versions]
    pairs = [*pairing.of_history(repository, history, versions)]
    assert _versions(pairs) == [(versions[0], versions[1]), (versions[1], versions[3])]
    pairs = [*pairing.of_history(repository, history, versions[3:])]
    assert _versions(pairs) == [(versions[1], versions[3])]


def _versions(pairs: Sequence[Pairing | Unpaired]) -> list[tuple[str | None, str | None]]:
    return [(pair.baseline.version, pair.target.version) for pair in pairs if isinstance(pair, Pairing)]


def test_a_version_measured_on_another_machine_is_told_and_later_ones_are_compared(
    project: Project, repository: Repository
) -> None:
    versions = [repository.version(), *(project.commit(name) for name in ("b", "c", "d"))]
    for version, machine in zip(versions, ("old", "old", "new", "new"), strict=True):
        _register(repository, version, environment_id=f"1:{machine}")
    history = [(version, repository.entries(version)) for version in versions]
    first, moved, last = pairing.of_history(repository, history, versions)
    assert _versions([first, last]) == [(versions[0], versions[1]), (versions[2], versions[3])]
    assert isinstance(moved, Unpaired)
    assert moved.version == versions[2]
    assert moved.reason == f"{versions[1][:10]} was measured on another machine"


def test_a_dirty_profile_is_compared_with_its_version_or_the_nearest(project: Project, repository: Repository) -> None:
    first = repository.version()
    dirty = replace(profiles.timed(), origin=first, dirty=True)
    assert isinstance(pairing.of_dirty(repository, dirty), Unpaired)
    _register(repository, first)
    second = project.commit("Second")
    found = pairing.of_dirty(repository, replace(dirty, origin=second))
    assert isinstance(found, Pairing)
    assert (found.baseline.version, found.target.dirty) == (first, True)
    _register(repository, second)
    own = pairing.of_dirty(repository, replace(dirty, origin=second))
    assert isinstance(own, Pairing)
    assert own.baseline.version == second


def test_runs_that_took_turns_are_known_by_session_and_block(repository: Repository) -> None:
    def sample(session: str, warmup: bool = False) -> Sample:
        runs = table(
            "runs",
            [
                column("session", [session, session]),
                column("block", [0, 1]),
                column("warmup", [warmup, warmup]),
            ],
        )
        return Sample(version=None, profiles=(profiles.timed().replace_tables(runs=runs),))

    assert pairing.of_profiles(None, sample("a"), sample("a")).interleaved
    assert not pairing.of_profiles(None, sample("a"), sample("b")).interleaved
    assert not pairing.of_profiles(None, sample("a", warmup=True), sample("a")).interleaved


def test_other_types_are_refused() -> None:
    one, other = (Sample(version=None, profiles=(made,)) for made in (profiles.timed(), profiles.traced()))
    with pytest.raises(UsageError, match="cannot be compared"):
        pairing.of_profiles(None, one, other)


def test_thresholds_come_from_the_configuration(project: Project) -> None:
    project.write(".perfcore.yml", "check: {threshold: 0.1, thresholds: {wall: 0.2}}\n")
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    assert thresholds.thresholds_of(Repository.open(project.path, places=places)) == {"": 0.1, "wall": 0.2}
