"""Each benchmark of a suite is a series of its own: in histories, comparisons and contracts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from unittest.mock import Mock

import pytest
from perfcore_check_kit.version_history import VersionHistory
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore import open_repository
from perfcore.measure.collect_result import summarize
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile import benchmarks
from perfcore.profile.recording import RUNS
from perfcore.profile.table import TableBuilder, Value, column, table

RUNS_EACH = 10
VALUES = 3  # of each run


def suite(wall: Mapping[str, float], seed: int, *, session: str = "") -> Profile:
    """A suite in which each benchmark takes this long (ns), with 1 % of noise between runs and 0.5 % within."""
    dice = random.Random(seed)
    rows: dict[str, list[Value]] = {"run": [], "benchmark": [], "n": [], "wall": []}
    runs = TableBuilder("runs", RUNS)
    for run in range(RUNS_EACH):
        runs.add(run=run, session=session or f"{seed:08x}", block=run, started=run, warmup=False, disturbed=False)
        for name, amount in wall.items():
            level = amount * dice.gauss(1, 0.01)
            for _ in range(VALUES):
                rows["run"].append(run)
                rows["benchmark"].append(name.partition("[")[0])
                rows["n"].append(int(name.partition("[")[2][:-1]) if "[" in name else None)
                rows["wall"].append(level * dice.gauss(1, 0.005))
    columns = [
        column("run", rows["run"], dtype="i64", role="order"),
        column("benchmark", rows["benchmark"], dtype="str", role="benchmark"),
        column("n", rows["n"], dtype="i64", role="benchmark"),
        column("wall", rows["wall"], dtype="f64", unit="ns", role="value"),
    ]
    return replace(profiles.timed(), tables={"resources": table("resources", columns), "runs": runs.build()})


def beside_a_loop(relative: float, seed: int, *, speed: float) -> Profile:
    """A suite of one benchmark, whose CPU time depends on the speed of the machine, and its relative time not."""
    made = suite({"parse": relative * 1000}, seed)
    resources = made.tables["resources"]
    relatives = [float(wall or 0) / 1000 for wall in resources["wall"]]
    columns = [
        *(spec for spec in resources.values() if spec.name != "wall"),
        column("cpu", [time * 1000 * speed for time in relatives], dtype="f64", unit="ns", role="value"),
        column("relative", relatives, dtype="f64", role="value"),
    ]
    return replace(made, tables={**made.tables, "resources": table("resources", columns)})


def register(project: Project, walls: Sequence[Mapping[str, float]], *, session: str = "") -> list[str]:
    """A version for each suite."""
    return register_all(project, [suite(wall, number, session=session) for number, wall in enumerate(walls)])


def register_all(project: Project, suites: Sequence[Profile]) -> list[str]:
    history, versions = open_repository(project.path), []
    for number, made in enumerate(suites):
        version = project.commit(f"Version {number}")
        made = replace(made, origin=version, created=profiles.CREATED + number)
        history.register(history.save(made), version)
        versions.append(version)
    return versions


BEFORE = {"parse[4]": 500.0, "parse[64]": 8_000.0, "sort": 90_000.0, "load": 3e6}
AFTER = {**BEFORE, "parse[64]": 8_800.0}


def test_one_slower_benchmark_is_found_where_the_sum_hides_it(project: Project) -> None:
    versions = register(project, [*[BEFORE] * 8, *[AFTER] * 4])
    done = project.perf("check", "all", "--json", code=1)
    (change,) = done.json["changes"]
    assert (change["resource"], change["metric"], change["kind"]) == ("parse[64]", "wall", "degradation")
    assert change["target"] == versions[8]
    assert change["ratio"] == pytest.approx(1.1, abs=0.02)
    assert "wall of parse[64]" in project.perf("check", "all", code=1).out


def test_a_comparison_is_one_of_each_benchmark(project: Project) -> None:
    _, second = register(project, [BEFORE, AFTER], session="5e55")
    done = project.perf("check", second, "--json", code=1)
    kinds = {change["resource"]: change["kind"] for change in done.json["changes"]}
    assert kinds == {"parse[4]": "same", "parse[64]": "degradation", "sort": "same", "load": "same"}
    assert len({change["id"] for change in done.json["changes"]}) == 4
    text = project.perf("check", second, code=1).out
    assert "3 benchmarks unchanged" in text
    assert "wall of sort" not in text
    assert "wall of sort" in project.perf("check", second, "--verbose", code=1).out


def test_a_benchmark_that_is_gone_or_new_is_named(project: Project) -> None:
    gone = {name: wall for name, wall in BEFORE.items() if name != "sort"}
    _, second = register(project, [BEFORE, {**gone, "heap": 1.0}], session="5e55")
    lines = [line for line in project.perf("check", second).lines if line.startswith("not compared")]
    assert any("heap" in line and "no such benchmark" in line for line in lines)
    assert any("sort" in line and "no longer" in line for line in lines)
    project.perf("check", second, "--fail-on", "not-compared", code=9)


def test_a_renamed_benchmark_goes_on_with_its_history(project: Project) -> None:
    renamed = {{"sort": "sort_list"}.get(name, name): wall for name, wall in BEFORE.items()}
    versions = register(project, [*[BEFORE] * 5, *[{**renamed, "sort_list": 99_000.0}] * 5])
    assert not project.perf("check", "all", "--json").json["changes"]
    project.perf("config", "set", "benchmarks.renamed", "{sort: sort_list}")
    (change,) = project.perf("check", "all", "--json", code=1).json["changes"]
    assert (change["resource"], change["target"]) == ("sort_list", versions[5])


def test_the_history_of_a_benchmark_is_asked_for_by_its_name(project: Project) -> None:
    register(project, [*[BEFORE] * 8, *[AFTER] * 4])
    (series,) = project.perf("history", "parse[64]", "--json").json["series"]
    assert (series["resource"], series["metric"]) == ("parse[64]", "wall")
    assert len(series["points"]) == 12
    assert len(series["points"][0]["values"]) == RUNS_EACH, "a value of each run, not of each row"
    assert len(project.perf("history", "--json").json["series"]) == len(BEFORE)


def test_the_history_of_a_benchmark_and_a_check_of_all_name_the_same_changes(project: Project) -> None:
    """A machine that becomes slower is told by the whole suite only."""
    names = [f"bench_{number}" for number in range(12)]
    walls = [
        {name: 1e5 * (1.1 if at >= 6 else 1.0) * (1.2 if at >= 10 and name == names[3] else 1.0) for name in names}
        for at in range(16)
    ]
    versions = register(project, walls)
    checked = project.perf("check", "all", "--json", code=1).json["changes"]
    assert {(c["kind"], c["target"]) for c in checked} == {("machine", versions[6]), ("degradation", versions[10])}
    every = {series["resource"]: series for series in project.perf("history", "--json").json["series"]}
    for name in (names[0], names[3]):
        (asked,) = project.perf("history", name, "--json").json["series"]
        (selected,) = project.perf("history", "-k", name, "--json").json["series"]
        assert asked == selected == every[name]
        assert ("machine", versions[6]) in [(c["kind"], c["target"]) for c in asked["changes"]]
        own = [c["id"] for c in asked["changes"] if c["kind"] != "machine"]
        assert own == [c["id"] for c in checked if c["kind"] != "machine" and c["resource"] == name]


def test_a_benchmark_is_asked_for_by_the_end_of_its_name_if_no_other_ends_so(project: Project) -> None:
    """Tests of pytest have the path of their file before it, benchmarks of a module its name."""
    names = ["a.py::parse[64]", "a.py::sort", "b.py::sort", "module.find", "find"]
    register(project, [dict.fromkeys(names, 1e3)] * 2)
    resources = {
        name: [series["resource"] for series in project.perf("history", name, "--json").json["series"]]
        for name in ("parse[64]", "find", "a.py::sort")
    }
    assert resources == {"parse[64]": ["a.py::parse[64]"], "find": ["find"], "a.py::sort": ["a.py::sort"]}
    for name in ("sort", "64]"):
        project.perf("history", name, code=3)


def test_a_contract_holds_for_each_benchmark(project: Project) -> None:
    (project.path / ".perfcontract.yml").write_text("'*parse*':\n  - wall <= 1 us\n")
    (version,) = register(project, [BEFORE])
    done = project.perf("check", version, "--json", code=1)
    verdicts = {change["resource"]: change["kind"] for change in done.json["changes"] if change["contract"]}
    assert verdicts == {"parse[4]": "same", "parse[64]": "degradation"}
    assert len({change["id"] for change in done.json["changes"]}) == 2


def test_a_judge_splits_a_suite_once_for_all_its_benchmarks(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    _, second = register(project, [BEFORE, AFTER], session="5e55")
    commands = VersionHistory(repository=open_repository(project.path).repository).commands(second)
    split = Mock(wraps=benchmarks.split)
    monkeypatch.setattr(benchmarks, "split", split)
    compared = {command.benchmark: command.before for command in commands}
    assert {name: getattr(pair, "benchmark", None) for name, pair in compared.items()} == {
        name: name for name in BEFORE
    }
    assert split.call_count == 2, "one of either version"


def test_of_a_suite_each_benchmark_is_compared(project: Project) -> None:
    history = open_repository(project.path)
    for number, wall in enumerate((BEFORE, AFTER)):
        history.save(suite(wall, number))
    assert "of 4 benchmarks" in project.perf("compare", "0@p", "1@p", code=8).lines[-1]


def test_two_releases_are_compared_by_what_is_stored_of_them(project: Project) -> None:
    """Everything that both were measured with, the largest change first."""
    changed = {**AFTER, "sort": 60_000.0}
    versions = register(project, [BEFORE, *[AFTER] * 2, changed], session="5e55")
    done = project.perf("check", versions[0], versions[3], "--json", code=1)
    assert [change["resource"] for change in done.json["changes"]][:2] == ["sort", "parse[64]"]
    assert {change["baseline"] for change in done.json["changes"]} == {versions[0]}
    assert "parse[64]" in project.perf("check", versions[0], versions[3], "--format", "markdown", code=1).out
    lines = project.perf("check", versions[0], project.commit("Unmeasured"), code=9).lines
    assert lines[-1] == "nothing was compared"


def test_benchmarks_are_chosen_by_a_pattern(project: Project) -> None:
    versions = register(project, [*[BEFORE] * 8, *[AFTER] * 4])
    (change,) = project.perf("check", "all", "-k", "parse", "--json", code=1).json["changes"]
    assert change["target"] == versions[8]
    assert not project.perf("check", "all", "-k", "so?t", "--json").json["changes"]
    parse = project.perf("check", "all", "-k", "parse", code=1).lines[-1]
    assert parse == "2 benchmarks like 'parse': 1 regression, 0 improvements"
    assert project.perf("check", "all", "-k", "so?t").lines[-1] == "1 benchmark like 'so?t': no change"
    (unchanged,) = project.perf("check", versions[1], "-k", "so?t", "--json", code=None).json["changes"]
    assert unchanged["resource"] == "sort"
    assert "no benchmark like 'heap'" in project.perf("check", "all", "-k", "heap", code=9).out
    chosen = project.perf("history", "-k", "parse[", "--json").json["series"]
    assert [series["resource"] for series in chosen] == ["parse[4]", "parse[64]"]
    assert "no benchmark" in project.perf("history", "-k", "heap", code=3).err
    assert "benchmarks are like it: -k parse" in project.perf("history", "parse", code=3).err
    assert "did you mean 'sort'?" in project.perf("history", "sotr", code=3).err


def test_the_difference_of_two_suites_is_that_of_their_medians(project: Project) -> None:
    history = open_repository(project.path)
    for number, wall in enumerate((BEFORE, AFTER)):
        history.save(replace(suite(wall, number), created=profiles.CREATED + number * 10**9))
    rows = project.perf("diff", "0@p", "1@p", "--json").json["places"]
    (changed,) = [row for row in rows if row["place"] == "parse[64]"]
    assert changed["baseline"] == pytest.approx(8_000, rel=0.02)
    assert changed["change"] == pytest.approx(800, rel=0.25)


def test_a_suite_is_summed_up_by_benchmark() -> None:
    summaries = summarize(suite(BEFORE, 1))
    assert [summary.metric for summary in summaries] == sorted(f"wall of {name}" for name in BEFORE)
    assert summaries[0].median == pytest.approx(3e6, rel=0.02)
    assert {summary.runs for summary in summaries} == {RUNS_EACH}


def test_where_there_is_relative_time_the_speed_of_the_machine_is_no_change(project: Project) -> None:
    suites = [beside_a_loop(5.0, number, speed=1.0 if number < 6 else 0.8) for number in range(12)]
    versions = register_all(project, suites)
    assert project.perf("check", "all", "--json").json["changes"] == []
    (change,) = project.perf("check", "all", "--metric", "cpu", "--json").json["changes"]
    assert (change["metric"], change["primary"], change["target"]) == ("cpu", False, versions[6])
    between = project.perf("check", versions[5], versions[6], "--json", "--fail-on", "never").json["changes"]
    assert {change["metric"] for change in between} == {"relative"}
    (change,) = project.perf("check", "all", "--threshold", "cpu=0.05", "--json").json["changes"]
    assert change["metric"] == "cpu"


def test_a_slower_benchmark_is_found_on_a_machine_that_became_faster(project: Project) -> None:
    suites = [
        beside_a_loop(5.0 if number < 8 else 5.4, number, speed=1.0 if number < 6 else 0.8) for number in range(14)
    ]
    versions = register_all(project, suites)
    (change,) = project.perf("check", "all", "--json", code=1).json["changes"]
    assert (change["metric"], change["kind"], change["target"]) == ("relative", "degradation", versions[8])
    assert project.perf("check", "all", code=1).out.splitlines()[1].startswith("slower  relative")


@pytest.mark.parametrize(("before", "after"), [(1, 1), (3, 1), (1, 3), (1, 12), (12, 1)])
def test_the_first_and_the_last_version_of_a_benchmark_that_joined_late_are_looked_at(
    project: Project, before: int, after: int
) -> None:
    """The suite has a long history, and this benchmark begins in the middle of it."""
    others = {name: wall for name, wall in BEFORE.items() if name != "sort"}
    slow = {**BEFORE, "sort": 135_000.0}
    versions = register(project, [*[others] * 9, *[BEFORE] * before, *[slow] * after], session="5e55")
    (change,) = project.perf("check", "all", "--json", code=1).json["changes"]
    assert (change["resource"], change["kind"], change["target"]) == ("sort", "degradation", versions[9 + before])
    (drawn,) = (s for s in project.perf("history", "sort", "--json").json["series"] if s["metric"] == "wall")
    assert [shown["target"] for shown in drawn["changes"]] == [change["target"]]


def test_a_new_benchmark_that_stays_the_same_has_no_change(project: Project) -> None:
    others = {name: wall for name, wall in BEFORE.items() if name != "sort"}
    register(project, [*[others] * 9, *[BEFORE] * 2], session="5e55")
    assert not project.perf("check", "all", "--json").json["changes"]


@pytest.mark.parametrize("where", [(), ("--in-repository",)])
def test_what_was_accepted_stays_accepted_when_the_benchmark_is_renamed(
    project: Project, where: tuple[str, ...]
) -> None:
    renamed = {name.replace("parse", "walk"): wall for name, wall in AFTER.items()}
    register(project, [*[BEFORE] * 8, *[AFTER] * 4, *[renamed] * 2])
    (change,) = project.perf("check", "all", "--json", code=1).json["changes"]
    project.perf("check", "ack", change["id"], "--why", "needed", "--author", "Ann", *where)
    project.perf("check", "all")
    project.perf("config", "set", "benchmarks.renamed", "{'parse[4]': 'walk[4]', 'parse[64]': 'walk[64]'}")
    (again,) = project.perf("check", "all", "--json").json["changes"]
    assert (again["resource"], again["fails"], again["decision"]["why"]) == ("walk[64]", False, "needed")
    if not where:
        assert "accepted by Ann: needed" in project.perf("check", "triage", again["id"]).out
        project.perf("check", "ack", "--undo", again["id"])
        project.perf("check", "all", code=1)
