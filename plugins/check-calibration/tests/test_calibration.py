"""What the checks can see, tried on histories whose noise is known."""

from __future__ import annotations

import random

import attrs
import pytest
from perfcore_check_calibration import replay as replays
from perfcore_check_calibration import sensitivity
from perfcore_check_calibration.replay import Trial, replay
from perfcore_check_calibration.sensitivity import Calibrated, Calibration, Sensitivity
from perfcore_check_kit import history, series
from perfcore_check_kit.history import HistoryCheck
from perfcore_testing import profiles
from perfcore_testing.project import Project, empty_project, project

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.model.listener import SilentListener
from perfcore.model.record import replace
from perfcore.profile.table import column, table
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.store import notes
from perfcore.store.lookup import Ref

__all__ = ["empty_project", "project"]
VERSIONS = 18


@pytest.fixture
def repository(project: Project) -> Repository:
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    return Repository.open(project.path, places=places)


def _register(repository: Repository, version: str, profile: Profile) -> None:
    pending = repository.save(replace(profile, origin=version))
    repository.register(Ref(kind="pending", pending=pending), version)


def _measured(
    project: Project, repository: Repository, noise: float, step: float = 1.0, sessions: tuple[float, ...] = ()
) -> None:
    """Versions of which each has ten runs; from the middle on they are slower by a step. Sessions that are off by
    so much take turns, three versions each."""
    draw = random.Random(noise)
    versions = [repository.version(), *(project.commit(f"Version {number}") for number in range(1, VERSIONS))]
    for number, version in enumerate(versions):
        level = 5e6 * (step if number >= VERSIONS // 2 else 1)
        session = number // 3 % len(sessions) if sessions else number
        level *= 1 + sessions[session] if sessions else 1
        amounts = [int(level * draw.lognormvariate(0, noise)) for _ in range(10)]
        columns = [column("run", list(range(10)), role="order"), column("cpu", amounts, unit="ns", role="value")]
        taken = [columns[0], column("session", [f"{session}"] * 10, role="dimension")]
        tables = {"resources": table("resources", columns), "runs": table("runs", taken)}
        made = profiles.profile(tables, created=profiles.CREATED + number)
        _register(repository, version, made)


def _calibrated(repository: Repository) -> Calibrated:
    plugin, driver = repository.plugins.make("check", "changepoint", {})
    check = HistoryCheck.of(repository.plugins.phases(plugin, driver), driver, {})
    found = history.scan_series(
        repository, history.select_series(repository, series.config_histories(repository)), check, {}
    )
    trial = Trial(
        repository=repository, series=tuple(found), history_check=check, method=None, listener=SilentListener()
    )
    (one,) = replay(trial)
    return one


def test_less_noise_lets_smaller_changes_be_seen(project: Project, repository: Repository) -> None:
    """Of different sessions: the first versions know few others to compare with, and show large changes only."""
    _measured(project, repository, noise=0.002)
    quiet = _calibrated(repository)
    assert quiet.single is not None
    assert quiet.history is not None
    assert (quiet.metric, quiet.primary) == ("cpu", True)
    assert quiet.single == Sensitivity(tried=VERSIONS - 1, alarms=0, sees=0.12)
    assert quiet.history.sees is not None
    assert quiet.history.sees <= 0.02
    assert quiet.history.tried == replays.REPLAYS * VERSIONS


def test_more_noise_hides_more(project: Project, repository: Repository) -> None:
    _measured(project, repository, noise=0.1)
    noisy = _calibrated(repository)
    assert noisy.single is not None
    assert noisy.history is not None
    assert noisy.single.sees is None or noisy.single.sees >= 0.2
    assert noisy.history.sees is None or noisy.history.sees >= 0.08


def test_a_real_change_is_no_false_alarm(project: Project, repository: Repository) -> None:
    _measured(project, repository, noise=0.002, step=1.5)
    found = _calibrated(repository)
    assert found.single is not None
    assert (found.single.tried, found.single.alarms) == (VERSIONS - 2, 0)
    assert found.history is not None
    assert found.history.alarms == 0


def test_what_sessions_that_take_turns_differ_by_hides_nothing(project: Project, repository: Repository) -> None:
    _measured(project, repository, noise=0.002, sessions=(0.05, -0.05))
    found = _calibrated(repository)
    assert found.history is not None
    assert found.history.alarms == 0
    assert found.history.sees is not None
    assert found.history.sees <= 0.03


def test_what_was_found_last_is_kept(repository: Repository) -> None:
    result = Calibrated(
        config_id="1:a", label="sort", metric="cpu", primary=True, single=Sensitivity(tried=1, alarms=0, sees=None)
    )
    assert sensitivity.newest(repository.store) == []
    for time, method in ((2, ""), (3, ""), (4, "pair"), (1, ""), (5, "pair")):
        results = (attrs.evolve(result, label=f"sort {time}"),)
        sensitivity.keep(repository.store, Calibration(time=time, results=results, method=method))
    found, other = sensitivity.newest(repository.store)
    assert [each.label for each in other.results] == ["sort 5"], "those of a method replace no others"
    assert [each.label for each in found.results] == ["sort 3"]
    assert sensitivity.decisive(found.results, {"1:a"}) == list(found.results)
    assert sensitivity.decisive(found.results, {"1:b"}) == []


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 10_000, b'{"time":1,"results":[],"format":2}'])
def test_a_note_that_cannot_be_read_is_named(repository: Repository, content: bytes) -> None:
    notes.add(repository.store, sensitivity.SUBJECT, sensitivity.TYPE, content)
    with pytest.raises(FormatError, match="a note on calibration"):
        sensitivity.newest(repository.store)


def test_a_sensitivity_in_words() -> None:
    single, many = Sensitivity(tried=40, alarms=1, sees=0.05), Sensitivity(tried=1000, alarms=1, sees=None)
    result = Calibrated(config_id="", label="sort \x1b[31m", metric="cpu", primary=True, single=single, history=many)
    assert sensitivity.summary(result) == (
        "cpu of sort \\x1b[31m: one version shows changes from 5 % (1 false alarm in 40 tries), "
        "a history shows no change, however large (1.0 false alarms in 1,000)"
    )
