"""`perf check --collect` and `--confirm`: a gate that measures what it lacks, and again what it doubts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from perfcore_command_check import confirmation
from perfcore_command_compare.result import ComparisonResult, Side

from perfcore.library import open_repository
from perfcore.model import Change, ChangeKind
from perfcore.model.record import replace

if TYPE_CHECKING:
    from .conftest import Here

PLUGIN = '''
import random
from pathlib import Path

from perfcore.profile.recording import Session
from perfcore.profile.table import ColumnSpec

BIAS = Path({bias!r})


class Cost:
    """The cost that a file of the tree states, with noise of half a percent that depends on the number of the run only;
    a file outside of the tree has the factor by which the machine is wrong about suspects."""

    schedule = {{"repeat": 8, "warmup": 0}}
    counts = {{}}

    def __init__(self, settings=None):
        pass

    def before(self, job):
        return Session(job, columns=[ColumnSpec("cpu", "f64", "ns", "value")], state=None)

    def collect(self, session, run):
        cost, *suspect = (session.job.cwd / "cost.txt").read_text().split()
        number = self.counts[cost] = self.counts.get(cost, 0) + 1
        factor = float(BIAS.read_text()) if suspect else 1.0
        noise = random.Random(f"{{number}} of {{cost}}").uniform(0.995, 1.005)
        run.rows.add(cpu=float(cost) * factor * noise)

    def after(self, session, outcome):
        pass
'''
NAMED = "plugins: {own: {collector: {cost: plugin.py:Cost}}}\n"
COMMAND = ("--", sys.executable, "-c", "pass")
COLLECT = ("collect", "cost", "--add")


@pytest.fixture
def bias(tmp_path: Path) -> Path:
    path = tmp_path / "bias"
    path.write_text("1.0")
    return path


@pytest.fixture
def costly(here: Here, bias: Path) -> Callable[[str], str]:
    """Commits a version of this cost."""
    here.commit("Plugin", **{"plugin.py": PLUGIN.format(bias=str(bias)), ".perfcore.yml": NAMED})
    here.perf("config", "trust", "--yes")
    return lambda cost: here.commit(f"Cost {cost}", cost__txt=f"{cost}\n")


@pytest.fixture
def gate(here: Here, costly: Callable[[str], str]) -> Here:
    """A version that takes 10 % longer, measured with the one before."""
    costly("1e6")
    costly("1.1e6")
    here.perf(*COLLECT, "--version", "HEAD~1", "--version", "HEAD", *COMMAND)
    return here


def forget_commands(here: Here) -> None:
    """As on a machine to which a clone brought the profiles."""
    (listed,) = here.home.rglob("commands")
    listed.unlink()


def test_a_regression_that_is_there_is_confirmed_and_fails(gate: Here) -> None:
    done = gate.perf("check", "--confirm", code=1)
    (row,) = (line for line in done.lines if line.startswith("slower"))
    assert "confirmed: +" in row, "beside the first estimate"
    (change,) = gate.perf("check", "--confirm", "--json", code=1).json["changes"]
    assert change["fails"]
    assert change["reason"].startswith("confirmed: +")
    assert "measured again: " in change["evidence"]


def test_a_regression_that_the_machine_made_up_does_not_fail(
    here: Here, costly: Callable[[str], str], bias: Path
) -> None:
    costly("1e6")
    costly("1.0001e6 suspect")
    bias.write_text("1.2")
    here.perf(*COLLECT, "--version", "HEAD~1", "--version", "HEAD", *COMMAND)
    here.perf("check", code=1)
    bias.write_text("1.0")
    done = here.perf("check", "--confirm")
    (row,) = (line for line in done.lines if line.startswith("inconclusive"))
    assert "not confirmed: " in row
    assert "1 of 1 regression not confirmed" in done.lines[-1]
    assert "slower" not in here.perf("log", "--short").out, "the stored result says so, too"
    here.perf("check", "--confirm", "--fail-on", "cannot-tell", code=8)


def test_a_regression_that_cannot_be_measured_again_fails(gate: Here) -> None:
    """A gate fails closed: without a second measurement the first one holds."""
    forget_commands(gate)
    (change,) = gate.perf("check", "--confirm", "--json", code=1).json["changes"]
    assert change["reason"].startswith("not measured again: you have not measured this command on this machine")


def test_what_another_machine_measured_stays_as_it_is(gate: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its change has the same id, and is not that which was measured again."""
    gate.use_home(monkeypatch)
    history = open_repository(gate.path)
    steady = history.profile("HEAD~1:0@i")
    for number, version in enumerate(("HEAD~1", "HEAD")):
        elsewhere = replace(steady, environment_id="1:elsewhere", created=steady.created + 1 + number)
        history.register(history.save(elsewhere), gate.git("rev-parse", version).out.strip())
    before = {change["kind"]: change for change in gate.perf("check", "--json", code=1).json["changes"]}
    after = {change["kind"]: change for change in gate.perf("check", "--confirm", "--json", code=1).json["changes"]}
    assert after["same"] == before["same"]
    reason = after["degradation"]["reason"]
    assert (reason.startswith("confirmed: +"), reason.endswith(f"; {before['degradation']['reason']}")) == (True, True)


