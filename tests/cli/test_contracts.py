"""Contracts of a project, checked by `perf check`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing import profiles
from perfcore_testing.distributions import site

from perfcore.analysis import stored_results
from perfcore.library import History
from perfcore.model.record import replace
from perfcore.plugins.installed import requirement
from perfcore.profile.table import column, table

if TYPE_CHECKING:
    from perfcore_testing.distributions import Site

    from perfcore.model import Profile

    from .conftest import Here

__all__ = ["site"]
MS = 1_000_000


def _profile(cpu: list[float], memory: float = 1000, number: int = 0) -> Profile:
    columns = [
        column("run", list(range(len(cpu))), role="order"),
        column("cpu", [int(amount * MS) for amount in cpu], unit="ns", role="value"),
        column("max_rss", [int(memory * 1024)] * len(cpu), unit="B", role="value"),
    ]
    # Blocks of one session: runs of different ones would have to differ by more.
    blocks = [
        columns[0],
        column("session", ["s"] * len(cpu), role="dimension"),
        column("block", [1000 * number + run for run in range(len(cpu))], role="order"),
    ]
    tables = {"resources": table("resources", columns), "runs": table("runs", blocks)}
    made = profiles.profile(tables, created=profiles.CREATED + number)
    return replace(made, header=replace(made.header, cmd="./parse", args="big", workload=""))


def _noisy(level: float) -> list[float]:
    return [level * (1 + (run * 7919 % 13 - 6) / 1000) for run in range(20)]


@pytest.fixture(scope="module")
def two_versions(made: Callable[..., Here]) -> Here:
    """10 ms and 1,000 KiB, then 8 ms and 1,040 KiB."""
    here = made()
    here.register(_profile(_noisy(10)))
    here.git("tag", "v1")
    here.commit("Trade memory for time")
    here.register(_profile(_noisy(8), memory=1040, number=1))
    return here


@pytest.fixture
def history(two_versions: Here, copied: Callable[[Here], Here]) -> Here:
    return copied(two_versions)


def _check(here: Here, *sentences: str, code: int = 0) -> dict[str, Any]:
    here.write(".perfcontract.yml", "parse:\n" + "".join(f"  - {sentence}\n" for sentence in sentences))
    done = here.perf("check", "--json", "--threshold", "0.01", code=code)
    return {change["contract"]: change for change in done.json["changes"] if change["contract"]}


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("cpu <= 9 ms at p95", "same"),
        ("cpu <= 7 ms at p95", "degradation"),
        ("cpu <= 8 ms at p95", "degradation"),
        ("cpu <= 8.04 ms at p95", "cannot-tell"),
        ("cpu >= 9 ms", "degradation"),
        ("memory <= 2 MiB", "same"),
        ("memory may grow 5 % if time falls 10 %", "same"),
        ("memory may grow 5 % if time falls 40 %", "degradation"),
        ("memory may grow 5 % if no-such falls 10 %", "cannot-tell"),
        ("memory may grow 3 % if time falls 10 %", "degradation"),
        ("memory may grow 2 %", "degradation"),
        ("time may grow 1 %", "same"),
        ("memory may drift 1 % since v1", "degradation"),
        ("memory may drift 10 % since the last release", "same"),
        ("time may drift 1 % since HEAD~1", "same"),
        ("no-such <= 5", "cannot-tell"),
        ("no-such may grow 5 %", "cannot-tell"),
        ("no-such may drift 5 % since v1", "cannot-tell"),
    ],
)
def test_a_sentence_is_kept_or_broken(history: Here, sentence: str, kind: str) -> None:
    (change,) = _check(history, sentence, code=1 if kind == "degradation" else 0).values()
    assert change["kind"] == kind
    assert change["evidence"]
    assert change["label"] == "./parse big"


def test_the_table_tells_every_contract(history: Here) -> None:
    _check(history, "cpu <= 9 ms", "cpu <= 7 ms", code=1)
    lines = history.perf("check", code=1).lines
    assert any(line.split()[:6] == ["kept", "./parse", "big", "cpu", "<=", "9"] for line in lines)
    (broken,) = [line for line in lines if line.startswith("broken")]
    assert "8 ms of 7 ms; 20 of 20 runs beyond it" in broken
    assert lines[-1].endswith("2 contracts: 1 broken")


def test_what_a_contract_allows_fails_nothing(here: Here) -> None:
    """A primary metric that got worse within what was agreed."""
    here.register(_profile(_noisy(10)))
    here.commit("Slower")
    here.register(_profile(_noisy(12), number=1))
    here.perf("check", "--threshold", "0.01", code=1)
    (change,) = _check(here, "time may grow 25 %").values()
    assert change["kind"] == "same"
    lines = here.perf("check", "--threshold", "0.01").lines
    allowed = "0 regressions, 0 improvements, 0 unchanged, 1 other metric worse, 1 allowed by a contract"
    assert lines[-1] == f"1 comparison: {allowed}; 1 contract: 0 broken"
    assert [line.split()[0] for line in lines[1:] if line.strip()] == ["slower", "kept", "1"]


def test_a_contract_takes_nothing_but_degradations_from_what_decides(history: Here) -> None:
    history.write(".perfcontract.yml", "parse: [time may grow 25 %]\n")
    lines = history.perf("check", "--threshold", "0.01").lines
    assert (
        lines[-1]
        == "1 comparison: 0 regressions, 1 improvement, 0 unchanged, 1 other metric worse; 1 contract: 0 broken"
    )
    assert (lines[0], lines[2].split()[0]) == ("./parse big", "faster")


def test_one_run_over_a_budget_cannot_tell(here: Here) -> None:
    here.register(_profile([10.0]))
    (change,) = _check(here, "cpu <= 9 ms").values()
    assert change["kind"] == "cannot-tell"


def test_a_contract_of_no_measured_command_cannot_be_told(history: Here) -> None:
    history.write(".perfcontract.yml", "'sort *': [cpu <= 1 ns]\n./parse *: [cpu <= 9 ms]\nparse *: [cpu <= 9 ms]\n")
    done = history.perf("check")
    assert [line.split("  ")[0] for line in done.lines if "cpu <=" in line] == ["kept", "kept", "inconclusive"]
    assert "no measured command fits 'sort *'" in done.out
    assert "3 contracts: 0 broken, 1 inconclusive" in done.out
    history.perf("check", "--fail-on", "cannot-tell", code=8)


def test_a_command_that_only_this_version_lacks_is_told_from_one_that_nobody_measured(here: Here) -> None:
    here.register(_profile(_noisy(10)))
    here.commit("Another")
    other = _profile(_noisy(10), number=1)
    here.register(replace(other, header=replace(other.header, cmd="./sort")))
    here.write(".perfcontract.yml", "parse: [cpu <= 1 s]\nsort: [cpu <= 1 s]\nscan: [cpu <= 1 s]\n")
    evidence = {change["label"]: change["evidence"] for change in here.perf("check", "--json").json["changes"]}
    assert evidence["parse"] == "this version was not measured with a command that fits 'parse'; others were"
    assert evidence["scan"] == "no measured command fits 'scan'"
    assert "runs beyond it" in evidence["./sort big"]


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("nonsense", "is not a valid contract sentence"),
        ("cpu <= 5 MB", "no unit of"),
        ("cpu <= 5", "has none"),
        ("cpu <= 5 ms at p0", "is not a quantile"),
        ("cpu may fall 5 %", "is better where it is lower"),
    ],
)
def test_a_sentence_that_makes_no_sense_is_an_error_that_names_it(history: Here, sentence: str, says: str) -> None:
    history.write(".perfcontract.yml", f"parse:\n  - cpu <= 9 ms\n  - {sentence}\n")
    done = history.perf("check", code=2)
    assert f".perfcontract.yml, line 3: '{sentence}'" in done.err
    assert says in done.err
    assert done.out == ""


def test_a_version_that_nobody_knows_makes_one_sentence_unclear_and_no_other(history: Here) -> None:
    found = _check(history, "cpu <= 9 ms", "time may drift 3 % since no-such-release")
    assert found["cpu <= 9 ms"]["kind"] == "same"
    unclear = found["time may drift 3 % since no-such-release"]
    assert unclear["kind"] == "cannot-tell"
    assert unclear["evidence"] == ".perfcontract.yml, line 3: there is no version 'no-such-release'"


@pytest.mark.parametrize("sentence", ["memory may grow 1 %", "memory may drift 1 % since HEAD~1"])
def test_a_contract_may_be_tighter_than_the_threshold_of_the_check(history: Here, sentence: str) -> None:
    history.write(".perfcontract.yml", f"parse:\n  - {sentence}\n")
    done = history.perf("check", code=1)
    assert "worse" not in done.out, "4 % more memory is no change to the check itself"
    assert any(line.startswith("broken") and "+4.0 % since" in line for line in done.lines)


@pytest.fixture
def doubtful(here: Here) -> Here:
    """8 % more memory with a time of which nobody can tell whether it fell."""
    here.register(_profile(_noisy(10)))
    here.commit("Trade")
    times = [10 * (1 + (run * 7919 % 13 - 6) / 40) for run in range(20)]
    here.register(_profile(times, memory=1080, number=1))
    return here


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("memory may grow 9 % if time falls 2 %", "cannot-tell"),
        ("memory may grow 9 % if time grows 2 %", "cannot-tell"),
        ("memory may grow 9 % if time falls 50 %", "degradation"),
        ("memory may grow 9 % if time grows 50 %", "degradation"),
        ("memory may grow 9 %", "same"),
        ("memory may grow 7 % if time falls 2 %", "degradation"),
    ],
)
def test_where_a_condition_cannot_be_told_the_sentence_cannot(doubtful: Here, sentence: str, kind: str) -> None:
    (change,) = _check(doubtful, sentence, code=1 if kind == "degradation" else 0).values()
    assert (change["kind"], "it is inconclusive whether" in change["evidence"]) == (kind, kind == "cannot-tell")


def test_a_condition_of_exactly_what_happened_is_met(here: Here) -> None:
    here.register(_profile([10.0] * 5, memory=1000))
    here.commit("Trade")
    here.register(_profile([9.0] * 5, memory=1100, number=1))
    found = _check(here, "memory may grow 10 % if time falls 10 %", "memory may grow 10 % if time falls 10.1 %", code=1)
    assert [change["kind"] for change in found.values()] == ["same", "degradation"]


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("cpu <= 5.5 ms", "same"),
        ("cpu <= 5.4 ms", "cannot-tell"),
        ("cpu >= 5.5 ms", "same"),
        ("cpu >= 1 ms at p5", "same"),
        ("cpu >= 1.5 ms at p5", "cannot-tell"),
        ("cpu >= 9 ms at p5", "degradation"),
        ("cpu >= 10 ms at p95", "same"),
        ("cpu <= 1 ms at p5", "same"),
        ("cpu <= 10 ms at p95", "same"),
    ],
)
def test_a_quantile_is_what_so_many_runs_are_at_or_below(here: Here, sentence: str, kind: str) -> None:
    here.register(_profile([float(run) for run in range(1, 11)]))
    (change,) = _check(here, sentence, code=1 if kind == "degradation" else 0).values()
    assert change["kind"] == kind


def test_every_format_names_the_sentence(history: Here) -> None:
    history.write(".perfcontract.yml", "parse:\n  - cpu <= 7 ms\n")
    for name in ("junit", "sarif", "github", "markdown"):
        text = history.perf("check", "--format", name, code=1).out
        assert "7 ms" in text
        assert "broken" in text


def test_a_broken_contract_can_be_accepted(history: Here) -> None:
    (change,) = _check(history, "cpu <= 7 ms", code=1).values()
    history.perf("check", "ack", change["id"], "--why", "known")
    assert _check(history, "cpu <= 7 ms")["cpu <= 7 ms"]["accepted"]["why"] == "known"


def _objects(here: Here) -> set[str]:
    return {name for name in here.snapshot() if "/objects/" in name}


def test_a_broken_contract_is_kept_and_shown(history: Here) -> None:
    broken = _check(history, "cpu <= 7 ms", "memory <= 1 TiB", code=1)["cpu <= 7 ms"]
    kept = _objects(history)
    _check(history, "cpu <= 7 ms", "memory <= 1 TiB", code=1)
    assert _objects(history) == kept, "what is said again is not kept again"
    status = history.perf("status").out.split("checked ")[1].split("\n")[1:-1]
    assert status == [
        "  ▼ faster  -20.0 %  cpu          ./parse big",
        "  ✗ broken           cpu <= 7 ms  ./parse big",
    ]
    assert "\n".join(status) in history.perf("log").out
    newest, oldest = history.perf("log", "--short").lines
    assert newest.endswith("▼ faster -20.0 % cpu ./parse big; ✗ broken cpu <= 7 ms ./parse big")
    assert "broken" not in oldest
    (found,) = (each for each in history.perf("status", "--json").json["changes"] if each["contract"])
    assert (found["contract"], found["kind"], found["id"]) == ("cpu <= 7 ms", "degradation", broken["id"])
    assert len(history.perf("log", "--changes", "--short").lines) == 1
    done = history.real.perf("status", env={"PYTHONIOENCODING": "ascii"})
    assert "  broken           cpu <= 7 ms  ./parse big" in done.out


def test_status_tells_of_the_newest_check_even_where_it_found_nothing_new(history: Here) -> None:
    def shown() -> str:
        (line,) = (line for line in history.perf("status").lines if line.startswith("checked "))
        return line.removeprefix("checked ")[:4]

    _check(history, "cpu <= 7 ms", code=1)
    now, later = shown(), 4_000_000_000 * 10**9
    stored_results.remember_check(history.repository.store, history.head, later)
    assert shown() == "2096"
    history.perf("check", "--no-store", code=1)
    assert shown() == "2096"
    history.perf("check", "all", code=None)
    assert shown() == now
    for content in (b"damaged", b""):
        (history.path / ".perf" / "cache" / "derived.db").write_bytes(content)
        assert shown() == now, "what is kept with the version says it too"


def test_a_contract_that_is_kept_again_or_gone_is_shown_no_more(history: Here) -> None:
    for sentences in (["cpu <= 9 ms"], ["memory <= 1 TiB"], []):
        _check(history, "cpu <= 7 ms", code=1)
        assert "✗ broken" in history.perf("status").out
        _check(history, *sentences) if sentences else (history.path / ".perfcontract.yml").unlink()
        history.perf("check")
        assert "broken" not in history.perf("status").out
        assert "✗" not in history.perf("log").out


def test_a_kept_contract_says_nothing(here: Here) -> None:
    here.register(_profile(_noisy(10)))
    _check(here, "cpu <= 11 ms")
    assert "and no change found" in here.perf("status").out
    assert "11 ms" not in here.perf("log").out


def test_a_broken_contract_is_accepted_by_the_beginning_of_its_id(history: Here) -> None:
    id = _check(history, "cpu <= 7 ms", code=1)["cpu <= 7 ms"]["id"]
    assert (
        "(broken cpu <= 7 ms ./parse big at "
        in history.perf("check", "ack", id[:10], "--why", "known", "--author", "Ann").out
    )
    assert "✗ broken           cpu <= 7 ms  ./parse big  (accepted: known)" in history.perf("status").out
    (line,) = (line for line in history.perf("check").lines if line.startswith("accepted"))
    assert line.endswith("20 of 20 runs beyond it  by Ann: known")


def test_what_nobody_accepted_stands_first_in_a_line(history: Here) -> None:
    broken = _check(history, "cpu <= 7 ms", "memory <= 1 KiB", code=1)
    history.perf("check", "ack", broken["cpu <= 7 ms"]["id"], "--why", "known")
    assert history.perf("log", "--short").lines[0].endswith("; ✗ broken memory <= 1 KiB ./parse big and 1 more")


@pytest.mark.parametrize(
    ("sentence", "kind", "evidence"),
    [
        ("memory <= 64 MiB", "same", "at most 9 MiB of 64 MiB; 0 of 4 runs beyond it"),
        ("memory <= 10 MiB", "same", "at most 9 MiB of 10 MiB; 1 of 4 runs beyond it"),
        ("memory <= 10 MiB at p95", "cannot-tell", "20 MiB of 10 MiB; 1 of 4 runs beyond it"),
        ("memory <= 5 MiB", "cannot-tell", "20 MiB of 5 MiB; 1 of 1 run beyond it"),
        ("memory >= 1 MiB", "same", "20 MiB of 1 MiB; 0 of 1 run beyond it"),
    ],
)
def test_amounts_of_which_only_a_bound_is_known_keep_a_budget_above_it(
    here: Here, sentence: str, kind: str, evidence: str
) -> None:
    profile = _profile([10.0] * 4)
    hidden = column("max_rss", [None, None, 20 << 20, None], dtype="i64", unit="B", role="value")
    columns = [*list(profile.tables["resources"].columns)[:2], hidden]
    collector = replace(profile.collector, sampling={"max_rss_floor": 9 << 20})
    here.register(replace(profile, collector=collector).replace_tables(resources=table("resources", columns)))
    (change,) = _check(here, sentence).values()
    assert (change["kind"], change["evidence"]) == (kind, evidence)


def test_contracts_of_what_is_not_kept_are_not_kept(history: Here) -> None:
    history.write(".perfcontract.yml", "parse: [cpu <= 7 ms]\n")
    before = _objects(history)
    history.perf("check", "--no-store", code=1)
    assert "checked" not in history.perf("status").out
    assert _objects(history) == before


def test_contracts_are_of_versions_and_not_of_single_profiles(history: Here) -> None:
    history.write(".perfcontract.yml", "parse: [cpu <= 7 ms]\n")
    history.perf("tag", "fast", "0@i")
    for words in (["fast"], ["0@i"], ["HEAD~1:0@i", "0@i"]):
        assert "contract" not in history.perf("check", *words).out
    assert "1 contract: 1 broken" in history.perf("check", "HEAD", code=1).out


def test_a_contract_without_its_distribution_names_it_and_fails(history: Here, site: Site) -> None:
    """The stub in front of the real distribution hides its entry points, as if it were not installed."""
    site.install("perfcore-check-contract", points={})
    assert history.real.perf("check", env=site.env).code == 0, "without the file nothing needs it"
    history.write(".perfcontract.yml", "parse: [cpu <= 9 ms]\n")
    done = history.real.perf("check", code=5, env=site.env)
    assert "perfcore-check-contract is not installed, and .perfcontract.yml needs it" in done.err
    assert f"pip install {requirement('perfcore-check-contract')}" in done.err
    assert done.out == ""


def test_a_disabled_contract_fails_too(history: Here) -> None:
    history.write(".perfcontract.yml", "parse: [cpu <= 9 ms]\n")
    done = history.perf("check", code=5, env={"PERF_DISABLED_PLUGINS": "contract"})
    assert "check 'contract' (perfcore-check-contract" in done.err
    assert "is disabled" in done.err


@pytest.mark.parametrize("key", ["judges: [slo]", "name: slo", "history: slo"])
def test_a_configured_check_that_is_not_installed_is_named_with_its_distribution(history: Here, key: str) -> None:
    history.write(".perfcore.yml", f"check: {{{key}}}\n")
    history.perf("config", "trust", "--yes")
    words = ("check", "all", "--method", "slo") if "history" in key else ("check",)
    assert "perfcore-check-slo" in history.perf(*words, code=5).err


def test_calibration_without_its_distribution_names_it_and_fails(history: Here, site: Site) -> None:
    site.install("perfcore-check-calibration", points={})
    done = history.real.perf("check", "--calibrate", code=5, env=site.env)
    assert "perfcore-check-calibration is not installed, and perf check --calibrate needs it" in done.err


def test_the_library_gives_the_verdicts_on_contracts(history: Here) -> None:
    history.write(".perfcontract.yml", "parse: [cpu <= 9 ms, cpu <= 7 ms]\n")
    result = History(history.repository).contracts()
    assert [change.kind for change in result.changes] == ["same", "degradation"]
    assert result.conclusion == "2 contracts: 1 broken"
    assert result.exit_code == 1
