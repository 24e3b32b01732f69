"""Two versions compared by what is stored of them, without a command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
from jsonschema import Draft202012Validator
from perfcore_command_compare.stored import StoredComparison
from perfcore_command_compare.stored_table import lines
from perfcore_testing.check import measured, noisy
from perfcore_testing.profiles import CREATED
from perfcore_testing.project import Project

from perfcore.errors import UsageError
from perfcore.library import open_repository
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile.recording import RUNS
from perfcore.profile.table import TableBuilder, column, table

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "compare-stored.json"
BEFORE = {"parse": 5e6, "sort": 9e6, "load": 3e6, "gone": 1e6}
AFTER = {"parse": 6e6, "sort": 6e6, "load": 3e6, "new": 1e6}


def suite(cpu: Mapping[str, float], seed: int, *, runs: int = 20) -> Profile:
    """A suite of benchmarks with 0.3 % of noise; the runs of all suites were taken in turn."""
    rows = [
        (run, name, amount)
        for index, (name, center) in enumerate(cpu.items())
        for run, amount in enumerate(noisy(center, 1000 * seed + index, runs=runs, spread=0.003))
    ]
    numbers, names, amounts = zip(*rows, strict=True)
    resources = table(
        "resources",
        [
            column("run", numbers, dtype="i64", role="order"),
            column("benchmark", names, dtype="str", role="benchmark"),
            column("cpu", amounts, dtype="f64", unit="ns", role="value"),
        ],
    )
    runs_table = TableBuilder("runs", RUNS)
    for run in range(runs):
        runs_table.add(run=run, session="5e55", block=run, started=run, warmup=False, disturbed=False)
    return replace(measured([1.0]), tables={"resources": resources, "runs": runs_table.build()}, config_id="s" * 40)


def program(center: float, seed: int, name: str, *, runs: int = 20) -> Profile:
    profile = measured(noisy(center, seed, runs=runs), session="5e55")
    header = replace(profile.header, cmd=f"./{name}", args="", workload="")
    return replace(profile, header=header, config_id=name[0] * 40)


def release(project: Project, name: str, *profiles: Profile) -> None:
    """A version with a tag and these profiles."""
    history, version = open_repository(project.path), project.commit(name)
    project.git("tag", name)
    for number, profile in enumerate(profiles):
        saved = history.save(replace(profile, origin=version, created=CREATED + number))
        history.register(saved, version)


@pytest.fixture
def releases(project: Project) -> Project:
    """Two releases: a suite, a command that both have, and one of each side alone."""
    release(project, "v1", suite(BEFORE, 1), program(5e6, 1, "zip"), program(5e6, 2, "old"))
    release(project, "v2", suite(AFTER, 2), program(5e6, 3, "zip", runs=3), program(5e6, 4, "fresh"))
    return project


def test_versions_are_compared_by_all_that_is_stored_of_both(releases: Project) -> None:
    done = releases.perf("compare", "v1", "v2", code=1)
    rows = [line for line in done.lines if line.startswith(("slower", "faster"))]
    assert [(row.split()[0], row.split()[-1]) for row in rows] == [("faster", "sort"), ("slower", "parse")]
    assert "1 unchanged, 1 inconclusive (--all lists them)\n  1: too few interleaved pairs\n" in done.out
    assert done.lines[0].startswith("A  v1 (")
    assert done.lines[-1] == "4 comparisons: 1 regression, 1 improvement, 1 unchanged, 1 inconclusive"


def test_what_only_one_version_has_is_listed(releases: Project) -> None:
    text = releases.perf("compare", "v1", "v2", code=1).out
    before, after = text.partition("only in A: 2\n")[2].split("only in B: 2\n")
    assert before.split() == ["gone", "./old"] or before.split() == ["./old", "gone"]
    assert set(after.split("\n\n")[0].split()) == {"new", "./fresh"}


def test_all_lists_every_comparison_with_the_reason_of_inconclusive_ones(releases: Project) -> None:
    text = releases.perf("compare", "v1..v2", "--all", code=1).out
    assert "cpu of load" in text.partition("unchanged:")[2]
    inconclusive = text.partition("inconclusive, too few interleaved pairs; about ")[2]
    assert "cpu of ./zip" in inconclusive.partition("unchanged:")[0]
    assert "cpu of load" not in releases.perf("compare", "v1..v2", code=1).out


def test_json_follows_its_schema_with_full_ids_and_kinds_without_blanks(releases: Project) -> None:
    document = releases.perf("compare", "v1", "v2", "--json", code=1).json
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    versions = [releases.git("rev-parse", name).out.strip() for name in ("v1", "v2")]
    assert [side["version"] for side in document["sides"]] == versions
    assert {(row["baseline"], row["target"]) for row in document["changes"]} == {tuple(versions)}
    assert {row["kind"] for row in document["changes"]} == {"degradation", "optimization", "same", "cannot-tell"}
    assert (document["compared"], document["changed"], document["unchanged"], document["inconclusive"]) == (4, 2, 1, 1)
    sides = {row["benchmark"] or row["label"]: row["side"] for row in document["unpaired"]}
    assert sides == {"gone": "baseline", "./old": "baseline", "new": "target", "./fresh": "target"}


def test_reports_are_those_of_checks(releases: Project) -> None:
    out = releases.perf("compare", "v1", "v2", "--format", "markdown", code=1).out
    assert out.startswith("### Performance: ")
    assert "parse" in out


def test_a_pattern_chooses_benchmarks_and_commands(releases: Project) -> None:
    chosen = releases.perf("compare", "v1", "v2", "-k", "so*", "--json").json
    assert ([row["resource"] for row in chosen["changes"]], chosen["unpaired"]) == (["sort"], [])
    chosen = releases.perf("compare", "v1", "v2", "-k", "zip", "--json", code=8).json
    assert [row["label"] for row in chosen["changes"]] == ["./zip"]
    releases.perf("compare", "v1", "v2", "-k", "no such benchmark", code=9)


def test_another_metric_can_decide(project: Project) -> None:
    for seed, (name, center) in enumerate((("v1", 5e6), ("v2", 7e6))):
        amounts = {"cpu": noisy(5e6, seed), "wall": noisy(center, 7 + seed)}
        release(project, name, replace(measured(amounts, session="5e55"), config_id="s" * 40))
    project.perf("compare", "v1", "v2")
    assert "slower" in project.perf("compare", "v1", "v2", "-m", "wall", code=1).out
    assert "did you mean 'wall'?" in project.perf("compare", "v1", "v2", "-m", "wal", code=2).err


def test_a_version_without_profiles_is_named_with_the_command_that_measures_it(releases: Project) -> None:
    version = releases.commit("Unmeasured")
    done = releases.perf("compare", "v2", version[:12], code=9)
    assert f"{version[:10]} has no registered profile" in done.err
    assert f"perf check v2 {version[:12]} --collect" in done.err
    assert "only in A: 3" in done.out
    releases.commit("Unmeasured, too")
    hint = releases.perf("compare", "HEAD~1", "HEAD", code=9).err
    assert "perf collect time --version 'HEAD~1' --version HEAD --add -- COMMAND" in hint
    assert releases.perf("compare", "HEAD~1", "HEAD", "--json", code=9).json["compared"] == 0


def test_a_version_wins_over_a_profile_that_holds_its_name(releases: Project) -> None:
    """`old` is a part of the name of a profile."""
    releases.git("branch", "old", "v1")
    lines_of_tag = releases.perf("compare", "v1", "v2", code=1).lines
    assert releases.perf("compare", "old", "v2", code=1).lines[1:] == lines_of_tag[1:]


def test_benchmarks_of_one_name_are_told_apart_by_their_commands(project: Project) -> None:
    for seed, (version, center) in enumerate((("v1", 5e6), ("v2", 6e6))):
        suites = [suite({"parse": center}, 2 * seed + number) for number in range(2)]
        header = replace(suites[1].header, cmd="./other", args="", workload="")
        release(project, version, suites[0], replace(suites[1], header=header, config_id="t" * 40))
    rows = [row for row in project.perf("compare", "v1", "v2", code=1).lines if row.startswith("slower")]
    assert len({row.partition("cpu of parse (")[2] for row in rows}) == 2


def test_a_range_names_two_versions_of_a_command(releases: Project) -> None:
    """Their trees are equal, so nothing is measured."""
    out = releases.perf("compare", "v1..v2", "--", "true").out
    assert out == releases.perf("compare", "v1", "v2", "--", "true").out
    assert "nothing was measured" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("v1", "v1"), "both sides are version"),
        (("v1", "0@i"), "the other side is none"),
        (("-k", "sort", "--", "true"), "among what is stored"),
        (("--open", "--", "true"), "what is stored"),
        (("v1:0@i", "v2:0@i", "-o", "page.html"), "these are profiles"),
    ],
)
def test_wrong_usage_names_what_is_wrong(releases: Project, words: tuple[str, ...], says: str) -> None:
    assert says in releases.perf("compare", *words, code=2).err


def test_a_side_that_is_nothing_is_named(releases: Project) -> None:
    for sides in (("v1", "nowhere"), ("nowhere", "v1")):
        assert "there is no profile 'nowhere'" in releases.perf("compare", *sides, "-o", "page.html", code=3).err


def test_the_library_gives_the_document_of_the_command(releases: Project) -> None:
    history = open_repository(releases.path)
    comparison = history.compare_stored("v1", "v2")
    assert isinstance(comparison, StoredComparison)
    assert json.loads(json.dumps(comparison.as_json())) == releases.perf("compare", "v1", "v2", "--json", code=1).json
    assert [change.resource for change in comparison.changed] == ["sort", "parse"]
    assert comparison.exit_code == 1
    with pytest.raises(UsageError):
        history.compare_stored("v1", "v1")


def test_a_table_fits_a_terminal_of_80_columns(releases: Project) -> None:
    comparison = open_repository(releases.path).compare_stored("v1", "v2")
    long = attrs.evolve(
        comparison.outcome,
        changes=tuple(attrs.evolve(change, resource="a_long_name/" * 20) for change in comparison.outcome.changes),
        unpaired=tuple(attrs.evolve(missing, benchmark="another_name/" * 20) for missing in comparison.unpaired),
    )
    rows = lines(attrs.evolve(comparison, outcome=long), everything=True, all_metrics=True, columns=80)
    assert max(map(len, rows)) <= 80
    assert sum("…" in row for row in rows) == 8


def on(host: str, digit: str, center: float, seed: int) -> Profile:
    return replace(program(center, seed, "zip"), machine={"host": host}, environment_id=f"1:{digit * 40}")


@pytest.mark.parametrize("hosts", [("old.example.org", "new.example.org"), ("old.example.org", "old.example.org")])
def test_machines_have_their_names_where_these_tell_them_apart(project: Project, hosts: tuple[str, str]) -> None:
    old, new = hosts
    release(project, "v1", on(old, "1", 5e6, 1), on(new, "2", 5e6, 2))
    release(project, "v2", on(old, "1", 6e6, 3), on(new, "2", 7e6, 4))
    names = ("1:1111111111", "1:2222222222") if old == new else hosts
    rows = [line for line in project.perf("compare", "v1", "v2", code=1).lines if line.startswith("slower")]
    assert {row.split(" on ")[-1] for row in rows} == set(names)
    rows = [line for line in project.perf("check", code=1).lines if line.startswith("slower")]
    assert {row.split("on ")[-1] for row in rows} == set(names)
    ids = {id for row in project.perf("check", "--json", code=1).json["changes"] for id in row["environments"]}
    assert ids == {f"1:{'1' * 40}", f"1:{'2' * 40}"}
    release(project, "v3", on("other.example.org", "3", 5e6, 5))
    history = project.perf("history").out
    assert "→ other.example.org): not compared" in history
    assert all(name in history for name in names)
