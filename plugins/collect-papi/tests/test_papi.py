"""PAPI's own component for the processor, on counters of the kernel: instructions are page faults here, everything
else is nanoseconds on a CPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_papi import diagnosis
from perfcore_collect_papi.names import DEFAULT_EVENTS
from perfcore_testing.processes import Measure

from perfcore.errors import PluginError

from .conftest import BURN, by_cpu, totals

CPUS = sorted(os.sched_getaffinity(0))
NO_UNIT = not diagnosis.machine().units


@pytest.mark.usefixtures("processor")
class TestProcessor:
    def test_the_usual_events_are_counted_by_cpu(self, python: Measure) -> None:
        measured = python("burn(0.2, int(sys.argv[1]))", str(CPUS[-1]), domain="all")
        assert [c.name for c in measured.resources.columns if c.role == "value"] == list(DEFAULT_EVENTS)
        counted = by_cpu(measured, "PAPI_TOT_CYC")
        assert counted[CPUS[-1]] >= 0.19e9
        forced = os.environ.get("LIBPFM_FORCE_PMU")
        assert measured.session.profile_type == ("papi.forced" if forced else "papi")
        sampling = measured.session.sampling
        assert {key: sampling[key] for key in ("source", "attribution", "domain", "multiplexed")} == {
            "source": f"papi-forced:{forced}" if forced else "papi",
            "attribution": "kernel",
            "domain": "all",
            "multiplexed": False,
        }

    def test_threads_and_children_are_counted(self, python: Measure) -> None:
        """By PAPI as by the kernel itself, counted beside it in one run."""
        code = "os.fork() or os._exit(burn(.2)); t = threading.Thread(target=burn, args=(.2,)); t.start(); os.wait()"
        counted = totals(python(code, event=("PAPI_TOT_CYC", "task-clock"), domain="all"))
        assert counted["PAPI_TOT_CYC"] >= 0.4e9
        assert counted["PAPI_TOT_CYC"] == pytest.approx(counted["task-clock"], rel=0.02)

    def test_events_of_one_set_give_ratios(self, python: Measure) -> None:
        measured = python("burn(0.1)", event=("PAPI_TOT_INS", "PAPI_TOT_CYC", "task-clock"), domain="all")
        rows: list[dict[str, Any]] = list(measured.profile.tables["derived"].iter_rows())
        derived = {row["metric"]: row["value"] for row in rows if row["cpu"] is None}
        counted = totals(measured)
        assert derived["ipc"] == counted["PAPI_TOT_INS"] / counted["PAPI_TOT_CYC"]
        assert derived["cpus_utilized"] > 0
        assert derived["frequency"] == pytest.approx(1e9, rel=0.1)
        assert any(note.startswith("computed from the counts, medians: ipc ") for note in measured.session.notes)

    def test_total_and_readings(self, python: Measure) -> None:
        measured = python("burn(0.2)", event=("PAPI_TOT_CYC",), per_cpu=False, interval=0.05)
        assert len(measured.rows) >= 3
        assert totals(measured)["PAPI_TOT_CYC"] >= 0.2e9
        assert max(row["PAPI_TOT_CYC"] for row in measured.rows) < 0.2e9

    def test_multiplexed_values_are_marked(self, python: Measure) -> None:
        measured = python("burn(0.1)", event=("PAPI_TOT_INS", "PAPI_TOT_CYC"), multiplex=True)
        assert measured.session.sampling["multiplexed"] is True
        assert any("estimates" in note for note in measured.session.notes)
        assert "cpu" not in measured.resources.names, "an idle CPU would get counts that nobody made there"
        assert all(row["estimate"] for row in measured.profile.tables["derived"].iter_rows())

    def test_an_unknown_event_is_answered_with_the_nearest(self, measure: Measure) -> None:
        with pytest.raises(PluginError, match="PAPI_BR_MPS is not available on this CPU") as caught:
            measure("true", event=("PAPI_TOT_INS", "PAPI_BR_MPS"))
        assert "near: PAPI_BR_MSP" in (caught.value.hint or "")

    @pytest.mark.parametrize("fallback", [False, True])
    @pytest.mark.parametrize(
        ("counters", "text"),
        [
            ("3", "PAPI_BR_MSP does not fit beside PAPI_TOT_INS, PAPI_TOT_CYC, PAPI_BR_INS"),
            ("2", "PAPI_BR_INS, PAPI_BR_MSP do not fit beside PAPI_TOT_INS, PAPI_TOT_CYC"),
        ],
    )
    def test_events_that_do_not_fit_are_named(
        self, measure: Measure, monkeypatch: pytest.MonkeyPatch, fallback: bool, counters: str, text: str
    ) -> None:
        monkeypatch.setenv("FAKEPMU_COUNTERS", counters)
        with pytest.raises(PluginError, match=text) as caught:
            measure("true", fallback=fallback)
        assert "--multiplex" in (caught.value.hint or "")
        assert measure("true", multiplex=True).rows

    def test_a_running_process_is_counted_by_samples(self, measure: Measure) -> None:
        code = BURN + "os.sched_setaffinity(0, {int(sys.argv[1])})\nprint(flush=True)\nburn(60)"
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", code, str(CPUS[-1])], stdout=subprocess.PIPE
        ) as watched:
            assert watched.stdout is not None
            watched.stdout.readline()
            measured = measure("sleep", "0.2", event=("PAPI_TOT_CYC",), pid=watched.pid)
            watched.kill()
        counted = by_cpu(measured, "PAPI_TOT_CYC")
        assert list(counted) == [CPUS[-1]]
        assert counted[CPUS[-1]] > 0
        forced = "LIBPFM_FORCE_PMU" in os.environ
        assert measured.session.profile_type == ("papi.forced.sampled" if forced else "papi.sampled")


@pytest.mark.skipif(not NO_UNIT, reason="this machine has a processor that counts, so refusals cannot be told apart")
class TestRefused:
    """The kernel says no: to a paranoid setting or a container's profile (EACCES, EPERM), or knows nothing of it."""

    @pytest.mark.usefixtures("processor")
    @pytest.mark.parametrize(
        ("number", "text"),
        [
            (1, "perf_event_open is forbidden here"),
            (13, "perf_event_open is forbidden here"),
            (38, "this kernel has no perf_events"),
        ],
    )
    def test_the_reason_is_told(
        self, measure: Measure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int, text: str
    ) -> None:
        monkeypatch.setenv("FAKEPMU_ERRNO", str(number))
        with pytest.raises(PluginError, match=text) as caught:
            measure("touch", "ran")
        assert "--fallback (times and page faults" in (caught.value.hint or "")
        assert not (tmp_path / "ran").exists()

    @pytest.mark.usefixtures("processor")
    @pytest.mark.parametrize("number", [1, 38])
    def test_a_fallback_takes_what_is_told_of_ended_processes(
        self, python: Measure, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        monkeypatch.setenv("FAKEPMU_ERRNO", str(number))
        measured = python("burn(0.1)", fallback=True)
        assert totals(measured)["cpu-time"] >= 0.09e9
        assert measured.session.sampling["source"] == "rusage"
        assert measured.session.profile_type == "papi.rusage"
        assert measured.session.notes

    @pytest.mark.usefixtures("processor")
    def test_a_fallback_takes_the_kernels_counters_before(
        self, python: Measure, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKEPMU_ERRNO", "1")
        monkeypatch.setenv("FAKEPMU_HARDWARE", "1")
        measured = python("burn(0.1)", fallback=True)
        assert totals(measured)["task-clock"] >= 0.1e9
        assert measured.session.sampling["source"] == "software"

    def test_kernel_counters_that_are_refused_are_told(
        self, measure: Measure, preload: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LD_PRELOAD", str(preload))
        monkeypatch.setenv("FAKEPMU_ERRNO", "38")
        with pytest.raises(PluginError, match="no perf_events"):
            measure("true", event=("task-clock",))


@pytest.mark.skipif(not NO_UNIT, reason="this machine has a processor that counts")
class TestWithoutProcessor:
    """python_papi as it comes, where there is nothing to count."""

    def test_the_reason_is_told_before_the_command_runs(self, measure: Measure, tmp_path: Path) -> None:
        with pytest.raises(PluginError, match="this machine offers no hardware counters") as caught:
            measure("touch", "ran")
        assert "--fallback (kernel counters such as task-clock" in (caught.value.hint or "")
        assert not (tmp_path / "ran").exists()

    def test_a_fallback_is_recorded(self, measure: Measure) -> None:
        measured = measure("true", fallback=True)
        assert measured.session.sampling["source"] == "software"
        assert totals(measured)["task-clock"] > 0
        assert any("no hardware counters" in note for note in measured.session.notes)

    @pytest.mark.parametrize(
        ("event", "near"),
        [("PAPI_TOT_INZ", "near: PAPI_TOT_INS"), ("io:::wchar_", "perf papi events"), ("CYCLEZ", "perf papi events")],
    )
    def test_a_fallback_takes_nothing_for_an_event_that_is_not_known(
        self, measure: Measure, tmp_path: Path, event: str, near: str
    ) -> None:
        with pytest.raises(PluginError, match=f"there is no event {event}, so that nothing is counted") as caught:
            measure("touch", "ran", fallback=True, event=("PAPI_TOT_INS", event))
        assert near in (caught.value.hint or "")
        assert not (tmp_path / "ran").exists()

    def test_native_events_of_a_processor_that_is_not_here_have_a_fallback(self, measure: Measure) -> None:
        measured = measure("true", fallback=True, event=("skl::INST_RETIRED",))
        assert any("instead of skl::INST_RETIRED" in note for note in measured.session.notes)

    def test_events_of_the_kernel_are_kept_in_a_fallback(self, measure: Measure) -> None:
        measured = measure("true", fallback=True, event=("PAPI_TOT_INS", "major-faults"))
        assert measured.resources.names[2] == "major-faults"
        assert "PAPI_TOT_INS" not in measured.resources.names


@pytest.mark.skipif(NO_UNIT, reason="this machine has no processor that counts (none under /sys/bus/event_source)")
def test_a_real_processor_counts_instructions(python: Measure) -> None:
    few, many = (
        totals(python("for _ in range(int(sys.argv[1])): pass", count, fallback=True)) for count in ("0", "3000000")
    )
    assert many["PAPI_TOT_INS"] - few["PAPI_TOT_INS"] > 3_000_000


UNPRIVILEGED = """
import sys
from pathlib import Path
from perfcore_collect_papi import PapiCollector, PapiSettings
from perfcore.errors import PluginError
from perfcore.model import Job
from perfcore_testing.collector import Measuring

def counted(**options):
    try:
        with Measuring(PapiCollector(PapiSettings(**options)), Job(argv=("true",), cmd="true")) as measuring:
            measuring.run()
    except PluginError as error:
        return error.message
    names = [column.name for column in measuring.resources.columns if column.role == "value"]
    return *names, *(note for note in measuring.session.notes if not note.startswith("computed"))

print(counted(event=("task-clock",)))
print(counted(event=("task-clock",), domain="all"))
print(counted(event=("task-clock", "context-switches")))
print(counted(event=("task-clock",), pid=1))
"""


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv")
@pytest.mark.skipif(diagnosis.machine().paranoid != 2, reason="needs kernel.perf_event_paranoid to be 2")
def test_without_privileges_what_is_refused_is_told_truly(tmp_path: Path) -> None:
    """Counting one's own is allowed; the kernel, and the processes of others, are not."""
    drop = ["setpriv", "--bounding-set=-perfmon,-sys_admin,-sys_ptrace", "--inh-caps=-all"]
    command = [*drop, sys.executable, "-c", UNPRIVILEGED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    own, kernel, switches, other = done.stdout.splitlines()
    assert own == "('task-clock',)"
    assert kernel == "the kernel refuses to have itself counted: kernel.perf_event_paranoid is 2"
    assert "context-switches cannot be counted here: they happen in the kernel" in switches
    assert switches.startswith("('task-clock', ")
    assert other == "the kernel does not let this process look into the process 1"
