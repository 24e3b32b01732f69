"""What a slower machine explains, of two sets of sessions and in a history."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from perfcore_check_kit import history, machine_speed, series, slow_sessions
from perfcore_check_kit.history import HistoryCheck, ScannedSeries
from perfcore_check_kit.machine_speed import SLOW, Speed
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.model import Change, Profile
from perfcore.model.record import replace
from perfcore.profile.table import column, table
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.store.lookup import Ref

FAST, WORK = 30_000, "cpython-311 on x86_64"
VERSIONS, STEP = 16, 8
AGAIN = (0.99, 1.0, 1.01, 0.995, 1.005, 1.0)


def _profile(number: int, level: float, slower: float | None, metric: str = "cpu", unit: str = "ns") -> Profile:
    """Of six runs around a level, in a session that was slower by this factor; None tells nothing of it."""
    amounts = [int(level * factor * (1 + 0.002 * (number % 3))) for factor in AGAIN]
    rows = [column("run", list(range(6)), role="order"), column(metric, amounts, unit=unit, role="value")]
    runs = [column("run", list(range(6)), role="order"), column("session", [f"s{number}"] * 6, dtype="str")]
    made = profiles.profile({"resources": table("resources", rows)}, created=profiles.CREATED + number)
    made = made.replace_tables(runs=table("runs", runs))
    return made if slower is None else _beside(made, {"reference": round(FAST * slower)})


def _beside(profile: Profile, facts: dict[str, Any]) -> Profile:
    sampling = {"reference": FAST, "reference_fast": FAST, "reference_work": WORK} | facts
    return replace(profile, collector=replace(profile.collector, sampling=sampling))


def _registered(project: Project, made: list[Profile]) -> tuple[Repository, list[str]]:
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    repository = Repository.open(project.path, places=places)
    versions = [repository.version(), *(project.commit(f"Version {number}") for number in range(1, len(made)))]
    for version, profile in zip(versions, made, strict=True):
        kept = repository.save(replace(profile, origin=version))
        repository.register(Ref(kind="pending", pending=kept), version)
    return repository, versions


def _scanned(project: Project, made: list[Profile]) -> ScannedSeries:
    repository, _ = _registered(project, made)
    plugin, driver = repository.plugins.make("check", "changepoint", {})
    check = HistoryCheck.of(repository.plugins.phases(plugin, driver), driver, {})
    (scanned,) = history.scan_series(
        repository, history.select_series(repository, series.config_histories(repository)), check, {}
    )
    return scanned


def _history(
    project: Project, size: float, slower: float | None, back: int = VERSIONS, metric: str = "cpu", unit: str = "ns"
) -> list[Change]:
    """The changes of a history that steps by a factor, on a machine that is slower by another from there on, until it
    is as fast as before."""
    made = [
        _profile(
            number,
            20e6 * (size if number >= STEP else 1.0),
            slower and (slower if STEP <= number < back else 1.01),
            metric,
            unit,
        )
        for number in range(VERSIONS)
    ]
    return list(_scanned(project, made).changes)


@pytest.mark.parametrize(
    ("shared", "slow", "kind"),
    [(True, STEP + 1, "degradation"), (False, STEP + 1, "cannot tell"), (True, STEP, "cannot tell")],
)
def test_what_one_session_shows_of_both_versions_is_not_put_down_to_a_later_slow_one(
    project: Project, shared: bool, slow: int, kind: str
) -> None:
    """The versions from `slow` on were measured while the machine was slow, the first of them perhaps in a block of the
    session before."""
    made = [
        _profile(number, 20e6 * (1.4 if number >= STEP else 1.0), 1.4 if number >= slow else 1.01)
        for number in range(VERSIONS)
    ]
    if shared:
        runs = made[STEP - 1].table("runs")
        assert runs is not None
        made[STEP] = made[STEP].replace_tables(runs=runs)
    (change,) = _scanned(project, made).changes
    assert change.kind == kind


@pytest.mark.parametrize("size", [1.4, 1 / 1.4])
def test_a_step_of_a_machine_that_changed_its_speed_is_not_told_as_one_of_the_code(
    project: Project, size: float
) -> None:
    made = [
        _profile(number, 20e6 * (size if number >= STEP else 1.0), 1.4 if (number >= STEP) == (size > 1) else 1.0)
        for number in range(VERSIONS)
    ]
    (change,) = _scanned(project, made).changes
    assert (change.kind, change.reason) == ("cannot tell", machine_speed.BUSY)
    sides = "from then on than before" if size > 1 else "before than from then on"
    assert change.evidence.startswith(f"the machine took 40 % longer for the same work {sides}, so this may be the")
    assert f"to decide: perf compare {change.baseline} {change.target} -- COMMAND" in change.evidence


@pytest.mark.parametrize(
    ("size", "slower", "unit"),
    [
        (1.4, None, "ns"),  # nobody looked
        (1.4, 1.02, "ns"),  # as fast as before
        (1 / 1.4, 1.4, "ns"),  # faster, on a slower machine
        (2.5, 1.4, "ns"),  # more than the machine does
        (1.4, 1.4, "B"),  # no time
        (-1.4, 1.4, "ns"),  # no ratio
    ],
)
def test_what_the_machine_does_not_explain_is_told(
    project: Project, size: float, slower: float | None, unit: str
) -> None:
    (change,) = _history(project, size, slower, metric="cpu" if unit == "ns" else "size", unit=unit)
    assert change.kind == ("degradation" if size > 1 else "optimization")


def test_a_change_is_told_when_the_machine_is_as_fast_as_before_again(project: Project) -> None:
    (change,) = _history(project, 1.4, 1.4, back=STEP + 3)
    assert change.kind == "degradation"


def test_slowness_is_measured_against_the_fastest_of_all_sessions() -> None:
    fast, slow = Speed(FAST, FAST, WORK), Speed(45_000, 40_000, WORK)
    assert machine_speed.slowness([slow], [slow, fast]) == pytest.approx(0.4055, abs=1e-4)
    assert machine_speed.slowness([slow, fast], [slow, fast]) == pytest.approx(0.2027, abs=1e-4)
    assert 0 < machine_speed.slowness([slow], [slow]) < 0.12
    assert machine_speed.slowness([fast], [fast, slow]) == machine_speed.slowness([], [slow]) == 0.0
    # What another interpreter or processor takes for it says nothing.
    assert machine_speed.slowness([slow], [slow, Speed(FAST, FAST, "cpython-314 on aarch64")]) < 2 * SLOW
    # Of many, one that was lucky is not what the machine can do.
    assert machine_speed.slowness([fast], [Speed(20_000, 20_000, WORK), *[fast] * 7]) == 0.0


def test_versions_beside_which_the_machine_was_slow_tell_nothing_of_sessions(project: Project) -> None:
    made = [_profile(number, 20e6, 1.4 if number in (2, 5) else 1.03) for number in range(8)]
    repository, versions = _registered(project, made)
    (line,) = series.config_histories(repository)
    left = [measured.version.id for measured in slow_sessions.calm(repository, line).versions]
    assert left == [version for number, version in enumerate(versions) if number not in (2, 5)]


def test_what_a_profile_says_of_the_speed_is_read_once(project: Project) -> None:
    repository, _ = _registered(project, [_profile(number, 20e6, 1.4 if number == 2 else 1.03) for number in range(8)])
    (line,) = series.config_histories(repository)
    calm = slow_sessions.calm(repository, line)
    ids = {id for measured in line.versions for id in measured.profiles}
    assert repository.store.read_model.many("speeds", ids).keys() == ids
    repository.store.read_model.put("speeds", dict.fromkeys(list(ids)[:3], b"\xc1"))  # damaged: read from the profiles
    assert slow_sessions.calm(repository, line) == calm
    for folder in (project.path / ".perf" / "objects").iterdir():
        shutil.rmtree(folder)
    assert slow_sessions.calm(repository, line) == calm


def test_a_history_of_which_nobody_tells_the_speed_is_taken_whole(project: Project) -> None:
    repository, _ = _registered(project, [_profile(number, 20e6, None) for number in range(3)])
    (line,) = series.config_histories(repository)
    assert slow_sessions.calm(repository, line) == line


@pytest.mark.parametrize(
    "facts",
    [
        {"reference": "slow"},
        {"reference": True, "reference_fast": True},
        {"reference": FAST - 1},
        {"reference_fast": 0},
        {"reference_fast": -5, "reference": -4},
        {"reference": 10**400},
        {"reference": float("nan")},
        {"reference_work": None},
        {"reference_work": ["a"]},
    ],
)
def test_facts_that_make_no_sense_are_none(facts: dict[str, Any]) -> None:
    assert machine_speed.of_profiles([_beside(_profile(1, 1e6, None), {})])
    assert machine_speed.of_profiles([_beside(_profile(1, 1e6, None), facts)]) == []


def test_a_check_of_a_history_counts_what_the_machine_may_have_done(project: Project) -> None:
    made = [
        _profile(number, 20e6 * (1.4 if number >= STEP else 1.0), 1.4 if number >= STEP else 1.0)
        for number in range(VERSIONS)
    ]
    _registered(project, made)
    checked = project.perf("check", "all")
    assert checked.out.endswith(f"1 series over {VERSIONS} versions: 1 inconclusive\n")
    assert "the machine was busy" in checked.out
    assert project.perf("check", "all", "--fail-on", "cannot-tell", code=8)