def test_a_check_collects_what_the_version_and_its_baseline_lack(gate: Here, costly: Callable[[str], str]) -> None:
    """By the commands of the version before."""
    slower = costly("1.3e6")
    gate.perf("check", code=3)
    (change,) = gate.perf("check", "--collect", "--json", code=1).json["changes"]
    assert change["target"] == slower
    assert change["evidence"].startswith("8 interleaved pairs")
    assert gate.perf("check", "--collect", "--json", code=1).json["changes"] == [change], "nothing is measured twice"


def test_a_check_collects_the_jobs_of_the_configuration(here: Here, costly: Callable[[str], str]) -> None:
    costly("1e6")
    costly("1.1e6")
    assert "nothing says what to measure" in here.perf("check", "--collect", code=3).err
    (here.path / ".perfcore.yml").write_text(f"{NAMED}collectors: [cost]\nbins: ['{sys.executable} -c pass']\n")
    assert "not trusted it yet" in here.perf("check", "--collect", code=7).err
    here.perf("config", "trust", "--yes")
    done = here.perf("check", "--collect", "--confirm", code=1)
    assert "confirmed: +" in done.out


def test_a_command_that_somebody_else_measured_does_not_run(gate: Here, costly: Callable[[str], str]) -> None:
    forget_commands(gate)
    costly("1.3e6")
    assert "you have not measured this command" in gate.perf("check", "--collect", code=7).err


def test_a_history_is_not_collected(gate: Here) -> None:
    assert "--collect measures one version, or two" in gate.perf("check", "all", "--collect", code=2).err


def test_the_slower_benchmarks_of_a_suite_are_measured_again_alone(here: Here, tmp_path: Path) -> None:
    def suite(iterations: float) -> str:
        loops = [f"def time_of_{number}():\n    sum(range({iterations:.0f}))\n" for number in (0, 2)]
        steady = f"def time_of_1():\n    open({str(tmp_path / 'ran')!r}, 'a').close()\n    sum(range(40000))\n"
        return "\n\n".join([*loops, steady])

    before, after = here.commit("Suite", bench_own__py=suite(4e4)), here.commit("Slower", bench_own__py=suite(8e4))
    collect = ("collect", "bench", "--add", "--repeat", "6", "--version", before, "--version", after)
    here.perf(*collect, "--", "bench_own.py")
    (tmp_path / "ran").unlink()
    changes = here.perf("check", "--confirm", "--json", code=1).json["changes"]
    reasons = {change["resource"]: change["reason"] for change in changes if change["fails"]}
    assert {name.rpartition("_")[2] for name in reasons} == {"0", "2"}
    assert all(reason.startswith("confirmed: +") for reason in reasons.values()), reasons
    assert not (tmp_path / "ran").exists(), "the steady one did not run again"


SIDES = (Side(name="A", command="sort big.txt"), Side(name="B", command="sort big.txt"))


def _change(kind: ChangeKind, low: float | None, ratio: float, high: float | None) -> Change:
    return Change(
        id="1",
        kind=kind,
        metric="wall",
        unit="ns",
        label="sort big.txt",
        baseline="a" * 10,
        target="b" * 10,
        baseline_value=1e6,
        target_value=ratio * 1e6,
        ratio=ratio,
        low=low,
        high=high,
    )


@pytest.mark.parametrize(
    ("low", "ratio", "high", "reason"),
    [
        (0.661, 0.82, 1.04, "not confirmed: -18.0 % (-33.9 % to +4.0 %)"),
        (0.892, 1.281, 2.15, "neither confirmed nor refuted"),  # the first interval may be right
        (1.01, 1.1, 1.2, "neither confirmed nor refuted"),  # smaller, and no less a regression
        (None, 0.82, None, "neither confirmed nor refuted"),
    ],
)
def test_a_second_interval_that_contradicts_the_first_does_not_fail_the_build(
    low: float | None, ratio: float, high: float | None, reason: str
) -> None:
    first = _change("degradation", 1.289, 1.8, 2.565)
    again = ComparisonResult(
        sides=SIDES, changes=(_change("cannot tell", low, ratio, high),), pairs=9, stopped="budget"
    )
    answer = confirmation._answer(first, again)
    assert answer.reason.startswith(reason)
    assert answer.kind == ("cannot tell" if reason.startswith("not") else "degradation")
