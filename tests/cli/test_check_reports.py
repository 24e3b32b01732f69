"""What `perf check` reports, fails on and keeps."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.distributions import Site

from perfcore.model.record import replace

if TYPE_CHECKING:
    from .conftest import Here

MS = 1_000_000


@pytest.fixture
def unclear(here: Here) -> Here:
    """Two versions of which the second was measured only twice."""
    here.register(profiles.timed(runs=12, wall=100 * MS))
    here.commit("Few runs")
    here.register(profiles.timed(runs=2, wall=130 * MS))
    return here


def test_each_format_can_stand_in_the_place_of_the_table(slowed: Here) -> None:
    printed = {name: slowed.perf("check", "--format", name, code=1).out for name in ("junit", "sarif", "github")}
    assert ElementTree.fromstring(printed["junit"]).attrib["failures"] == "1"
    levels = [result["level"] for result in json.loads(printed["sarif"])["runs"][0]["results"]]
    assert levels == ["error"], "one slow version is one alert, though wall time grew with CPU time"
    assert sum(line.startswith(("::error", "::warning")) for line in printed["github"].splitlines()) == 1
    assert "with wall +100.0 %25" in printed["github"]
    assert printed["github"].startswith("::error title=cpu slower")
    assert slowed.perf("check", "--format", "markdown", code=1).out.startswith("### Performance: ❌ regression\n")
    assert slowed.perf("check", "--format", "json", code=1).out == slowed.perf("check", "--json", code=1).out
    assert slowed.perf("check", "--format", "table", code=1).out == slowed.perf("check", code=1).out


def test_reports_are_written_beside_the_table(slowed: Here) -> None:
    table = slowed.perf("check", code=1).out
    words = ("--report", "junit=out/a b/junit.xml", "--report", "sarif=x.sarif", "--report", "github=-")
    done = slowed.perf("check", *words, code=1)
    assert done.out.startswith(table)
    assert done.out.removeprefix(table).startswith("::error ")
    assert ElementTree.parse(slowed.path / "out" / "a b" / "junit.xml").getroot().tag == "testsuites"
    assert json.loads((slowed.path / "x.sarif").read_text())["version"] == "2.1.0"
    before = (slowed.path / "x.sarif").read_text()
    (slowed.path / "x.sarif").write_text("of the build before" * 1000)
    slowed.perf("check", *words, code=1)
    assert (slowed.path / "x.sarif").read_text() == before


def test_reports_name_the_machines_that_compared_the_same_versions(here: Here) -> None:
    """By their hosts, as the table does; programs get ids."""
    machines = {"ann-laptop": "1:" + "a" * 40, "bob-desktop": "1:" + "b" * 40}
    for subject, slowdown in (("", 1), ("Slower", 2)):
        if subject:
            here.commit(subject)
        for host, id in machines.items():
            profile = replace(profiles.timed(runs=12, wall=slowdown * 100 * MS), machine={"host": host})
            here.register(profile, environment_id=id)
    printed = {
        name: here.perf("check", "--format", name, code=1).out for name in ("junit", "sarif", "github", "markdown")
    }
    for text in printed.values():
        assert "1:aaaa" not in text
        assert "1:bbbb" not in text
    cases = [case.attrib["name"] for case in ElementTree.fromstring(printed["junit"]).iter("testcase")]
    assert sorted(cases) == ["cpu on ann-laptop", "cpu on bob-desktop"]
    alerts = json.loads(printed["sarif"])["runs"][0]["results"]
    assert len({alert["partialFingerprints"]["perfcoreChange/v1"] for alert in alerts}) == 2
    for host in machines:
        assert f" on {host}: cpu slower" in printed["github"]
        assert f" on `{host}` | `cpu` |" in printed["markdown"]
        assert sum(f" on {host}: cpu slower" in alert["message"]["text"] for alert in alerts) == 1
    changes = here.perf("check", "--json", code=1).json["changes"]
    assert {id for change in changes for id in change["environments"]} == set(machines.values())


REPORTS = """
class Ids:
    def render(self, result, sources):
        (change,) = result.failing
        return f"{change.metric} {sources.version(change.target)} {sources.read(None, 'README')}".encode()

class Broken:
    def render(self, result, sources):
        raise ValueError("no")
