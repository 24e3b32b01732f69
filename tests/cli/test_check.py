"""`perf check`: what is compared with what, and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from perfcore_testing import profiles
from perfcore_testing.check import measured, noisy
from perfcore_testing.distributions import Site

from perfcore.model.record import replace

if TYPE_CHECKING:
    from .conftest import Here

MS = 1_000_000


@pytest.fixture
def history(here: Here) -> Here:
    """Three versions: the second as fast as the first, the third half as fast."""
    for subject, wall in (("", 100 * MS), ("Same", 100 * MS), ("Slower", 200 * MS)):
        if subject:
            here.commit(subject)
        here.register(profiles.timed(runs=12, wall=wall))
    return here


def test_a_degradation_is_exit_code_1(history: Here) -> None:
    done = history.perf("check", code=1)
    assert "slower" in done.out
    assert "cpu" in done.out
    assert "1 regression" in done.out
    assert done.err == ""


def test_no_degradation_is_exit_code_0(history: Here) -> None:
    assert "0 regressions" in history.perf("check", "HEAD~1").out


def test_getting_faster_is_no_degradation(history: Here) -> None:
    history.commit("Fast again")
    history.register(profiles.timed(runs=12, wall=100 * MS))
    assert "1 improvement" in history.perf("check").out


def test_the_baseline_is_the_nearest_ancestor_of_the_same_configuration(history: Here) -> None:
    slow = history.head
    history.commit("Unmeasured")
    history.commit("Other configuration")
    history.register(profiles.timed(runs=12, wall=10 * MS), config_id="1:" + "f" * 40)
    history.commit("Measured")
    history.register(profiles.timed(runs=12, wall=200 * MS))
    changes = history.perf("check", "--json").json["changes"]
    assert {change["baseline"] for change in changes} == {slow}


def test_another_machine_is_no_baseline(history: Here) -> None:
    history.commit("Moved")
    history.register(profiles.timed(runs=12, wall=900 * MS), environment_id="1:" + "f" * 40)
    done = history.perf("check", code=9)
    assert "was measured on another machine" in done.out
    assert "--allow-empty passes a first run" in done.err
    assert history.perf("check", "--allow-empty").out == done.out
    gate = history.perf("check", "--fail-on", "not-compared", code=9)
    assert "was measured on another machine" in gate.out
    assert "nothing was compared" in done.out


def test_a_check_that_compared_nothing_names_the_command_that_goes_on(here: Here) -> None:
    here.register(profiles.timed(runs=12, wall=100 * MS))
    first = here.head
    for words in ((), ("all",), ("--allow-empty",)):
        done = here.perf("check", *words, code=0 if words == ("--allow-empty",) else 9)
        assert "next: commit a change, and measure it: perf collect time --add -- COMMAND" in done.err
    here.commit("Second")
    assert "to measure it with its baseline: perf check --collect" in here.perf("check", "all", code=9).err
    both = here.perf("check", first, here.head, code=9).err
    assert f"to measure both versions: perf check {first[:10]} {here.head[:10]} --collect" in both
    here.commit("Third")
    here.register(profiles.timed(runs=12, wall=100 * MS), config_id="1:" + "f" * 40)
    assert "to measure it with its baseline: perf check --collect" in here.perf("check", code=9).err
    assert "--collect" not in here.perf("check", "-k", "nothing", code=9).err


def test_the_sessions_of_the_history_say_how_much_a_version_of_another_session_may_differ(here: Here) -> None:
    """By 1 % here: then 12 % is a regression, and 3 % may be the machine."""
    for number, percent in enumerate((0, 1, -1, 1, 0, -2, 1, 0, 3, 15)):
        if number:
            here.commit(f"Version {number}")
        here.register(measured(noisy(5e6 * (1 + percent / 100), number), session=f"session {number}"))
    slower = here.perf("check", "--json", code=1).json["changes"][0]
    assert slower["kind"] == "degradation"
    assert "9 sessions differ by 1." in slower["evidence"]
    (before,) = here.perf("check", "HEAD~1", "--json").json["changes"]
    assert before["kind"] in ("same", "cannot-tell")
    assert "8 sessions differ by 1" in before["evidence"]


def test_other_metrics_are_shown_on_request(history: Here) -> None:
    def rows(*words: str) -> list[str]:
        return [line.split()[1] for line in history.perf("check", *words, code=1).lines if line.startswith("slower")]

    assert rows() == ["cpu"]
    assert rows("--all-metrics")[:2] == rows("-m", "wall")[:2] == ["wall", "cpu"]
    assert "did you mean 'wall'?" in history.perf("check", "-m", "wal", code=2).err


def test_without_an_ancestor_it_says_so(history: Here) -> None:
    assert "no ancestor was measured in this configuration" in history.perf("check", "HEAD~2", code=9).out


def test_a_version_without_profiles_is_an_error_with_what_to_do(history: Here) -> None:
    history.commit("Unmeasured")
    done = history.perf("check", code=3)
    assert "there is nothing to check" in done.err
    assert "perf check --collect" in done.err


def test_all_and_ranges_compare_each_version_with_the_one_before(history: Here) -> None:
    third, second, first = history.git("rev-list", "HEAD").out.split()
    every = history.perf("check", "--all", "--json", code=1).json
    pairs = {(change["baseline"], change["target"]) for change in every["changes"]}
    assert pairs == {(first, second), (second, third)}
    part = history.perf("check", f"{first}..{second}", "--json").json
    assert {change["target"] for change in part["changes"]} == {second}
    history.perf("check", "HEAD~1..", code=1)
    history.perf("check", "all", "HEAD~1..", code=1)
    assert "perf check --all --until HEAD~1" in history.perf("check", "all", "HEAD~1", code=2).err


def test_a_side_line_is_no_baseline_of_the_main_line(here: Here) -> None:
    here.register(profiles.timed(runs=12, wall=100 * MS))
    first = here.head
    here.git("checkout", "--quiet", "-b", "side")
    here.commit("Fast")
    here.register(profiles.timed(runs=12, wall=50 * MS))
    here.git("checkout", "--quiet", "-")
    here.commit("Main")
    here.register(profiles.timed(runs=12, wall=100 * MS))
    main = here.head
    here.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    here.register(profiles.timed(runs=12, wall=50 * MS))
    for asked in ("all", f"{first}.."):
        changes = here.perf("check", asked, "--json").json["changes"]
        pairs = {(change["baseline"], change["target"]) for change in changes}
        assert pairs == {(first, main), (main, here.head)}


def test_a_range_without_versions_says_so(history: Here) -> None:
    for asked in ("HEAD..HEAD", "HEAD..HEAD~1"):
        assert history.perf("check", asked, code=9).out == f"{asked} holds no version\n"
        history.perf("check", asked, "--allow-empty", "--fail-on", "cannot-tell", code=8)


def test_two_profiles_can_be_named(history: Here) -> None:
    history.perf("check", "HEAD~2:0@i", "0@i", code=1)
    history.perf("check", "0@i", "HEAD~2:0@i")
    history.perf("tag", "base", "HEAD~2:0@i")
    history.perf("check", "base", "0@i", code=1)
    history.perf("check", "profiles", "base", "0@i", code=1)


def test_a_branch_may_be_called_as_a_word_is(history: Here) -> None:
    history.git("branch", "profiles", "HEAD~1")
    changes = history.perf("check", "profiles", "--json").json["changes"]
    assert {change["target"] for change in changes} == {history.git("rev-parse", "profiles").out.strip()}


def test_two_versions_are_compared_by_what_is_stored(history: Here) -> None:
    changes = history.perf("check", "HEAD~1", "HEAD", "--json", code=1).json["changes"]
    before, after = (history.git("rev-parse", name).out.strip() for name in ("HEAD~1", "HEAD"))
    assert {(change["baseline"], change["target"]) for change in changes} == {(before, after)}
    assert "no profile" in history.perf("check", "HEAD~1", "nothing", code=3).err


def test_profiles_of_different_types_cannot_be_compared(history: Here) -> None:
    history.register(profiles.traced())
    assert "cannot be compared" in history.perf("check", "0@i", "1@i", code=2).err


def test_a_dirty_profile_is_compared_with_its_own_version(history: Here) -> None:
    history.save(profiles.timed(runs=12, wall=500 * MS), dirty=True)
    done = history.perf("check", "0@p", "--json", code=1)
    assert {(c["baseline"], c["target"]) for c in done.json["changes"]} == {(history.head, f"{history.head}+dirty")}


def test_the_threshold_says_what_matters(history: Here) -> None:
    assert history.perf("check", "--threshold", "1.5").code == 0
    history.perf("config", "set", "check.threshold", "1.5")
    assert history.perf("check").code == 0
    history.perf("check", "--threshold", "0.1", code=1)
    history.perf("check", "--threshold", "-1", code=2)


def test_a_threshold_of_nothing_that_was_compared_is_told(history: Here) -> None:
    done = history.perf("check", "--threshold", "cpuu=0.1", "--threshold", "wall=0.1", code=1)
    assert "--threshold names 'cpuu', but the compared metrics are cpu, " in done.err
    assert "'wall'" not in done.err


def test_json_has_everything_the_table_has(history: Here) -> None:
    made = history.perf("check", "--json", code=1).json
    assert made["schema"] == 1
    assert made["degraded"] is True
    cpu = next(change for change in made["changes"] if change["metric"] == "cpu")
    assert cpu["kind"] == "degradation"
    assert cpu["ratio"] == pytest.approx(2, rel=0.1)
    assert cpu["low"] <= cpu["ratio"] <= cpu["high"]
    assert made["unpaired"] == []


def test_verbose_says_what_each_verdict_rests_on(history: Here) -> None:
    short, long = history.perf("check", code=1).out, history.perf("check", "--verbose", code=1).out
    assert len(long.splitlines()) > len(short.splitlines())
    assert "max_rss" in long


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("no-such",), 3, "there is no version 'no-such'"),
        (("al",), 3, "did you mean 'all'?"),
        (("a", "b", "c"), 2, "at most two"),
        (("--all", "HEAD"), 2, "no further argument"),
        (("--method", "pari"), 5, "did you mean 'pair'?"),
        (("9@i",), 3, "no such profile"),
        (("no-such..HEAD",), 3, "no-such"),
    ],
)
def test_wrong_usage_is_one_error_and_never_exit_code_1(
    here: Here, words: tuple[str, ...], code: int, says: str
) -> None:
    here.register()
    assert says in here.perf("check", *words, code=code).err


def test_a_check_that_fails_is_no_degradation(history: Here, site: Site) -> None:
    site.install(
        "acme-check",
        points={"perfcore.check": ["acme = acme_check:Check"], "perfcore.hooks": ["check_done:acme = acme_check:seen"]},
        acme_check='class Check:\n    """Fails."""\n    def compare(self, pairing): raise SystemExit(1)\n'
        "def seen(changes): open('seen', 'w').close()\n",
    )
    done = history.real.perf("check", "--method", "acme", env=site.env, code=5)
    assert "acme-check" in done.err
    assert not (history.path / "seen").exists()
    history.real.perf("check", env=site.env, code=1)
    assert (history.path / "seen").exists()


def test_a_damaged_baseline_is_named(history: Here) -> None:
    id = history.repository.entries(history.git("rev-parse", "HEAD~1").out.strip())[0].profile
    path = history.path / ".perf" / "objects" / id[:2] / id[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:50])
    assert id in history.perf("check", code=4).err


def test_real_programs_of_which_one_is_slower_are_told_apart(
    here: Here, python: Callable[[str], tuple[str, ...]]
) -> None:
    here.commit("Fast", count="200000")
    here.commit("Slow", count="600000")
    code = "n = int(open('count').read())\nfor i in range(n): i * i"
    command = ("collect", "time", "--repeat", "8", "--add", "--since", "HEAD~2", "--", *python(code))
    here.perf(*command)
    here.perf("check", "--threshold", "0.2", code=1)
    here.perf("check", "HEAD", "--threshold", "0.2", code=1)


def test_what_two_sessions_leave_open_is_decided_by_the_command_that_is_named(
    here: Here, python: Callable[[str], tuple[str, ...]]
) -> None:
    program = python("n = int(open('count').read())\nfor i in range(n): i * i")
    for count in ("200000", "230000"):
        here.commit(count, count=count)
        here.perf("collect", "time", "--repeat", "8", "--add", "--", *program)
    versions = [here.git("rev-parse", name).out[:10] for name in ("HEAD~1", "HEAD")]
    named = f"perf compare {' '.join(versions)} -- COMMAND"
    for words in (["check"], ["compare", *versions]):
        done = here.perf(*words, code=None)
        assert "1 inconclusive" in done.out
        assert f"to decide, measure both versions in turn: {named}" in done.err
    assert "slower" in here.perf(*named.split()[1:-1], *program, code=1).out


def test_the_command_that_decides_names_the_collector_that_measured(here: Here) -> None:
    """Where both of two series moved, in sessions of their own, it may be the machine or the code."""
    for number in range(20):
        if number:
            here.commit(f"Version {number}")
        for config, seed in (("a", number), ("b", 100 + number)):
            profile = measured(noisy(5e6 * (1.5 if number >= 10 else 1.0), seed), session=f"session {number}")
            collector = replace(profile.collector, name="bench")
            here.register(replace(profile, collector=collector), config_id="1:" + config * 40)
    (change,) = here.perf("check", "all", "--json").json["changes"]
    assert change["kind"] == "machine"
    assert "measure both versions in one session: perf collect bench --version" in change["reason"]
