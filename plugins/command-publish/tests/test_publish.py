"""`perf publish`: what is written, what is kept, what is refused, and what a killed command leaves."""

from __future__ import annotations

import gzip
import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import feedparser  # type: ignore[import-untyped]  # it has no stubs
import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from perfcore_command_publish import badge, engine, feed
from perfcore_command_publish.contract import PublishContract
from perfcore_site_kit.derive import Derived
from perfcore_site_kit.site import Site
from perfcore_testing import histories, hostile
from perfcore_testing.measured import NAMES, STEP, measure, of_command
from perfcore_testing.profiles import CREATED, suite
from perfcore_testing.project import Project

from perfcore.errors import UsageError
from perfcore.library import open_repository
from perfcore.profile.table import column
from perfcore.profile.table import table as table_of
from perfcore.repository.repository import Repository

Files = Callable[[Path], dict[str, bytes]]
SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "publish.json"


def repository(project: Project) -> Repository:
    return open_repository(project.path).repository


def measure_once_more(project: Project) -> None:
    measure(project, {"./slow": lambda _: 10_000_000, "./steady": lambda _: 4_000_000}, versions=1)


def test_the_site_is_whole_and_links_lead_to_files_below_it(measured: Project, tmp_path: Path, files: Files) -> None:
    done = measured.perf("publish", str(tmp_path / "site"))
    written = files(tmp_path / "site")
    assert done.lines == [f"{len(written) - 1} files written, 0 kept", f"open {tmp_path / 'site' / 'index.html'}"]
    assert {"index.html", "changes.html", "measure.html", "feed.xml", "badge.svg", "site.json"} <= set(written)
    for name, content in written.items():
        if not name.endswith(".html"):
            continue
        text = content.decode()
        links = [html.unescape(link) for link in re.findall(r'(?:href|src|data-file)="([^"#]+)"', text)]
        for link in links:
            target = ((tmp_path / "site" / name).parent / link).resolve()
            assert target.is_relative_to(tmp_path / "site"), (name, link)
            assert target.is_file(), (name, link)
        assert not re.search(r"(?:href|src)=\"(?:https?:)?//|@import|url\(", text)


def test_the_first_screen_takes_100_kilobytes(measured: Project, tmp_path: Path, files: Files) -> None:
    engine.publish(repository(measured), tmp_path / "site")
    written = files(tmp_path / "site")
    first = [name for name in written if name == "index.html" or name.startswith("assets/")]
    assert len(first) == 4
    assert sum(len(gzip.compress(written[name])) for name in first) < 100_000
    assert len(gzip.compress(next(written[name] for name in first if name.endswith(".js")))) < 35_000
    assert all(len(content) < 300_000 for content in written.values())


def test_files_of_data_are_named_by_what_they_hold(measured: Project, tmp_path: Path, files: Files) -> None:
    engine.publish(repository(measured), tmp_path / "site")
    before = {name: content for name, content in files(tmp_path / "site").items() if name.startswith("data/")}
    assert before
    measure_once_more(measured)
    engine.publish(repository(measured), tmp_path / "site")
    after = files(tmp_path / "site")
    assert all(after.get(name, content) == content for name, content in before.items())
    for name, content in after.items():
        if name.startswith("data/"):
            assert re.fullmatch(rb'chartFile\("[0-9a-f]{20}",\{.*\}\);\n', content)
            assert Path(name).stem.encode() in content[:40]


def test_what_did_not_change_is_not_touched(measured: Project, tmp_path: Path) -> None:
    site = tmp_path / "site"
    first = engine.publish(repository(measured), site)
    inodes = {path: path.stat().st_ino for path in site.rglob("*")}
    again = engine.publish(repository(measured), site)
    assert (again.made, again.kept, again.removed) == (0, first.made, 0)
    assert {path: path.stat().st_ino for path in site.rglob("*")} == inodes


