"""The library: `from perfcore import open_repository`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.project import Project

import perfcore
from perfcore import open_repository
from perfcore.analysis.check_result import CheckResult
from perfcore.errors import CommandFailedError, FormatError, NotFoundError, PerfError, UntrustedError, UsageError
from perfcore.library import History
from perfcore.measure.collect_result import CollectResult, Failure
from perfcore.model import Change
from perfcore.model.record import replace
from perfcore.profile.table import column, table

QUICK: dict[str, Any] = {"repeat": 2, "warmup": 0}


@pytest.fixture
def history(project: Project, monkeypatch: pytest.MonkeyPatch) -> History:
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    return open_repository(project.path)


def timed(history: History, wall: int, **changes: Any) -> str:
    """Register a profile of this time with the head; gives its id."""
    made = replace(profiles.timed(3, wall), origin=history.version(), **changes)
    return history.register(history.save(made)).profile


def test_the_package_stays_light() -> None:
    script = (
        "import sys, perfcore; print('perfcore.library' in sys.modules, 'attrs' in sys.modules);"
        "from perfcore import open_repository, History; print(open_repository.__module__);"
        "print('perfcore.measure.runner' in sys.modules);"
        "print({'typer', 'rich', 'polars', 'pandas', 'numpy', 'pytest'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False False", "perfcore.library", "False", "set()"]
    assert "open_repository" in dir(perfcore)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = perfcore.nothing_like_it


def test_a_folder_without_a_history_is_an_error(empty_project: Project) -> None:
    with pytest.raises(NotFoundError):
        open_repository(empty_project.path)


def test_what_is_collected_is_pending_until_it_is_registered(history: History) -> None:
    (measured,) = history.collect("time", ["sleep", "0.001"], **QUICK)
    assert [waiting.name for waiting in history.pending()] == [measured.name]
    entry = history.register(measured, tags=["mine", "ours"])
    assert (entry.cmd, entry.args, entry.collector) == ("sleep", "0.001", "time")
    assert history.pending() == []
    assert history.entries() == (entry,)
    assert history.profile(entry).header.argv == ("sleep", "0.001")
    assert history.profile("mine") == history.profile("0@i") == history.profile(entry)
    assert [(version.subject, len(entries)) for version, entries in history.versions()] == [("First", 1)]
    assert history.summary("mine")[0].runs == 2


def test_commands_of_one_call_take_turns(history: History) -> None:
    one, other = history.collect("time", "true", "sleep 0", **QUICK)
    sides = [history.profile(side).tables["runs"] for side in (one, other)]
    assert list(sides[0]["session"]) == list(sides[1]["session"])
    assert {change.metric for change in history.check(other, baseline=one).changes} >= {"wall", "cpu"}


def test_another_version_is_measured_in_a_tree_of_its_own(history: History, project: Project) -> None:
    first = history.version()
    project.commit("Second", tell__sh="exit 9\n")
    project.write("tell.sh", "exit 8\n")
    with pytest.raises(CommandFailedError):
        history.collect("time", "sh tell.sh", version="HEAD", **QUICK)
    (measured,) = history.collect("time", "test ! -e tell.sh", version="HEAD~1", **QUICK)
    assert history.register(measured) in history.entries(first)
    assert (project.path / "tell.sh").read_text() == "exit 8\n"
    with pytest.raises(UsageError, match="uncommitted"):
        history.register(history.collect("time", "true", **QUICK)[0])


def test_what_was_measured_is_kept_when_another_fails(history: History) -> None:
    with pytest.raises(PerfError, match="false"):
        history.collect("time", "true", "false", **QUICK)
    assert [waiting.profile.header.cmd for waiting in history.pending() if waiting.profile] == ["true"]


def test_options_and_commands_are_checked(history: History) -> None:
    with pytest.raises(UsageError, match="timeuot"):
        history.collect("time", "true", timeuot=3)
    with pytest.raises(UsageError, match="shell"):
        history.collect("time", "true | true")
    with pytest.raises(UsageError, match="no command"):
        history.collect("time", "")
    with pytest.raises(UsageError, match="outside"):
        history.collect("time", "true", cwd="..")
    assert not history.collect("time")
    (shell,) = history.collect("time", "exit 0 | exit 0", shell=True, **QUICK)
    assert history.profile(shell).header.shell


def test_what_a_versioned_file_wants_to_run_is_not_run_before_it_is_trusted(project: Project, history: History) -> None:
    project.write(".perfcore.yml", "execute: {pre_run: ['touch built']}\n")
    with pytest.raises(UntrustedError):
        open_repository(project.path).collect("time", "true", **QUICK)
    assert not (project.path / "built").exists()


def test_a_series_has_a_row_for_each_run_oldest_version_first(history: History, project: Project) -> None:
    old, new = timed(history, 100), None
    project.commit("Second")
    new = timed(history, 200)
    frame = history.series("wall").to_polars()
    assert frame["position"].to_list() == [0, 0, 0, 1, 1, 1]
    assert frame["profile"].to_list() == [old] * 3 + [new] * 3
    assert frame["subject"].to_list() == ["First"] * 3 + ["Second"] * 3
    assert frame["run"].to_list() == [0, 1, 2] * 2
    assert all(before < after for before, after in zip(frame["wall"][:3], frame["wall"][3:], strict=True))
    assert history.series("wall")["wall"].unit == "ns"
    assert history.series("wall", head="HEAD~1").rows == 3


def test_a_series_is_chosen_by_command_and_collector(history: History) -> None:
    timed(history, 100)
    (label,) = {entry.label for entry in history.entries()}
    assert history.series("wall", command=label).rows == 3
    assert history.series("wall", command=f"{label[:2]}*", collector="t*").rows == 3
    for wanted in ({"command": "no such command"}, {"collector": "none"}):
        with pytest.raises(NotFoundError):
            history.series("wall", **wanted)
    with pytest.raises(NotFoundError, match="nothing"):
        history.series("nothing")


def test_units_are_never_mixed(history: History) -> None:
    timed(history, 100)
    seconds = table("resources", [column("wall", [0.5], unit="s", role="value")])
    history.register(history.save(replace(profiles.timed(), tables={"resources": seconds}, dirty=False)))
    with pytest.raises(FormatError, match="'s'"):
        history.series("wall")


def test_a_head_is_checked_against_what_was_measured_alike(history: History, project: Project) -> None:
    with pytest.raises(NotFoundError, match="nothing to check"):
        history.check()
    timed(history, 10_000_000)
    project.commit("Second")
    timed(history, 30_000_000)
    changes = {change.metric: change for change in history.check(threshold=0.5).changes}
    assert changes["wall"].target == history.version()[:10]
    with pytest.raises(UsageError):
        history.check(baseline="0@i")
    with pytest.raises(UsageError):
        history.check(history.entries()[0])


@pytest.fixture
def slowed(history: History, project: Project) -> History:
    """Three times slower in its second version."""
    register(history, 10_000_000)
    project.commit("Second")
    register(history, 30_000_000)
    return history


def register(history: History, wall: int) -> None:
    history.register(history.save(profiles.timed(runs=12, wall=wall)))


def told(project: Project, *words: str, code: int | None = 0) -> Any:
    """What `perf check` says in JSON."""
    return project.perf("check", "--json", "--no-store", *words, code=code).json


def printed(found: CheckResult) -> Any:
    """An outcome as it is read from JSON."""
    return json.loads(json.dumps(found.as_json()))


@pytest.mark.parametrize("words", [(), ("HEAD",), ("all",), ("HEAD~1..HEAD",), ("0@i",)])
def test_a_check_says_what_the_command_says(slowed: History, project: Project, words: tuple[str, ...]) -> None:
    (project.path / ".perfcontract.yml").write_text("'*':\n  - wall <= 15 ms\n")
    found = slowed.check(*words)
    assert printed(found) == told(project, *words, code=1)
    assert found.degraded
    assert {change.contract for change in found.changes} - {""} == (
        {"wall <= 15 ms"} if words in [(), ("HEAD",)] else set()
    )


def test_a_check_of_two_says_what_the_command_says(slowed: History, project: Project) -> None:
    assert printed(slowed.check("0@i", "HEAD~1:0@i")) == told(project, "HEAD~1:0@i", "0@i", code=1)
    pending = slowed.save(replace(profiles.timed(runs=12, wall=90_000_000), dirty=True))
    assert printed(slowed.check(pending)) == told(project, "0@p", code=1)


def test_what_was_accepted_is_marked_and_fails_nothing(slowed: History, project: Project) -> None:
    before = slowed.check(keep=True)
    (cpu,) = before.failing
    assert before.exit_code == 1
    project.perf("check", "ack", cpu.id[:10], "--why", "safer", "--author", "Ann")
    after = slowed.check()
    assert (after.accepted[cpu.id].why, after.accepted[cpu.id].author) == ("safer", "Ann")
    assert cpu in after.changes
    assert not after.fails(cpu)
    assert (after.degraded, after.exit_code, after.failing) == (False, 0, ())


def test_what_fails_is_what_the_configuration_says(slowed: History, project: Project) -> None:
    project.perf("config", "set", "check.fail_on", "[never, degradation:wall]")
    again = open_repository(project.path)
    assert [change.metric for change in again.check().failing] == ["wall"]


def test_a_result_is_kept_where_that_is_asked_for(slowed: History, project: Project) -> None:
    slowed.check()
    assert "checked" not in project.perf("status").out
    slowed.check(keep=True)
    assert "slower  +200.0 %  cpu" in project.perf("status").out


def test_a_table_becomes_a_frame_of_pandas() -> None:
    pytest.importorskip("pandas", reason="pandas is a library of the user's own choice")
    columns = [
        column("n", [1, None, 3], dtype="i64"),
        column("u", [2**64 - 1, 0, None], dtype="u64"),
        column("f", [0.5, None, float("inf")], dtype="f64"),
        column("b", [True, None, False], dtype="bool"),
        column("s", ["ž", None, ""], dtype="str"),
    ]
    frame = table("resources", columns).to_pandas()
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "UInt64", "Float64", "boolean", "string"]
    for given in columns:
        read = [
            None if missing else value
            for value, missing in zip(frame[given.name], frame[given.name].isna(), strict=True)
        ]
        assert read == list(given)
    assert table("resources", []).to_pandas().empty


def test_several_versions_are_measured_by_one_call(
    history: History, project: Project, follow_schema: Callable[[str, Any], None]
) -> None:
    project.commit("Second")
    result = history.collect("time", "true", version=["HEAD~1", "HEAD"], register=True, **QUICK)
    assert [saved.job.version for saved in result] == [history.version("HEAD~1"), history.version()]
    assert [history.entries(saved.job.version) for saved in result] == [(saved.entry,) for saved in result]
    follow_schema("collect", json.loads(json.dumps(result.as_json())))


def test_failures_are_in_the_result_where_they_are_not_raised(
    history: History, follow_schema: Callable[[str, Any], None]
) -> None:
    result = history.collect("time", "true", "false", strict=False, **QUICK)
    assert [saved.profile.header.cmd for saved in result] == ["true"]
    assert [failure.subject for failure in result.failures] == [f"false at {history.version()[:10]}"]
    follow_schema("collect", json.loads(json.dumps(result.as_json())))


def test_a_matrix_is_run(history: History) -> None:
    matrix = {"bins": ["true"], "workloads": ["a", "b"], "collectors": ["time"]}
    assert [saved.job.workload for saved in history.run(matrix, **QUICK)] == ["a", "b"]


def test_garbage_is_collected_and_the_store_verified(
    history: History, follow_schema: Callable[[str, Any], None]
) -> None:
    timed(history, 100)
    history.remove("0@i")
    (removed,) = history.gc(0, dry_run=True).removed
    result = history.gc(0)
    assert result.removed == (removed,)
    follow_schema("gc", json.loads(json.dumps(result.as_json())))
    assert history.fsck().errors == 0
    follow_schema("fsck", json.loads(json.dumps(history.fsck().as_json())))


@pytest.mark.parametrize("name", hostile.NAMES)
def test_a_notebook_shows_names_as_text(history: History, name: str) -> None:
    shown = table("resources", [column(name or "empty", [name, None])])._repr_html_()
    failure = CollectResult(failures=(Failure(name, PerfError(name)),))._repr_html_()
    change = Change(id="c", kind="degradation", metric=name, label=name, ratio=0.5)
    for page in (shown, failure, CheckResult(changes=(change,))._repr_html_()):
        assert not [tag for tag in hostile.TAGS if tag in page]
        assert not hostile.unsafe(page)


def test_a_notebook_shows_a_history_and_what_was_measured(history: History) -> None:
    (saved,) = history.collect("time", "true", register=True, **QUICK)
    assert "<td>First</td><td>1</td>" in history._repr_html_()
    assert "<td>wall</td><td>2</td>" in saved._repr_html_()
    assert "<p>40 further rows</p>" in table("resources", [column("n", list(range(100)))])._repr_html_()
