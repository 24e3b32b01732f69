"""The pages of a site, as files and as those of a server."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace
from perfcore_site_kit import data, levels, paths, sentences
from perfcore_site_kit.branch import RANGE
from perfcore_site_kit.comparisons import Comparison
from perfcore_site_kit.derive import Derived
from perfcore_site_kit.paths import PagePath
from perfcore_site_kit.site import FILES, SERVER, Site
from perfcore_testing import hostile
from perfcore_testing.measured import NAMES, STEP, measure
from perfcore_testing.profiles import CREATED, sampled, suite, timed
from perfcore_testing.project import Project

from perfcore.errors import NotFoundError
from perfcore.library import open_repository
from perfcore.model import Change, ChangeKind
from perfcore.model.record import replace as replace_record
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column
from perfcore.profile.table import table as table_of


def words(site: Site, path: PagePath) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "|", site.render(path, FILES).content.decode()))


def test_every_page_answers_in_its_first_sentence(site: Site) -> None:
    answers = {
        path: re.search(r'<p class="answer">([^<]*)', site.render(path).content.decode()) for path in site.pages()
    }
    assert all(answers.values())
    overview, changes = answers[PagePath(paths.OVERVIEW)], answers[PagePath(paths.CHANGES)]
    assert overview is not None
    assert changes is not None
    assert overview[1].startswith("Yes: 1 of 2 benchmarks is slower: ./slow +100.0 % since ")
    assert re.match(r"\d+ regressions? stands?, of \d+ changes in 12 versions\.", changes[1])


def test_every_row_of_a_table_has_a_cell_for_each_heading(site: Site) -> None:
    tables = [
        (path, table)
        for path in site.pages()
        for table in re.findall(r"<table.*?</table>", site.render(path).content.decode(), flags=re.DOTALL)
    ]
    assert {path.kind for path, _ in tables} >= {paths.OVERVIEW, paths.CHANGES, paths.CHANGE, paths.SERIES}
    for path, table in tables:
        head, _, body = table.partition("</thead>")
        for row in re.findall(r"<tr[ >].*?</tr>", body, flags=re.DOTALL):
            spans = (int(span) for span in re.findall(r' colspan="(\d+)"', row))
            cells = len(re.findall(r"<t[hd][ >]", row)) + sum(span - 1 for span in spans)
            assert cells == head.count("<th "), (path, row)
            assert not re.search(r"</t[hd]>\s*[^<\s]", row), (path, row)  # text between cells


def test_the_overview_counts_every_status(site: Site) -> None:
    overview = data.overview(site.branch)
    assert overview.counts == {"slower": 1, "faster": 0, "same": 1, "inconclusive": 0, "not measured": 0}
    (slow, steady) = overview.deciding
    assert (slow.row.name, slow.since, slow.behind) == ("./slow", 11 - STEP, 0)
    assert (steady.row.name, steady.change) == ("./steady", None)


def test_a_metric_without_a_unit_says_what_it_is_a_multiple_of(project: Project) -> None:
    history, version = open_repository(project.path), project.commit("Measured")
    resources = table_of("resources", [column("uid", ["parse"]), column("relative", [11.5], role="value")])
    history.register(history.save(sampled().replace_tables(resources=resources)), version)
    site = Site(history.repository)
    (row,) = site.branch.series
    page = words(site, row.path)
    assert "|relative: CPU time as a multiple of that of a fixed loop, lower is better|" in page


def test_a_benchmark_that_came_later_counts_its_own_versions(project: Project) -> None:
    history = open_repository(project.path)
    for number in range(12):
        amounts = {"parse": [100, 101, 102], **({"write": [7, 7, 8]} if number >= 8 else {})}
        history.register(history.save(suite(amounts, created=CREATED + number)), project.commit(f"Change {number}"))
    site = Site(history.repository)
    row = next(row for row in site.branch.series if row.name == "write")
    page = words(site, row.path)
    assert "No: no change in 4 versions; " in page
    assert "|4 of 12 versions|" in page
    trust = re.sub(r"[|\s]+", "|", words(site, PagePath(paths.MEASURE)))
    assert "write:|cpu|" in trust
    assert re.search(r"write:\|cpu\|.*?\|4\|1\|environment", trust)
    assert "memory|16|GiB" in trust


def test_a_benchmark_that_has_just_come_is_not_called_the_same(project: Project) -> None:
    history = open_repository(project.path)
    for number in range(12):
        amounts = {"parse": [100, 101, 102], **({"write": [7, 7, 8]} if number >= 10 else {})}
        history.register(history.save(suite(amounts, created=CREATED + number)), project.commit(f"Change {number}"))
    site = Site(history.repository)
    states = {state.row.name: state.status for state in data.overview(site.branch).deciding}
    assert states == {"parse": "same", "write": "inconclusive"}
    row = next(row for row in site.branch.series if row.name == "write")
    assert "Not known: its history is too short to tell; " in words(site, row.path)


def test_rows_of_a_command_that_two_collectors_measured_are_told_apart(project: Project) -> None:
    history, version = open_repository(project.path), project.commit("Measured twice")
    for made in (timed(runs=9), replace_record(sampled(), header=timed().header, config_id="c1" * 20)):
        history.register(history.save(replace_record(made, created=CREATED)), version)
    page = words(Site(open_repository(project.path).repository), PagePath(paths.OVERVIEW))
    assert all(re.search(rf"\|{metric} of [^|]+\|", page) for metric in ("cpu", "samples"))


def test_a_step_of_the_newest_version_is_not_missing_until_the_next_one(project: Project) -> None:
    """A scan of the history sees a step only with a version after it."""
    commands = {"./slow": lambda at: 5_000_000 * (1 + (at == 11)), "./steady": lambda at: 4_000_000}
    newest = measure(project, commands)[-1]
    site = Site(open_repository(project.path).repository)
    site.refresh()
    expected = f"Yes: 1 of 2 benchmarks is slower: ./slow +100.0 % since {newest[:10]}."
    assert sentences.overview(data.overview(site.branch)) == expected
    assert "1 regression stands" in words(site, PagePath(paths.CHANGES))
    assert "Yes, as its history shows: ./slow +100.0 %." in words(site, PagePath(paths.VERSION, (paths.part(newest),)))
    (id,) = (change.id for _, change in site.branch.changes if change.primary)
    checked = project.perf("check", "--json", code=1).json["changes"]
    assert [c["id"] for c in checked if c["kind"] == "degradation" and c["primary"]] == [id]
    measure(project, {"./slow": lambda at: 10_000_000, "./steady": lambda at: 4_000_000}, versions=2)
    site = Site(open_repository(project.path).repository)
    site.refresh()
    assert sentences.overview(data.overview(site.branch)) == expected
    assert len([change for _, change in site.branch.changes if change.primary]) == 1


def test_machines_that_take_turns_have_a_line_each_and_one_trend(project: Project) -> None:
    """As those of a pool: each version is measured on one of them."""
    history = open_repository(project.path)
    for number in range(24):
        version, machine = project.commit(f"Change {number}"), number % 3
        times = [0.01 * 1.3**machine * (1.5 if number >= 12 else 1) * (1 + run % 3 / 1000) for run in range(5)]
        made = suite({"parse": times, "load": [0.7 * time for time in times]}, unit="s", environment_id=f"1:{machine}")
        history.register(history.save(made), version)
    site = Site(open_repository(project.path).repository)
    site.refresh()
    for row in site.branch.series:
        assert row.takes_turns
        assert row.noise == pytest.approx(0, abs=0.01)
        assert max(row.spark[:12]) < 1.1 * min(row.spark[:12])  # type: ignore[type-var, operator]
        assert row.spark[12] == pytest.approx(1.5 * row.spark[11])  # type: ignore[operator]
    page = words(site, PagePath(paths.SERIES, site.branch.series[0].parts))
    assert "one of 3 machines" in page
    assert "1:0" in page
    assert "environment 1:" not in page
    listed = words(site, PagePath(paths.CHANGES))
    assert "of 2 changes in 24 versions" in listed
    assert "2 slower" in listed
    assert listed.count("of the machine") == 2
    assert listed.count("|cpu of 2 benchmarks|") == 2


@pytest.mark.parametrize(("unit", "words_of_group"), [("s", "1 slower"), ("B", "1 worse")])
def test_a_group_calls_its_changes_as_its_rows_do(project: Project, unit: str, words_of_group: str) -> None:
    history = open_repository(project.path)
    for number in range(12):
        version, level = project.commit(f"Change {number}"), 2 if number >= 6 else 1
        made = suite({"parse": [level * (1000 + run % 3) for run in range(6)]}, unit=unit)
        history.register(history.save(made), version)
    listed = words(Site(open_repository(project.path).repository), PagePath(paths.CHANGES))
    assert f" · {words_of_group}" in listed
    assert f"| {words_of_group.split()[1]}|" in listed


@pytest.mark.parametrize("pool", [False, True])
def test_a_machine_of_one_host_has_its_name(project: Project, pool: bool) -> None:
    """An environment of several hosts has none."""
    history = open_repository(project.path)
    for number in range(12):
        version, machine = project.commit(f"Change {number}"), number % 2
        times = [0.01 * 1.3**machine * (1 + run % 3 / 1000) for run in range(5)]
        host = f"host-{'ab'[machine]}{number if pool else ''}.example.org"
        made = suite({"parse": times}, unit="s", environment_id=f"1:{machine}" * 20, machine={"host": host})
        history.register(history.save(made), version)
    site = Site(open_repository(project.path).repository)
    page = words(site, PagePath(paths.SERIES, site.branch.series[0].parts))
    names = ("1:01:01:01:0", "1:11:11:11:1") if pool else ("host-a.example.org", "host-b.example.org")
    assert f"on {names[1]}, one of 2 machines" in page
    assert names[0] in page


def test_a_machine_is_listed_with_the_versions_that_it_measured(project: Project) -> None:
    history, ids = open_repository(project.path), []
    for number in range(12):
        ids.append(project.commit(f"Change {number}")[:10])
        for name, count in (("old", 8), ("spare", 2)):
            if number < count:
                made = timed(runs=6)
                machine = {**made.machine, "cpu": f"the {name} one"}
                made = replace_record(made, machine=machine, environment_id=name, created=CREATED + number)
                history.register(history.save(made), ids[-1])
        if number >= 8:
            history.register(history.save(replace_record(timed(runs=6), environment_id="new")), ids[-1])
    site = Site(history.repository)
    listed = words(site, PagePath(paths.MEASURE)).partition("Where it was measured")[2]
    rows = {row.split("|")[0]: row for row in re.findall(r"(?:old|spare|new)\|.*", listed)}
    assert list(rows) == ["spare", "old", "new"]
    ends = [ids[:2], [ids[0], ids[7]], [ids[8], ids[11]]]
    assert [re.findall("[0-9a-f]{10}", row)[:2] for row in rows.values()] == ends
    assert "cpu the spare one" in rows["spare"]
    assert "cpu the old one" in rows["old"]


def test_changes_of_two_machines_between_the_same_versions_are_both_listed(project: Project) -> None:
    """They are one question with one id."""
    history = open_repository(project.path)
    for number in range(3):
        version = project.commit(f"Change {number}")
        for machine in range(2):
            level = 0.01 * (1.5 + 0.1 * machine if number else 1)
            times = {"parse": [level * (1 + run % 3 / 1000) for run in range(8)]}
            made = suite(times, unit="s", environment_id=f"1:{machine}", created=CREATED + 2 * number + machine)
            history.register(history.save(made), version)
    site = Site(history.repository)
    listed = words(site, PagePath(paths.CHANGES))
    assert "of 2 changes in 3 versions" in listed
    assert "|+50.0 %|" in listed
    assert "|+60.0 %|" in listed


def test_a_change_of_the_machine_has_one_row_on_the_page_of_its_version(project: Project) -> None:
    history = open_repository(project.path)
    for number in range(16):
        version, level = project.commit(f"Change {number}"), 0.01 * (1.5 if number >= 8 else 1)
        times = [level * (1 + run % 3 / 1000) for run in range(5)]
        suites = {name: [share * time for time in times] for name, share in (("parse", 1), ("load", 0.7), ("save", 2))}
        history.register(history.save(suite(suites, unit="s", environment_id=f"1:{number // 8}")), version)
    site = Site(open_repository(project.path).repository)
    site.refresh()
    moved = [site.branch.versions[8].id for _, change in site.branch.changes if change.kind == "machine"]
    assert len(moved) == 3
    page = words(site, PagePath(paths.VERSION, (paths.part(moved[0]),)))
    changes = words(site, PagePath(paths.CHANGES))
    assert page.count("| machine|") == changes.count("| machine|") == 1
    for listed in (page, changes):
        assert "|cpu of 3 benchmarks|" in listed
        assert "more series" not in listed


def test_a_page_of_a_comparison_says_its_answer_once(site: Site) -> None:
    (path, *_) = (path for path in site.pages() if path.kind == paths.COMPARE)
    page = site.render(path).content.decode()
    answer = re.search(r'<p class="answer">([^<]*)', page)
    assert answer is not None
    assert page.count(answer[1]) == 1


HARNESS = """
import random
level = float(open("level").read())
print("goos: linux\\npkg: m")
for name in ("Parse", "Load"):
    print(f"Benchmark{name} 100 {level * random.gauss(1, 0.003):.3f} ns/op {level:.0f} B/op")