"""


def test_any_installed_report_is_taken_by_its_name(slowed: Here, site: Site) -> None:
    points = {"perfcore.report": ["ids = acme_reports:Ids", "broken = acme_reports:Broken"]}
    site.install("acme-reports", points=points, acme_reports=REPORTS)
    assert slowed.perf("check", "--format", "ids", code=1).out == f"cpu {slowed.head} b'hello\\n'"
    done = slowed.perf("check", "--report", "broken=x", "--report", "ids=ids.txt", code=1)
    assert "warning: report 'broken' (acme-reports 1.0) in render: ValueError" in done.err
    assert (slowed.path / "ids.txt").read_text().startswith("cpu ")


def test_an_unknown_report_names_the_distribution_that_may_bring_it(slowed: Here) -> None:
    assert "perfcore-report-gitlab may bring it" in slowed.perf("check", "--format", "gitlab", code=2).err
    plain = {"PERF_DISABLED_PLUGINS": "perfcore-report-ci"}
    assert "perfcore-report-ci may bring it" in slowed.perf("check", "--format", "sarif", env=plain, code=2).err
    assert slowed.perf("check", "--format", "json", env=plain, code=1).json["degraded"]


def test_nothing_happens_by_itself_on_github(slowed: Here) -> None:
    table = slowed.perf("check", code=1).out
    summary = slowed.path.parent / "summary"
    done = slowed.perf("check", env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary), "CI": "1"}, code=1)
    assert done.out == table
    assert not summary.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--format", "xml"), "there is no format 'xml'"),
        (("--format", "junitt"), "did you mean 'junit'?"),
        (("--json", "--format", "junit"), "--json is --format json"),
        (("--report", "junit"), "has no file"),
        (("--report", "table=x"), "there is no format 'table'"),
        (("--json", "--report", "junit=-"), "standard output gets json already"),
        (("--fail-on", "degraded"), "did you mean 'degradation'?"),
        (("--threshold", "cpu"), "a threshold is a number"),
        (("--threshold", "0.1", "--threshold", "0.2"), "given twice"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_compared(slowed: Here, words: tuple[str, ...], says: str) -> None:
    done = slowed.perf("check", *words, code=2)
    assert says in done.err
    assert done.out == ""


def test_a_report_that_cannot_be_written_is_an_error_and_hides_no_degradation(slowed: Here) -> None:
    (slowed.path / "file").write_text("")
    words = ("--report", "junit=file/junit.xml", "--report", "sarif=x.sarif")
    done = slowed.perf("check", *words, code=1)
    assert "warning: cannot write" in done.err
    assert (slowed.path / "x.sarif").exists()
    done = slowed.perf("check", "--threshold", "9", *words, code=4)
    assert "cannot write" in done.err
    assert "1 unchanged" in done.out


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no such device")
def test_a_device_is_written_to_and_stays(slowed: Here) -> None:
    slowed.perf("check", "--report", "junit=/dev/null", code=1)
    assert not Path("/dev/null").is_file()


def test_what_fails_is_a_choice(slowed: Here) -> None:
    slowed.perf("check", "--fail-on", "never")
    slowed.perf("check", "--fail-on", "never", "--fail-on", "degradation:max_rss")
    slowed.perf("check", "--fail-on", "never", "--fail-on", "degradation:wall", code=1)
    for word in ("degradation:max_rss", "cannot-tell", "any-degradation"):
        slowed.perf("check", "--fail-on", word, code=1)
    slowed.perf("check", "--fail-on", "any-degradation", code=1)
    assert slowed.perf("check", "--fail-on", "never", "--json").json["degraded"] is False
    slowed.perf("config", "set", "check.fail_on", "[never]")
    slowed.perf("check")
    slowed.perf("check", "--fail-on", "degradation", code=1)


def test_a_metric_that_the_build_watches_has_a_row_whatever_came_of_it(slowed: Here) -> None:
    assert "max_rss" not in slowed.perf("check", "--fail-on", "never").out
    words = ("check", "--fail-on", "never", "--fail-on", "degradation:max_rss")
    assert [line.split()[1] for line in slowed.perf(*words).out.splitlines()[2:4]] == ["cpu", "max_rss"]
    assert ElementTree.fromstring(slowed.perf(*words, "--format", "junit").out).findall(".//testcase[@name='max_rss']")


def test_what_cannot_be_told_has_an_exit_code_of_its_own(unclear: Here) -> None:
    assert "1 inconclusive" in unclear.perf("check").out
    unclear.perf("check", "--fail-on", "cannot-tell", code=8)
    unclear.perf("check", "--fail-on", "cannot-tell", "--fail-on", "degradation", code=8)


def test_a_metric_that_nothing_has_is_an_error(slowed: Here) -> None:
    done = slowed.perf("check", "--threshold", "9", "--fail-on", "degradation:cpuu", code=2)
    assert "names 'cpuu', which is not a compared metric" in done.err
    assert "did you mean 'cpu'?" in done.err
    assert "1 unchanged" in done.out
    assert "names 'cpuu'" in slowed.perf("check", "--fail-on", "degradation:cpuu", code=1).err
    slowed.perf("check", "all", "--threshold", "9", "--fail-on", "cannot-tell:cpuu", code=2)
    slowed.perf("check", "all", "--threshold", "9", "--fail-on", "cannot-tell:wall")


def test_a_gate_that_compared_nothing_fails_unless_told_to_pass(here: Here) -> None:
    here.register(profiles.timed(runs=12))
    assert "nothing was compared" in here.perf("check", code=9).out
    here.perf("check", "--allow-empty")
    here.perf("check", "--fail-on", "never")
    here.perf("check", "--allow-empty", "--fail-on", "cannot-tell", code=8)


def test_a_threshold_can_be_of_one_metric(slowed: Here) -> None:
    assert slowed.perf("check", "--threshold", "cpu=1.5", "--threshold", "wall=1.5").code == 0
    slowed.perf("check", "--threshold", "wall=1.5", code=1)
    slowed.perf("config", "set", "check.thresholds", "{cpu: 1.5}")
    slowed.perf("check", "--threshold", "wall=0.1")
    slowed.perf("check", "--threshold", "0.1", code=1)


def test_the_result_is_kept_once_and_shown(slowed: Here) -> None:
    assert "checked" not in slowed.perf("status").out
    slowed.perf("check", code=1)
    kept = slowed.snapshot()
    slowed.perf("check", code=1)
    assert slowed.snapshot() == kept
    status = slowed.perf("status").out
    assert "▲ slower  +100.0 %  cpu" in status
    assert "▲ slower +100.0 % cpu" in slowed.perf("log", "--short").lines[0]
    assert "▲" not in slowed.perf("log", "--short").lines[1]
    assert "  ▲ slower  +100.0 %  cpu" in slowed.perf("log").out
    (cpu,) = (c for c in slowed.perf("status", "--json").json["changes"] if c["primary"])
    assert (cpu["kind"], cpu["metric"], cpu["method"], cpu["accepted"]) == ("degradation", "cpu", "pair", False)
    first, second = (json.loads(line) for line in slowed.perf("log", "--json").lines)
    assert [change["metric"] for change in first["changes"] if change["primary"]] == ["cpu"]
    assert second["changes"] == []


def test_a_version_in_which_nothing_changed_says_so(here: Here) -> None:
    here.register(profiles.timed(runs=12))
    here.commit("Same")
    here.register(profiles.timed(runs=12))
    here.perf("check")
    assert "and no change found" in here.perf("status").out
    assert "checked" not in here.perf("log").out


def test_a_version_of_which_nothing_can_be_told_says_so(unclear: Here) -> None:
    unclear.perf("check")
    assert ", inconclusive" in unclear.perf("status").out


def test_signs_that_the_terminal_cannot_show_are_left_out(slowed: Here) -> None:
    slowed.perf("check", code=1)
    done = slowed.real.perf("status", env={"PYTHONIOENCODING": "ascii"})
    assert "\n  slower  +100.0 %  cpu" in done.out
    assert "\\u25b2" not in slowed.real.perf("log", env={"PYTHONIOENCODING": "ascii"}).out


def test_a_history_is_kept_with_its_versions(here: Here) -> None:
    for number in range(12):
        here.commit(f"Version {number}")
        here.register(profiles.timed(runs=12, wall=(100 if number < 6 else 200) * MS + number * MS // 10))
    here.perf("check", "all", code=None)
    marked = [line for line in here.perf("log", "--short").lines if "slower" in line]
    assert len(marked) == 1
    assert "Version 6" in marked[0]


def test_what_is_of_no_version_is_not_kept(slowed: Here) -> None:
    before = slowed.snapshot()
    slowed.perf("check", "HEAD~1:0@i", "0@i", code=1)
    slowed.perf("check", "--no-store", code=1)
    assert {name for name in slowed.snapshot() if "/objects/" in name} == {n for n in before if "/objects/" in n}
    slowed.save(profiles.timed(runs=12, wall=500 * MS), dirty=True)
    before = slowed.snapshot()
    slowed.perf("check", "0@p", code=1)
    assert {name for name in slowed.snapshot() if "/objects/" in name} == {n for n in before if "/objects/" in n}


def test_results_survive_garbage_collection_and_fsck_reads_them(slowed: Here) -> None:
    slowed.perf("check", code=1)
    slowed.perf("gc", "--grace", "0")
    assert "OK: nothing is damaged or missing" in slowed.perf("fsck").err
    assert "slower" in slowed.perf("status").out


def test_a_damaged_result_is_named_and_the_rest_goes_on(slowed: Here) -> None:
    before = {name for name in slowed.snapshot() if "/objects/" in name}
    slowed.perf("check", code=1)
    for name in {name for name in slowed.snapshot() if "/objects/" in name} - before:
        if os.path.isfile(name):
            os.chmod(name, 0o600)
            Path(name).write_bytes(b"nonsense")
    for words in (("log",), ("log", "--short"), ("status",), ("status", "--json")):
        done = slowed.perf(*words, code=4)
        assert "warning:" in done.err
        assert "fsck" in done.err
        assert "Slower" in done.out or "profiles" in done.out
    done = slowed.perf("check", code=1)
    assert "warning: the result is not kept:" in done.err


def test_a_store_that_cannot_be_written_can_be_checked(slowed: Here, site: Site) -> None:
    site.install(
        "acme-storage",
        points={"perfcore.storage": ["frozen = acme_storage:Frozen"]},
        acme_storage="from perfcore.errors import StorageError\nfrom perfcore_storage_local import LocalStorage\n"
        "def refuse(*words): raise StorageError('this place is read only')\n"
        'class Frozen(LocalStorage):\n    """Reads."""\n'
        "    def create(self, key, data): refuse()\n"
        "    def replace(self, key, data, tag): refuse()\n"
        "    def touch(self, key): refuse()\n",
    )
    slowed.perf("config", "set", "storage.name", "frozen")
    done = slowed.real.perf("check", env=site.env, code=1)
    assert "warning: the result is not kept: this place is read only" in done.err
    assert "1 regression" in done.out


@pytest.fixture
def notifiers(site: Site) -> Site:
    site.install(
        "acme-notify",
        points={"perfcore.notifier": ["good = acme_notify:Good", "bad = acme_notify:Bad"]},
        acme_notify="import json, pathlib\n"
        'class Good:\n    """Write it down."""\n'
        "    def notify(self, report): pathlib.Path('told').write_text(json.dumps(report))\n"
        'class Bad:\n    """Fail."""\n    def notify(self, report): raise OSError("no route")\n',
    )
    return site


def test_notifiers_get_what_json_prints(slowed: Here, notifiers: Site) -> None:
    project = slowed.real
    printed = project.perf("check", "--json", "--notify", "good", env=notifiers.env, code=1).json
    assert json.loads((slowed.path / "told").read_text()) == printed
    (slowed.path / "told").unlink()
    project.perf("config", "set", "check.notify", "good")
    project.perf("check", env=notifiers.env, code=1)
    assert (slowed.path / "told").exists()


def test_a_notifier_that_fails_is_told_and_hides_no_degradation(slowed: Here, notifiers: Site) -> None:
    project = slowed.real
    done = project.perf("check", "--notify", "bad", "--notify", "good", env=notifiers.env, code=1)
    assert "acme-notify" in done.err
    assert "no route" in done.err
    assert (slowed.path / "told").exists()
    project.perf("check", "--threshold", "9", "--notify", "bad", env=notifiers.env, code=5)
    done = project.perf("check", "--notify", "godo", env=notifiers.env, code=5)
    assert "did you mean 'good'?" in done.err
    assert done.out == "", "that is known before anything is compared"


def test_a_notifier_of_the_project_has_to_be_trusted(slowed: Here, notifiers: Site) -> None:
    slowed.write(".perfcore.yml", "check: {notify: [good]}\n")
    slowed.real.perf("check", env=notifiers.env, code=7)
    assert not (slowed.path / "told").exists()


def test_hostile_names_stay_text_on_the_terminal(here: Here) -> None:
    name = hostile.NAMES[4] + hostile.NAMES[2]
    for wall in (100 * MS, 200 * MS):
        here.commit("Next")
        made = profiles.timed(runs=12, wall=wall)
        here.register(made, header=replace(made.header, cmd=name, argv=(name,)))
    here.perf("check", code=1)
    for words in (("check",), ("status",), ("log",), ("log", "--short"), ("check", "--verbose")):
        assert hostile.unsafe(here.perf(*words, code=None).out) == set()