@pytest.mark.process
def test_a_site_whose_pages_stay_needs_no_templates(measured: Project, tmp_path: Path) -> None:
    engine.publish(repository(measured), tmp_path / "site")
    code = (
        "import sys; from pathlib import Path; from perfcore.library import open_repository\n"
        "open_repository().command('publish', folder=Path(sys.argv[1])); print('jinja2' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "site")]
    assert subprocess.check_output(command, cwd=measured.path, text=True) == "False\n"


@pytest.mark.parametrize("event", ["version", "decision", "release", "nothing measured", "title"])
def test_what_is_added_to_a_site_is_what_a_new_one_has(
    measured: Project, tmp_path: Path, files: Files, event: str
) -> None:
    title = ""
    engine.publish(repository(measured), tmp_path / "site")
    if event == "version":
        for _ in range(3):
            measure_once_more(measured)
            engine.publish(repository(measured), tmp_path / "site")
    elif event == "decision":
        change = next(c for _, c in Site(repository(measured)).branch.changes if c.primary and c.kind == "degradation")
        measured.perf("check", "triage", change.id, "--as", "accepted", "--why", "it is safer", "--author", "Ann")
    elif event == "release":
        measured.git("tag", "v2.0", "HEAD~2")
    elif event == "title":
        title = "Sorting"
    else:
        measured.commit("Nothing measured")
    result = engine.publish(repository(measured), tmp_path / "site", title=title)
    engine.publish(repository(measured), tmp_path / "new", title=title)
    assert files(tmp_path / "site") == files(tmp_path / "new")
    assert result.made == 0 if event in ("version", "nothing measured") else result.made > 0


def test_a_new_version_keeps_the_pages_of_old_changes(measured: Project, tmp_path: Path, files: Files) -> None:
    engine.publish(repository(measured), tmp_path / "site")
    measure_once_more(measured)
    result = engine.publish(repository(measured), tmp_path / "site")
    assert result.kept >= 3
    names = {name for name in files(tmp_path / "site") if name.startswith("compare/")}
    assert names


def test_a_page_or_data_that_somebody_changed_is_made_again(measured: Project, tmp_path: Path, files: Files) -> None:
    site = tmp_path / "site"
    engine.publish(repository(measured), site)
    before = files(site)
    for name in ("index.html", next(name for name in before if name.startswith("data/"))):
        (site / name).write_bytes(b"<script>alert(1)</script>")
    result = engine.publish(repository(measured), site)
    assert result.made == 2
    assert files(site) == before


def test_a_folder_with_other_files_is_refused_and_stays(measured: Project, tmp_path: Path) -> None:
    for name in ("notes.txt", "site.json", "away"):
        folder = tmp_path / name
        folder.mkdir()
        if name == "away":
            (folder / name).symlink_to("/etc")
        else:
            (folder / name).write_text("{}")
        done = measured.perf("publish", str(folder), code=2)
        assert "holds other files" in done.err
        assert len(list(folder.iterdir())) == 1
    assert "is no folder" in measured.perf("publish", str(tmp_path / "notes.txt" / "notes.txt"), code=2).err
    assert "holds other files" in measured.perf("publish", ".", code=2).err
    assert (measured.path / ".git").is_dir()


def test_a_file_that_is_no_page_is_not_lost(measured: Project, tmp_path: Path) -> None:
    engine.publish(repository(measured), tmp_path / "site")
    (tmp_path / "site" / "CNAME").write_text("example.org")
    with pytest.raises(UsageError, match="holds CNAME"):
        engine.publish(repository(measured), tmp_path / "site")


def test_a_list_of_pages_never_leads_out_of_the_folder(measured: Project, tmp_path: Path) -> None:
    site, victim = tmp_path / "site", tmp_path / "victim.html"
    engine.publish(repository(measured), site)
    victim.write_text("mine")
    listed = json.loads((site / "site.json").read_text())
    listed["pages"]["../victim.html"] = listed["pages"]["index.html"]
    (site / "site.json").write_text(json.dumps(listed))
    with pytest.raises(UsageError, match="other files"):
        engine.publish(repository(measured), site)
    assert victim.read_text() == "mine"


@pytest.mark.process
def test_a_killed_publish_leaves_the_old_site(measured: Project, tmp_path: Path, files: Files) -> None:
    site = tmp_path / "site"
    engine.publish(repository(measured), site)
    before = files(site)
    measure_once_more(measured)
    for delay in (0.3, 0.6, 0.9):
        process = subprocess.Popen(
            [sys.executable, "-m", "perfcore", "publish", str(site)],
            cwd=measured.path,
            env={**os.environ, **measured.env},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if files(site) != before:
            break
    engine.publish(repository(measured), site)
    engine.publish(repository(measured), tmp_path / "new")
    assert files(site) == files(tmp_path / "new")


def test_the_feed_is_one_and_says_what_became_slower(measured: Project, tmp_path: Path) -> None:
    engine.publish(repository(measured), tmp_path / "site", url="https://example.org/performance")
    parsed = feedparser.parse((tmp_path / "site" / "feed.xml").read_bytes())
    assert not parsed.bozo
    assert parsed.version == "atom10"
    assert {"id", "title", "updated", "author"} <= set(parsed.feed)
    (entry, *_) = parsed.entries
    assert entry.title == "cpu of ./slow: slower +100.0 %"
    size, state, _ = entry.summary.split("<br />")
    assert size.endswith(f" Change {STEP}")
    assert state == "State: new."
    assert entry.link.startswith("https://example.org/performance/change/")
    assert (tmp_path / "site" / entry.link.removeprefix("https://example.org/performance/")).is_file()
    assert len({each.id for each in parsed.entries}) == len(parsed.entries)
    assert all(each.updated_parsed for each in parsed.entries)


def test_the_feed_is_xml_whatever_the_project_is_called(measured: Project, tmp_path: Path) -> None:
    engine.publish(repository(measured), tmp_path / "site", title="R&D <x> \"q\" 'é' ]]> \x01\ud800 &amp;")
    root = ElementTree.fromstring((tmp_path / "site" / "feed.xml").read_bytes())
    titles = [element.text for element in root.iter("{http://www.w3.org/2005/Atom}title")]
    assert titles == [
        "R&D <x> \"q\" 'é' ]]> \\x01\\ud800 &amp;: regressions of performance",
        "cpu of ./slow: slower +100.0 %",
    ]
    author = root.findtext("{http://www.w3.org/2005/Atom}author/{http://www.w3.org/2005/Atom}name")
    assert f"{author}: regressions of performance" == titles[0]


def feed_entries(project: Project, site: Path) -> dict[str, str]:
    """The titles of the entries of a feed that is published now, by their identities."""
    engine.publish(repository(project), site, url="https://example.org/performance")
    entries = feedparser.parse((site / "feed.xml").read_bytes()).entries
    return {entry.id: entry.title for entry in entries}


def test_a_regression_of_the_newest_version_stays_one_entry_of_the_feed(measured: Project, tmp_path: Path) -> None:
    before = feed_entries(measured, tmp_path / "site")
    becoming_slower = {"./slow": lambda _: 10_000_000, "./steady": lambda _: 6_000_000}
    measure(measured, becoming_slower, versions=1)
    with_step = feed_entries(measured, tmp_path / "site")
    (step,) = with_step.keys() - before.keys()
    assert with_step[step].startswith("cpu of ./steady: slower +")
    for _ in range(2):
        measure(measured, becoming_slower, versions=1)
        assert feed_entries(measured, tmp_path / "site").keys() == with_step.keys()


def test_a_drift_stays_one_entry_of_the_feed_wherever_it_seems_to_begin(measured: Project) -> None:
    site = Site(repository(measured))
    at, row = next((at, row) for at, row in enumerate(site.branch.series) if row.changes and row.primary)

    def identities(*starts: int) -> list[str]:
        drifts = tuple(
            histories.change(number, kind="drift", target=site.branch.versions[start].id[:10])
            for number, start in enumerate(starts)
        )
        series = [*site.branch.series[:at], replace(row, changes=drifts), *site.branch.series[at + 1 :]]
        derived = Derived(branch=replace(site.branch, series=tuple(series)))
        site._derived = derived
        return [entry.id for entry in feedparser.parse(feed.atom(site, "", "feed.xml")).entries]

    (once,) = identities(2)
    assert identities(4) == [once]
    assert identities(9, 2)[1] == once


def test_the_feed_stays_the_same_feed_when_older_versions_are_measured(project: Project, tmp_path: Path) -> None:
    versions = [project.commit(f"Change {number}") for number in range(3)]
    history = open_repository(project.path)
    identities = set()
    for number in (2, 1, 0):
        history.register(history.save(of_command("./slow", number, 5_000_000)), versions[number])
        engine.publish(repository(project), tmp_path / "site")
        identities.add(feedparser.parse((tmp_path / "site" / "feed.xml").read_bytes()).feed.id)
    assert len(identities) == 1


def test_memory_is_worse_and_not_slower_in_feed_and_badges(project: Project, tmp_path: Path, files: Files) -> None:
    history = open_repository(project.path)
    for number in range(12):
        size = 2**20 * (1 + (number >= STEP))
        profile = suite({"load": [size, size + 1, size + 2]}, unit="B", created=CREATED + number)
        history.register(history.save(profile), project.commit(f"Change {number}"))
    (title,) = feed_entries(project, tmp_path / "site").values()
    assert title == "load: cpu: worse +100.0 %"
    badges = [content for name, content in files(tmp_path / "site").items() if name.startswith("badges/")]
    assert [ElementTree.fromstring(content)[0].text for content in badges] == ["load: ▲ worse +100.0 %"]


def test_a_metric_that_fails_the_check_is_in_feed_and_badges(project: Project, tmp_path: Path, files: Files) -> None:
    history = open_repository(project.path)
    for number in range(12):
        resources = table_of(
            "resources",
            [
                column("benchmark", ["load"] * 3, role="benchmark"),
                column("run", [0, 1, 2], role="order"),
                column("cpu", [100, 101, 102], unit="ns", role="value"),
                column("allocs/op", [3 + (number >= STEP)] * 3, role="value"),
            ],
        )
        profile = suite({"load": [100, 101, 102]}, created=CREATED + number).replace_tables(resources=resources)
        history.register(history.save(profile), project.commit(f"Change {number}"))
    assert feed_entries(project, tmp_path / "site") == {}
    project.perf("config", "set", "check.fail_on", "degradation:allocs/op")
    (title,) = feed_entries(project, tmp_path / "site").values()
    assert title == "load: allocs/op: worse +33.3 %"
    badges = [content for name, content in files(tmp_path / "site").items() if name.startswith("badge")]
    titles = {ElementTree.fromstring(content)[0].text for content in badges}
    assert titles == {"performance: ▲ 1 of 2 slower (allocs/op)", "load: = same", "load allocs/op: ▲ worse +33.3 %"}


def test_badges_say_the_state(measured: Project, tmp_path: Path, files: Files) -> None:
    engine.publish(repository(measured), tmp_path / "site")
    badges = {name: content for name, content in files(tmp_path / "site").items() if name.endswith(".svg")}
    title = ElementTree.fromstring(badges["badge.svg"]).findtext("{http://www.w3.org/2000/svg}title")
    assert title == "performance: ▲ 1 of 2 slower"
    titles = {ElementTree.fromstring(content)[0].text for content in badges.values()}
    assert any(str(title).startswith("./slow: ▲ slower +") for title in titles)
    assert "./steady: = same" in titles


def test_the_badge_of_a_newest_version_without_measurements_calls_it_not_measured(measured: Project) -> None:
    branch = Site(repository(measured)).branch
    series = tuple(replace(row, changes=(), newest=0) for row in branch.series)
    picture = badge.of_branch(replace(branch, series=series))
    assert ElementTree.fromstring(picture)[0].text == "performance: ○ not measured"


def test_hostile_names_stay_text(project: Project, tmp_path: Path, files: Files) -> None:
    measure(project, {name: lambda at: 5_000_000 * (1 + at) for name in (*NAMES, "x\x0by")}, versions=2)
    engine.publish(repository(project), tmp_path / "site", title='"><script>alert(1)</script>')
    for name, content in files(tmp_path / "site").items():
        if name.endswith((".svg", ".xml")):
            ElementTree.fromstring(content)
        assert b"<script>alert" not in content
        assert hostile.unsafe(content.decode()) == set()
    assert not feedparser.parse((tmp_path / "site" / "feed.xml").read_bytes()).bozo


@pytest.mark.parametrize(
    "url", ["ftp://x/", "example.org", "https://", "https://x/?a", "https://x/\n", "http://[", "https://ü/"]
)
def test_an_address_that_is_none_is_refused(measured: Project, tmp_path: Path, url: str) -> None:
    assert "is no address of a site" in measured.perf("publish", str(tmp_path / "site"), "--url", url, code=2).err
    assert not (tmp_path / "site").exists()


def test_nothing_measured_is_a_site_too(project: Project, tmp_path: Path) -> None:
    project.commit("First")
    document = project.perf("publish", str(tmp_path / "site"), "--json").json
    errors = Draft202012Validator(json.loads(SCHEMA.read_text())).iter_errors(document)
    assert [error.message for error in errors] == []
    assert "not measured" in (tmp_path / "site" / "badge.svg").read_text()
    assert not feedparser.parse((tmp_path / "site" / "feed.xml").read_bytes()).bozo


def test_the_library_publishes_too(measured: Project, tmp_path: Path) -> None:
    result = open_repository(measured.path).command("publish", folder=tmp_path / "site", title="Sorting")
    assert result.folder == tmp_path / "site"
    assert "Sorting" in (tmp_path / "site" / "index.html").read_text()


class TestPublish(PublishContract):
    """Every law of the kind command."""