print("PASS")
"""


@pytest.mark.parametrize(("between", "verb"), [(0, "compare"), (2, "bisect")])
def test_the_command_of_a_change_measures_what_changed(project: Project, between: int, verb: str) -> None:
    """By the collector of the series, which is not that of the default, and its benchmark and metric."""
    old = project.commit("Old", harness__py=HARNESS, level="1000")
    for number in range(between):
        project.commit(f"Between {number}")
    new = project.commit("New", level="1500")
    measuring = ("collect", "results", "-v", old, "-v", new, "--repeat", "6", "--add", "--", "python3", "harness.py")
    project.perf(*measuring)
    site = Site(open_repository(project.path).repository)
    site.refresh()
    for metric in ("wall", "B/op"):
        change = next(c for at, c in site.branch.changes if site.branch.series[at].metric == metric)
        (line,) = re.findall(
            r"\|(perf (?:compare|bisect|check) [^|]*)\|", words(site, PagePath(paths.CHANGE, (change.id,)))
        )
        assert line.startswith(f"perf {verb} {old[:10]} {new[:10]} --collector results")
        done = project.perf(*shlex.split(line)[1:], code=0 if verb == "bisect" else 1)
        assert new[:10] in done.out
        assert ("--metric B/op" in line) == (metric == "B/op")


def test_the_command_of_a_change_runs_in_the_folder_of_what_changed(project: Project) -> None:
    (project.path / "svc" / "one").mkdir(parents=True)
    files = {"svc/one/harness.py": HARNESS}
    old = project.commit("Old", **files, **{"svc/one/level": "1000"})
    new = project.commit("New", **{"svc/one/level": "1500"})
    measuring = ("collect", "results", "-v", old, "-v", new, "--repeat", "6", "--add", "--cwd", "svc/one")
    project.perf(*measuring, "--", "python3", "harness.py")
    site = Site(open_repository(project.path).repository)
    site.refresh()
    change = next(c for at, c in site.branch.changes if site.branch.series[at].metric == "wall")
    (line,) = re.findall(r"\|(perf compare [^|]*)\|", words(site, PagePath(paths.CHANGE, (change.id,))))
    assert line.endswith("--cwd svc/one -- python3 harness.py")
    assert new[:10] in project.perf(*shlex.split(line)[1:], code=1).out


def test_a_change_that_no_collector_measured_has_no_command(project: Project) -> None:
    """As one of imported results."""
    for level in (100, 150):
        results = project.write("results.txt", f"goos: linux\npkg: m\nBenchmarkA 100 {level} ns/op\nPASS\n" * 9)
        project.perf("import", "--add", "gobench", str(results))
        results.unlink()
        project.commit(f"After {level}")
    site = Site(open_repository(project.path).repository)
    site.refresh()
    (_, change), *_ = site.branch.changes
    assert not re.search(r"\|perf (compare|bisect|check) ", words(site, PagePath(paths.CHANGE, (change.id,))))


def test_an_accepted_change_is_no_answer(site: Site, measured: Project) -> None:
    change = next(change for _, change in site.branch.changes if change.primary)
    open_repository(measured.path).accept(change.id, why="it is safer", author="Ann")
    assert site.refresh()
    assert data.overview(site.branch).counts["slower"] == 0
    assert "accepted by Ann: it is safer" in words(site, PagePath(paths.CHANGES))
    target = next(version for version in site.branch.versions if version.id.startswith(change.target))
    said = "Yes, as its history shows: ./slow +100.0 % (accepted)."
    assert said in words(site, PagePath(paths.VERSION, (paths.part(target.id),)))


def test_every_decision_is_in_the_charts_of_its_change(site: Site, measured: Project) -> None:
    at, change = next((at, change) for at, change in site.branch.changes if change.primary)
    pages = site.branch.series[at].path, PagePath(paths.CHANGE, (paths.part(change.id),))
    for state in ("confirmed", "accepted", "false alarm", "environment"):
        measured.perf("check", "triage", change.id, "--as", state, "--why", "a <b>reason</b>", "--author", "Ann")
        assert site.refresh()
        for path in pages:
            (figure,) = re.findall(r"<figure.*?</figure>", site.render(path, SERVER).content.decode(), re.DOTALL)
            assert f"{state} by Ann: a &lt;b&gt;reason&lt;/b&gt;" in figure
            drawn = json.loads(re.findall(r'class="data">([^<]*)<', figure)[0])
            (mark,) = drawn["marks"]
            assert mark["decided"] == f"{state} by Ann: a <b>reason</b>"
            assert mark["accepted"] is (state != "confirmed")


def test_only_what_was_accepted_or_undone_is_grey_in_the_list_of_changes(project: Project) -> None:
    commands = {
        "./undone": lambda at: 5_000_000 * (1 + (4 <= at < 9)),
        "./steady": lambda at: 4_000_000,
        "./faster": lambda at: 7_000_000 * (1 + (at < 9)),
    }
    measure(project, commands, versions=14)
    page = Site(open_repository(project.path).repository).render(PagePath(paths.CHANGES), FILES).content.decode()
    row = r'verdict (\w+)( settled)?">.*?</td>\s*<td class="text"><a [^>]*>([^<]+)</a>'
    rows = re.findall(row, page, re.DOTALL)
    assert {found for found in rows if found[2].startswith("cpu")} == {
        ("worse", " settled", "cpu of ./undone"),
        ("better", "", "cpu of ./undone"),
        ("better", "", "cpu of ./faster"),
    }


def test_short_histories_of_many_benchmarks_are_told_as_the_check_tells_them(project: Project) -> None:
    history = open_repository(project.path)
    for number in range(4):
        amounts = {
            f"bench {at:02}": [
                (2 if at == 3 and number == 3 else 1) * (5_000_000 + run * 7919 % 13 * 400) for run in range(8)
            ]
            for at in range(70)
        }
        made = suite(amounts, created=CREATED + number)
        history.register(history.save(made), project.commit(f"Version {number}"))
    checked = project.perf("check", "all", "--json", code=1).json["changes"]
    newest = [change["kind"] for change in checked if change["target"] == history.repository.version()]
    assert Counter(newest) == {"degradation": 1, "same": 69}
    counts = data.overview(Site(history.repository).branch).counts
    assert counts == {"slower": 1, "faster": 0, "same": 69, "inconclusive": 0, "not measured": 0}


def test_one_benchmark_alone_is_not_counted_in_the_plural(project: Project) -> None:
    measure(project, {"./steady": lambda _: 4_000_000})
    page = data.overview(Site(open_repository(project.path).repository).branch)
    assert sentences.overview(page) == "No: the only benchmark is not slower."


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("the machine was busy: measure about 6 interleaved pairs", "the machine was busy"),
        ("", "too few versions or runs"),
    ],
)
def test_the_overview_says_why_nothing_can_be_told(project: Project, reason: str, said: str) -> None:
    newest = measure(project, {"./steady": lambda _: 4_000_000}, versions=2)[-1]
    branch = Site(open_repository(project.path).repository).branch
    verdict = Change(id="1", kind="cannot tell", metric="wall", target=newest[:10], reason=reason)
    undecided = replace(branch, series=tuple(replace(row, changes=(verdict,)) for row in branch.series))
    assert sentences.overview(data.overview(undecided)) == f"That cannot be told yet of 1 benchmark: {said}."


def test_benchmarks_that_cannot_be_told_are_not_called_no_slower(project: Project) -> None:
    """One was not measured for the newest version, and nothing is known of the other."""
    newest = measure(project, {"./steady": lambda _: 4_000_000, "./other": lambda _: 4_000_000}, versions=2)[-1]
    branch = Site(open_repository(project.path).repository).branch
    reason = "too few runs: 3 of at least 4"
    verdict = Change(id="1", kind="cannot tell", metric="wall", target=newest[:10], reason=reason)
    first, second = (row for row in branch.series if row.primary)
    series = replace(first, changes=(verdict,)), replace(second, changes=(), newest=0)
    said = sentences.overview(data.overview(replace(branch, series=series)))
    assert said == "That cannot be told yet of 1 benchmark: too few runs; 1 other was not measured."


@pytest.mark.parametrize(
    ("reason", "undone", "accepted", "status"),
    [
        ("the machine was busy", "", False, "inconclusive"),
        ("sessions may differ as much", "", False, "inconclusive"),
        ("the machine was busy", "back", False, "same"),
        ("the machine was busy", "", True, "same"),
    ],
)
def test_a_step_of_the_history_that_may_be_the_machine_is_not_called_no_change(
    project: Project, reason: str, undone: str, accepted: bool, status: str
) -> None:
    versions = measure(project, {"./steady": lambda _: 4_000_000}, versions=12)
    branch = Site(open_repository(project.path).repository).branch
    target = versions[-3]
    step = Change(
        id="1", kind="cannot tell", metric="wall", target=target[:10], earliest=target, reason=reason, undone=undone
    )
    series = tuple(replace(row, changes=(step,)) for row in branch.series)
    stepped = replace(branch, series=series, accepted={"1": "why"} if accepted else {})
    (state,) = data.overview(stepped).deciding
    assert state.status == status
    assert sentences.series(state).startswith(f"Not known: {reason}; " if status == "inconclusive" else "No: no change")
    sized = replace(step, ratio=1.08)
    sized_series = tuple(replace(row, changes=(sized,)) for row in branch.series)
    (state,) = data.overview(replace(stepped, series=sized_series)).deciding
    if status == "inconclusive":
        assert sentences.series(state).startswith(f"Not known: +8.0 % since {target[:10]}, {reason}; ")


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("cannot tell",), "It cannot be told whether 1 benchmark is slower."),
        (("cannot tell", "cannot tell"), "It cannot be told whether 2 benchmarks are slower."),
        (("cannot tell", "same"), "None of 2 benchmarks is slower, 1 inconclusive."),
    ],
)
def test_a_comparison_that_tells_nothing_does_not_say_that_none_is_slower(
    site: Site, kinds: tuple[ChangeKind, ...], said: str
) -> None:
    verdicts = tuple(Change(id=str(id), kind=kind, metric="wall", primary=True) for id, kind in enumerate(kinds))
    first, *_, last = site.branch.versions
    assert sentences.comparison(Comparison(baseline=first, target=last, changes=verdicts, unpaired=())) == said


def test_the_difference_of_a_deep_recursion_stays_small(project: Project) -> None:
    history = open_repository(project.path)
    versions = [project.commit(f"Version {number}") for number in range(2)]
    for number, version in enumerate(versions):
        builder = StackBuilder()
        rows = [builder.add(map(Frame, names)) for names in (["main"] + ["visit"] * 3000, ["main"])]
        amounts = column("samples", [90 + number, 10], role="value")
        resources = table_of("resources", [column("stack", rows, dtype="i64"), amounts])
        made = sampled().replace_tables(resources=resources, **builder.tables())
        made = replace_record(made, created=CREATED + number)
        history.register(history.save(made), version)
    site = Site(history.repository)
    path = PagePath(paths.DIFF, (paths.pair(*versions), paths.part(history.entries(versions[0])[0].config_id)))
    page = site.render(path, SERVER).content
    assert page.count(b">visit") > 500
    assert len(page) < 300_000
    assert b'class="scroll picture tall"' in page


def test_links_of_files_lead_to_files(site: Site, tmp_path: Path) -> None:
    for name, content in site.assets(FILES).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    for path in site.pages():
        page = site.render(path, FILES)
        for name, content in {path.file: page.content, **page.files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(content)
    (tmp_path / "feed.xml").touch()  # which the writer of a site makes
    for path in site.pages():
        text = (tmp_path / path.file).read_text(encoding="utf-8")
        links = [html.unescape(link) for link in re.findall(r'(?:href|src|data-file)="([^"#]+)"', text)]
        assert links
        for link in links:
            assert ((tmp_path / path.file).parent / link).resolve().is_file(), (path, link)


def test_links_of_a_server_lead_to_pages(site: Site) -> None:
    for path in site.pages():
        text = site.render(path, SERVER).content.decode()
        base = path.address.split("/")[:-1]
        for link in re.findall(r'href="([^"#]+)"', text):
            parts = list(base)
            for part in html.unescape(link).removeprefix("./").split("/"):
                if part == "..":
                    parts.pop()
                else:
                    parts.append(part)
            assert site.render(site.parse("/".join(parts)), SERVER).content


def test_a_page_that_does_not_exist_is_an_error(site: Site) -> None:
    (row, *_) = site.branch.series
    wrong = ("changes/0", "changes/1", "changes/9", "changes/x", "series", "series/a/b", "nothing", "../etc/passwd")
    for address in (*wrong, f"{row.path.address}/", f"{row.path.address}/x", f"range/2/{'/'.join(row.parts)}", "a//b"):
        with pytest.raises(NotFoundError):
            site.render(site.parse(address))


def test_a_second_site_reads_what_the_first_derived(site: Site, measured: Project) -> None:
    second = Site(open_repository(measured.path).repository)
    pages = {path: site.render(path, FILES).content for path in site.pages()}
    assert {path: second.render(path, FILES).content for path in second.pages()} == pages


def test_rows_that_vanish_are_derived_again(measured: Project) -> None:
    first = Site(open_repository(measured.path).repository)
    first.refresh()
    second = Site(open_repository(measured.path).repository)
    second.refresh()
    (measured.path / ".perf" / "cache" / "derived.db").unlink()
    for path in second.pages():
        assert second.render(path, FILES).content == first.render(path, FILES).content


def test_names_are_never_markup_nor_paths(project: Project) -> None:
    measure(project, {name: lambda at: 1_000_000 for name in NAMES}, versions=2)
    site = Site(open_repository(project.path).repository)
    files = [path.file for path in site.pages()]
    assert len({file.lower() for file in files}) == len(files)
    assert all(
        re.fullmatch(r"(?:[a-z0-9_~-][a-z0-9_.~-]{0,80}/)*[a-z0-9_~-][a-z0-9_.~-]{0,80}", file) for file in files
    )
    for path in site.pages():
        text = site.render(path, FILES).content.decode()
        assert hostile.unsafe(text) == set()
        assert not any(tag in text.split("</title>", 1)[1] for tag in hostile.TAGS)
        assert len(re.findall(r"<script", text)) <= 2


def test_parts_of_addresses_tell_names_apart() -> None:
    names = [*NAMES, "a", "A", "a.", "..", ".", "a..b", "cpu", "x" * 65, "x" * 66]
    parts = [paths.part(name) for name in names]
    assert len(set(parts)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9~][a-z0-9_.~-]*", part) and not part.endswith(".") for part in parts)


def test_a_long_series_is_shown_in_buckets_and_ranges() -> None:
    medians = [float(number % 97) for number in range(2_345)]
    by_size = levels.levels_of(range(2_345), medians, 2_345)
    assert {size: len(level.mean) for size, level in by_size.items()} == {10: 235, 100: 24}
    assert by_size[100].most[0] == 96.0
    assert by_size[100].least[0] == 0.0
    assert sum(by_size[10].counts) == 2_345
    fitting = levels.fitting(by_size, 2_345, 100)
    assert fitting is not None
    assert fitting.size == 100
    assert RANGE == 1_000


def test_a_reduced_series_keeps_its_spike() -> None:
    values = [1.0] * 1_000
    values[617] = 9.0
    assert max(value or 0 for value in levels.reduced(values, 120)) == 9.0
    assert levels.reduced([None] * 500, 10) == (None,) * 10


def test_a_branch_without_profiles_says_how_to_measure(project: Project) -> None:
    project.commit("Nothing measured")
    site = Site(open_repository(project.path).repository)
    assert "Nothing that can be compared was measured on this branch yet." in words(site, PagePath(paths.OVERVIEW))


def test_a_step_that_cannot_be_told_has_a_row_on_the_page_of_its_series(project: Project) -> None:
    versions = measure(project, {"./steady": lambda at: 4_000_000 + 400_000 * (at >= 6)}, versions=12)
    site = Site(open_repository(project.path).repository)
    site.refresh()
    at, row = next((at, row) for at, row in enumerate(site.branch.series) if row.primary)
    step = replace_record(row.changes[0], kind="cannot tell", reason="came with a session")
    assert (len(row.changes), step.target) == (1, versions[6][:10])
    series = (*site.branch.series[:at], replace(row, changes=(step,)), *site.branch.series[at + 1 :])
    site._derived = Derived(branch=replace(site.branch, series=series))
    markup = site.render(row.path, FILES).content.decode()
    page = html.unescape(re.sub(r"<[^>]*>", "|", markup))
    assert re.search(rf"\|{step.target}\|\|◆ inconclusive\|\|\+10.0 %[^|]*came with a session\|", page)
    reported = page.partition("What was reported")[2].partition("What was measured")[0]
    assert re.search(rf"\|{step.target}\|.*\| inconclusive\|.*\|came with a session\|", reported, re.DOTALL)
    # Only what was reported as a change has a page.
    assert "href" not in markup.partition("What was reported")[2].partition("</table>")[0]


def test_standing_regressions_of_other_metrics_are_not_called_none(project: Project) -> None:
    measure(project, {"./steady": lambda _: 4_000_000, "./slow": lambda at: 4_000_000 * (1 + (at >= 6))}, versions=12)
    branch = Site(open_repository(project.path).repository).branch
    (worse,) = (row for row in branch.series if row.primary and row.changes)
    wall = replace(
        worse,
        primary=False,
        decides=False,
        changes=tuple(replace_record(change, primary=False) for change in worse.changes),
    )
    others = replace(branch, series=(wall,))
    said = "No regression of a metric that decides stands, but 1 of other metrics does, of 1 change in 12 versions."
    assert sentences.changes(data.changes(others)) == said
    said = "1 regression stands, of 2 changes in 12 versions. Of other metrics, 1 more stands."
    assert sentences.changes(data.changes(replace(branch, series=(worse, wall)))) == said
    ((_, change),) = others.changes
    sentence = sentences.change(data.listed_change(others, 0, change), None, [])
    assert sentence.startswith(f"{worse.metric} of ./slow is slower (+100.0 %) since {change.target}")


def test_pages_look_at_the_metrics_that_fail_a_check(project: Project) -> None:
    history = open_repository(project.path)
    for number in range(12):
        profile = suite({"parse": [100, 101, 102]}, created=CREATED + number)
        resources = table_of(
            "resources",
            [
                column("benchmark", ["parse"] * 3, role="benchmark"),
                column("run", [0, 1, 2], role="order"),
                column("cpu", [100, 101, 102], unit="ns", role="value"),
                column("allocs/op", [3 if number < 6 else 5] * 3, role="value"),
            ],
        )
        history.register(history.save(profile.replace_tables(resources=resources)), project.commit(f"Change {number}"))
    project.perf("config", "set", "check.fail_on", "degradation:allocs/op")
    site = Site(open_repository(project.path).repository)
    assert sentences.overview(data.overview(site.branch)).startswith("Yes: 1 of 2 series is slower: parse allocs/op ")
    assert sentences.changes(data.changes(site.branch)).startswith("1 regression stands, of 1 change")
    at = next(at for at, change in site.branch.changes if change.kind == "degradation")
    moved = next(version for version in site.branch.versions if version.subject == "Change 6")
    assert site.branch.series[at].metric == "allocs/op"
    page = words(site, PagePath(paths.VERSION, (paths.part(moved.id),)))
    assert "Yes, as its history shows: parse allocs/op +66.7 %." in page
    project.perf("config", "set", "check.fail_on", "any-degradation")
    assert data.overview(Site(open_repository(project.path).repository).branch).counts["slower"] == 1
    project.perf("config", "set", "check.fail_on", "degradation")
    assert data.overview(Site(open_repository(project.path).repository).branch).counts["slower"] == 0


def test_a_benchmark_that_was_not_measured_lately_says_what_it_was(project: Project) -> None:
    measure(project, {"./steady": lambda _: 4_000_000}, versions=6)
    branch = Site(open_repository(project.path).repository).branch
    row = replace(next(row for row in branch.series if row.primary), newest=2, median=4_000_000.0, unit="ns")
    assert sentences.series(data.state_of(branch, row)) == "It was last measured 3 versions ago, and took 4 ms then."
    counted = replace(row, median=7.0, unit="")
    assert sentences.series(data.state_of(branch, counted)) == "It was last measured 3 versions ago, and was 7 then."


def test_the_command_of_a_series_draws_it_and_no_other(project: Project) -> None:
    measure(project, {"./slow [1]": lambda _: 5_000_000, "./slow 1": lambda _: 4_000_000}, versions=4)
    site = Site(open_repository(project.path).repository)
    site.refresh()
    row = next(row for row in site.branch.series if row.primary and "[" in row.command)
    (command,) = re.findall(r"\|(perf history [^|]*)\|", words(site, row.path))
    drawn = project.perf(*shlex.split(command)[1:]).out
    assert f"{row.metric} of {row.command}\n" in drawn
    assert drawn.count(f"{row.metric} of ") == 1
