"""The series of a branch, and what is found in them, in real repositories."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from msgspec.structs import replace
from perfcore_check_kit import findings, history, series
from perfcore_check_kit.history import HistoryCheck, ScannedSeries
from perfcore_command_bisect import auto_range
from perfcore_command_check import check_table
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.model import Profile
from perfcore.plugins.drivers import Phases
from perfcore.profile.table import column, table
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces
from perfcore.store.lookup import Ref

VERSIONS = 24
STEP = 12


@pytest.fixture
def repository(project: Project) -> Repository:
    places = UserPlaces(project.home / "config.yml", project.home / "trusted", project.home / "trees")
    return Repository.open(project.path, places=places)


def _register(repository: Repository, version: str, profile: Profile, **changes: object) -> None:
    made = replace(profile, origin=version, **changes)
    repository.register(Ref(kind="pending", pending=repository.save(made)), version)


def _noisy(number: int, level: float, metric: str = "cpu", unit: str = "ns") -> Profile:
    draw = random.Random(number)
    amounts = [int(level * draw.lognormvariate(0, 0.01)) for _ in range(6)]
    resources = table(
        "resources",
        [column("run", list(range(6)), role="order"), column(metric, amounts, unit=unit, role="value")],
    )
    return profiles.profile({"resources": resources}, created=profiles.CREATED + number)


def _in_session(session: str | None, profile: Profile) -> Profile:
    runs = [column("run", list(range(6)), role="order"), column("session", [session] * 6, dtype="str")]
    return profile.replace_tables(runs=table("runs", runs))


def _versions(project: Project, repository: Repository, count: int = VERSIONS) -> list[str]:
    return [repository.version(), *(project.commit(f"Version {number}") for number in range(1, count))]


def _scan(repository: Repository, found: Sequence[ScannedSeries]) -> list[ScannedSeries]:
    plugin, driver = repository.plugins.make("check", "changepoint", {})
    return history.scan_series(
        repository, found, HistoryCheck.of(repository.plugins.phases(plugin, driver), driver, {}), {}
    )


def test_a_line_has_all_runs_of_every_version_oldest_first(project: Project, repository: Repository) -> None:
    versions = _versions(project, repository, 3)
    for number in (0, 2):
        for again in range(2):
            _register(repository, versions[number], _noisy(10 * number + again, 5e6))
    (line,) = series.config_histories(repository)
    (one,) = series.metrics(repository, line)
    assert one.versions == (versions[0], versions[2])
    assert [len(values) for values in one.values] == [12, 12]
    assert (one.metric, one.unit, one.better, one.label) == ("cpu", "ns", "lower", line.label)


def test_a_series_knows_the_sessions_of_its_runs(project: Project, repository: Repository) -> None:
    versions = _versions(project, repository, 3)
    for number, session in ((0, "a"), (1, "b"), (2, None)):
        _register(repository, versions[number], _in_session(session, _noisy(number, 5e6)))
    (line,) = series.config_histories(repository)
    assert series.metrics(repository, line)[0].sessions == ((("a", 6),), (("b", 6),), (("", 6),))
    _register(repository, versions[1], _in_session("a", _noisy(3, 5e6)))
    (line,) = series.config_histories(repository)
    (one,) = series.metrics(repository, line)
    assert [dict(some) for some in one.sessions] == [{"a": 6}, {"a": 6, "b": 6}, {"": 6}]
    told = [name for name, count in one.sessions[1] for _ in range(count)]
    loaded = [repository.store.load(profile).tables for profile in line.versions[1].profiles]
    true = {amount: tables["runs"]["session"][0] for tables in loaded for amount in tables["resources"]["cpu"]}
    assert told == [true[amount] for amount in one.values[1]]


def test_a_branch_is_its_first_parents(project: Project, repository: Repository) -> None:
    first = repository.version()
    project.git("checkout", "--quiet", "-b", "side")
    side = project.commit("Side", side="side")
    project.git("checkout", "--quiet", "main")
    main = project.commit("Main", main="main")
    project.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    merged = repository.version()
    for number, version in enumerate((first, side, main, merged)):
        _register(repository, version, _noisy(number, 5e6))
    (line,) = series.config_histories(repository)
    assert [place.version.id for place in line.versions] == [first, main, merged]


def test_amounts_of_another_unit_are_left_out(project: Project, repository: Repository) -> None:
    versions = _versions(project, repository, 2)
    _register(repository, versions[0], _noisy(1, 5e3, unit="us"))
    _register(repository, versions[1], _noisy(2, 5e6, unit="ns"))
    (line,) = series.config_histories(repository)
    (one,) = series.metrics(repository, line)
    assert (one.unit, [len(values) for values in one.values]) == ("ns", [0, 6])


def test_a_damaged_profile_is_left_out_with_a_warning(project: Project, repository: Repository) -> None:
    versions = _versions(project, repository, 2)
    for number, version in enumerate(versions):
        _register(repository, version, _noisy(number, 5e6))
    id = repository.entries(versions[0])[0].profile
    path = repository.perf / "objects" / id[:2] / id[2:]
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    warnings: list[str] = []
    repository.plugins.warn = warnings.append
    (line,) = series.config_histories(repository)
    (one,) = series.metrics(repository, line)
    assert [len(values) for values in one.values] == [0, 6]
    assert [id[:10] in text for text in warnings] == [True]


def test_profiles_are_read_once(project: Project, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, version in enumerate(_versions(project, repository, 3)):
        _register(repository, version, _noisy(number, 5e6))
    (line,) = series.config_histories(repository)
    first = series.metrics(repository, line)
    monkeypatch.setattr(repository.store, "load", None)
    assert series.metrics(repository, line) == first


def test_a_change_is_found_and_what_was_found_is_kept(project: Project, repository: Repository) -> None:
    versions = _versions(project, repository)
    for number, version in enumerate(versions):
        _register(repository, version, _noisy(number, 5e6 if number < STEP else 5.4e6))
    found = history.select_series(repository, series.config_histories(repository))
    (one,) = _scan(repository, found)
    (change,) = one.changes
    assert (change.kind, change.target, change.primary) == ("degradation", versions[STEP][:10], True)
    assert change.ratio == pytest.approx(1.08, abs=0.01)
    assert (change.earliest, change.latest) == (versions[STEP], versions[STEP])
    model = repository.store.read_model
    assert model.path is not None
    assert model.path.parent == repository.perf / "cache"
    kept = model.path.read_bytes()
    assert b"scan states" in kept
    assert _scan(repository, found) == [one]
    assert model.path.read_bytes() == kept, "nothing new was learned"
    model.path.write_bytes(b"damaged")
    assert _scan(repository, found) == [one]


def test_series_with_names_that_are_no_unicode_are_scanned_together(project: Project, repository: Repository) -> None:
    for number, version in enumerate(_versions(project, repository)):
        for config in ("1:a", "1:b"):
            _register(repository, version, _noisy(number, 5e6 if number < STEP else 5.4e6), config_id=config)
    found = history.select_series(repository, series.config_histories(repository))
    odd = [replace(each, series=replace(each.series, label="sort \udc80")) for each in found]
    plain = [[change.target for change in each.changes] for each in _scan(repository, found)]
    for _ in range(2):
        assert [[change.target for change in each.changes] for each in _scan(repository, odd)] == plain


@attrs.frozen
class _Counting:
    """The phases of a check that notes how many series it is given together."""

    phases: Phases
    asked: list[int]

    def call(self, phase: str, **arguments: Any) -> Any:
        if phase == "scan_many":
            self.asked.append(len(arguments["series"]))
        return self.phases.call(phase, **arguments)


def test_a_suite_that_nothing_was_added_to_is_not_scanned_again(project: Project, repository: Repository) -> None:
    for number, version in enumerate(_versions(project, repository)):
        for config in ("1:a", "1:b"):
            _register(repository, version, _noisy(number, 5e6 if number < STEP else 5.4e6), config_id=config)
    asked: list[int] = []

    def scanned() -> list[ScannedSeries]:
        check = HistoryCheck.configured(repository, "changepoint")
        assert check is not None
        counting = replace(check, phases=_Counting(check.phases, asked))
        found = history.select_series(repository, series.config_histories(repository))
        return history.scan_series(repository, found, counting, {})

    first = scanned()
    assert asked == [2]
    assert scanned() == first
    assert asked == [2], "the result was kept"
    _register(repository, project.commit("One more"), _noisy(99, 5.4e6), config_id="1:a")
    scanned()
    assert asked == [2, 2]


def test_a_suite_is_scanned_again_where_a_series_no_longer_shares_a_column_of_the_first(
    project: Project, repository: Repository
) -> None:
    for number, version in enumerate(_versions(project, repository)):
        for config in ("1:a", "1:b"):
            _register(repository, version, _in_session(f"s{number}", _noisy(number, 5e6)), config_id=config)
    check = HistoryCheck.configured(repository, "changepoint")
    assert check is not None
    asked: list[int] = []
    counting = replace(check, phases=_Counting(check.phases, asked))
    first, second = history.select_series(repository, series.config_histories(repository))
    assert first.series.sessions == second.series.sessions
    others: list[dict[str, Any]] = [{}, {"sessions": ()}]
    for count, changed in enumerate(others, 1):
        for _ in range(2):
            changed_series = replace(second, series=replace(second.series, **changed))
            history.scan_series(repository, [first, changed_series], counting, {})
            assert len(asked) == count


@pytest.mark.parametrize("configurations", [1, 6], ids=["alone", "with others"])
def test_versions_that_nobody_measured_are_in_the_range_of_a_change(
    project: Project, repository: Repository, configurations: int
) -> None:
    """Of every three versions one was measured; the first configuration is slower from one of the others on."""
    versions = _versions(project, repository, 48)
    for number, version in list(enumerate(versions))[::3]:
        for config in range(configurations):
            level = 5.4e6 if number >= 25 and config == 0 else 5e6
            _register(repository, version, _noisy(100 * number + config, level), config_id=f"1:{config}")
    scanned = _scan(repository, history.select_series(repository, series.config_histories(repository)))
    (change,) = history.changes(scanned)
    assert (change.baseline, change.target) == (versions[24][:10], versions[27][:10])
    assert (change.earliest, change.latest) == (versions[25], versions[27])
    ends = auto_range.of_history(repository, scanned)
    assert ends is not None
    assert (ends.good, ends.bad) == (versions[24], versions[27])


def test_what_all_share_is_the_machine(project: Project, repository: Repository) -> None:
    """Seven configurations are slower from one version on; one of them is slower from another on, too."""
    versions = _versions(project, repository)
    for number, version in enumerate(versions):
        for config in range(7):
            level = 5e6 * (1.2 if number >= STEP else 1) * (1.1 if config == 3 and number >= 6 else 1)
            profile = _noisy(100 * number + config, level)
            header = replace(profile.header, args=str(config))
            _register(repository, version, profile, header=header, config_id=f"1:{config}")
    scanned = _scan(repository, history.select_series(repository, series.config_histories(repository)))
    changes = history.changes(scanned)
    assert [(change.kind, change.target) for change in changes] == [
        ("degradation", versions[6][:10]),
        ("machine", versions[STEP][:10]),
    ]
    assert changes[0].label.endswith("3 'big file.txt'")


@pytest.mark.parametrize("known", [False, True], ids=["unsaid", "another environment"])
def test_a_change_of_the_machine_is_told_once_though_a_command_was_not_measured_with_it(
    project: Project, repository: Repository, known: bool
) -> None:
    versions = _versions(project, repository)
    for number, version in enumerate(versions):
        for config in range(7):
            if config == 6 and number in (STEP, STEP + 1):
                continue
            profile = _noisy(100 * number + config, 5e6 * (1.2 if number >= STEP else 1))
            machine = "1:b" if known and number >= STEP else "1:a"
            _register(repository, version, profile, config_id=f"1:{config}", environment_id=machine)
    scanned = _scan(repository, history.select_series(repository, series.config_histories(repository)))
    (change,) = history.changes(scanned)
    assert (change.kind, change.baseline, change.target) == ("machine", versions[STEP - 1][:10], versions[STEP][:10])
    told = ("7 commands", None, ("1:a", "1:b")) if known else ("7 of 7 commands", 7, ("1:a", "1:a"))
    assert (change.label, change.moved, change.environments) == told
    assert (change.measured, change.config_id) == (7, "")
    assert (change.ratio is None) == known
    (last,) = scanned[6].changes
    assert (last.baseline, last.target) == (versions[STEP - 1][:10], versions[STEP + 2][:10])
    (kept,) = findings.of_scans("changepoint", scanned).values()
    assert [changes for checked, changes in kept.items() if checked.version == versions[STEP + 2]][6] == [last]
    row = check_table.lines([change], [], everything=False)[1]
    assert ("another environment (1:a → 1:b): not compared" if known else "moved together: not the code") in row
    assert (" +20." in row or " +19." in row) is not known


def test_another_machine_is_that_of_all_benchmarks_of_a_suite(project: Project, repository: Repository) -> None:
    for number, version in enumerate(_versions(project, repository)):
        amounts = {name: [1e7 + 1e4 * (number * 7 % 5)] * 3 for name in ("load", "parse", "write")}
        machine = "1:b" if number >= STEP else "1:a"
        _register(repository, version, profiles.suite(amounts), environment_id=machine)
    scanned = _scan(repository, history.select_series(repository, series.config_histories(repository)))
    (change,) = history.changes(scanned)
    assert (change.label, change.measured, change.resource) == ("3 benchmarks", 3, "")


@pytest.mark.parametrize("commands", [1, 3])
def test_a_machine_that_replaces_another_continues_its_history(
    project: Project, repository: Repository, commands: int
) -> None:
    """It is slower, by another factor for every command, and measured four older versions as well; the code became
    slower with its first own version."""
    versions = _versions(project, repository)
    for number, version in enumerate(versions):
        for config in range(commands):
            level = 5e6 * (1.2 if config == 0 and number >= STEP else 1.0)
            if number < STEP:
                profile = _noisy(10 * number + config, level)
                _register(repository, version, profile, config_id=f"1:{config}", environment_id="1:a")
            if number >= STEP - 4:
                profile = _noisy(10 * number + config + 5, (1.3 + 0.2 * config) * level)
                _register(repository, version, profile, config_id=f"1:{config}", environment_id="1:b")
    lines = series.config_histories(repository)
    changes = history.changes(_scan(repository, history.select_series(repository, lines)))
    code, machine = sorted(changes, key=lambda change: change.kind)
    assert (code.kind, code.config_id, code.target) == ("degradation", "1:0", versions[STEP][:10])
    assert (machine.kind, machine.baseline, machine.target) == ("machine", versions[STEP - 1][:10], versions[STEP][:10])
    row = check_table.lines([machine], [], everything=True)[1]
    if commands == 1:
        assert f"machine 1:b continues 1:a from {versions[STEP][:10]} on by a factor of 1." in row
        assert "from 4 versions measured on both" in row
        return
    assert re.search(r"1:a and 1:b differ by factors of 1\.[23]\d+ to 1\.[67]\d+, one for each of 3 series$", row)
    assert machine.ratio is None
    assert (machine.low or 2) < 1.3 < 1.7 < (machine.high or 0)


def test_a_machine_that_continues_some_commands_only_says_so(project: Project, repository: Repository) -> None:
    versions = _versions(project, repository)
    for number, version in enumerate(versions):
        for config in range(3):
            if number < STEP:
                profile = _noisy(10 * number + config, 5e6)
                _register(repository, version, profile, config_id=f"1:{config}", environment_id="1:a")
            if number >= (STEP if config == 0 else STEP - 4):
                profile = _noisy(10 * number + config + 5, 6.5e6)
                _register(repository, version, profile, config_id=f"1:{config}", environment_id="1:b")
    lines = series.config_histories(repository)
    (machine,) = history.changes(_scan(repository, history.select_series(repository, lines)))
    row = check_table.lines([machine], [], everything=True)[1]
    assert "by factors of 1." in row
    assert row.endswith("one for each of 2 series; 1 other command not compared")


def test_a_machine_that_continues_some_benchmarks_only_says_so(project: Project, repository: Repository) -> None:
    """One benchmark was not yet there when versions were measured on both machines."""
    versions = _versions(project, repository)
    for number, version in enumerate(versions):
        measuring = (["1:a"] if number < STEP else []) + (["1:b"] if number >= STEP - 4 else [])
        for environment in measuring:
            level, draw = 5e6 if environment == "1:a" else 6.5e6, random.Random(f"{number}{environment}")
            names = ("old 0", "old 1", "new") if environment == "1:a" or number >= STEP else ("old 0", "old 1")
            amounts = {name: [level * draw.lognormvariate(0, 0.01) for _ in range(6)] for name in names}
            _register(repository, version, profiles.suite(amounts), environment_id=environment)
    lines = series.config_histories(repository)
    (machine,) = history.changes(_scan(repository, history.select_series(repository, lines)))
    row = check_table.lines([machine], [], everything=True)[1]
    assert "by factors of 1." in row
    assert "3 benchmarks" in row
    assert row.endswith("one for each of 2 series; 1 other benchmark not compared")


def test_series_scanned_together_may_have_gaps(project: Project, repository: Repository) -> None:
    versions = _versions(project, repository, 12)
    for number, version in enumerate(versions):
        for config in range(6):
            if (number + config) % 3:
                _register(repository, version, _noisy(100 * number + config, 5e6), config_id=f"1:{config}")
    scanned = _scan(repository, history.select_series(repository, series.config_histories(repository)))
    assert [one.changes for one in scanned] == [()] * 6
    assert history.versions(scanned) == 12


def test_a_function_has_a_history(project: Project, repository: Repository) -> None:
    for number, version in enumerate(_versions(project, repository, 3)):
        _register(repository, version, profiles.sampled(), created=profiles.CREATED + number)
    (line,) = series.config_histories(repository)
    one = series.functions(repository, line, None, "Parser.parse")
    assert one is not None
    assert (one.metric, one.resource, one.values) == ("samples", "Parser.parse", ((25.0,),) * 3)
    assert series.functions(repository, line, None, "no_such") is None


def test_the_cache_may_be_removed(project: Project, repository: Repository) -> None:
    for number, version in enumerate(_versions(project, repository, 3)):
        _register(repository, version, _noisy(number, 5e6))
    (line,) = series.config_histories(repository)
    first = series.metrics(repository, line)
    assert repository.store.read_model.path is not None
    repository.store.read_model.path.unlink()
    assert series.metrics(repository, line) == first


def test_no_bisection_begins_at_what_was_made_good(project: Project, repository: Repository) -> None:
    versions = _versions(project, repository)
    for number, version in enumerate(versions):
        _register(repository, version, _noisy(number, 6e6 if 8 <= number < 16 else 5e6))
    found = _scan(repository, history.select_series(repository, series.config_histories(repository)))
    assert [(change.kind, change.undone) for change in found[0].changes] == [
        ("degradation", versions[16]),
        ("optimization", ""),
    ]
    begin = auto_range.of_history(repository, found)
    assert begin is not None
    assert begin.bad not in versions[8:16]
    assert begin.step == pytest.approx(1, abs=0.05)


def test_benchmarks_that_vanished_together_are_said_in_one_line(project: Project, repository: Repository) -> None:
    versions = _versions(project, repository, 10)
    for number, version in enumerate(versions):
        names = ["parse", *(f"old {at}" for at in range(3) if number < 4), *(["write"] if number < 6 else [])]
        amounts = {name: [100 + number, 101 + number, 99 + number] for name in names}
        _register(repository, version, profiles.suite(amounts), created=profiles.CREATED + number)
    notes = project.perf("check", "all", code=None).err.splitlines()
    assert [note.partition(": ")[2].partition(";")[0] for note in notes if "last measured" in note] == [
        f"./gzip -9 'big file.txt': cpu of old 0 and 2 other benchmarks were last measured at {versions[3][:10]}",
        f"./gzip -9 'big file.txt': cpu of write was last measured at {versions[5][:10]}",
    ]
