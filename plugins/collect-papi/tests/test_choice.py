"""Which source is taken: real probes, with the facts of other machines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from perfcore_collect_papi import PapiSettings, choice, diagnosis, launcher
from perfcore_collect_papi.choice import Choice
from perfcore_collect_papi.diagnosis import Machine
from perfcore_collect_papi.names import DEFAULT_EVENTS

from perfcore.errors import PluginError

NO_UNIT = not diagnosis.machine().units
NEWER = Machine(kernel="6", paranoid=2, units=("cpu",), vendor="GenuineIntel", family=6, model=207)


def chosen(machine: Machine, **options: object) -> Choice:
    settings = PapiSettings(**options)  # type: ignore[arg-type]
    force = os.environ.get("LIBPFM_FORCE_PMU", "")
    wanted = launcher.Wanted(per_cpu=settings.per_cpu, cpus=launcher.online(), domain=settings.domain, force=force)
    return choice.choose(settings, wanted, machine, launcher.probe)


@pytest.mark.skipif(not NO_UNIT, reason="this machine has a processor that counts")
class TestCpuThatPapiDoesNotKnow:
    """One whose counters the kernel offers. (Here they are made by the preloaded library.)"""

    def test_it_fails_with_what_can_be_done(self) -> None:
        with pytest.raises(PluginError, match=r"this CPU .GenuineIntel family 6, model 207. is not known") as caught:
            chosen(NEWER)
        assert "LIBPFM_FORCE_PMU=skl" in (caught.value.hint or "")

    def test_a_fallback_takes_it_for_one_that_is_known(self, preload: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LD_PRELOAD", str(preload))
        found = chosen(NEWER, fallback=True, event=(*DEFAULT_EVENTS, "task-clock"))
        assert (found.source, found.profile_type, found.wanted.force) == (
            "papi-forced:skl+software",
            "papi.forced",
            "skl",
        )
        assert found.events == (*DEFAULT_EVENTS, "task-clock")
        assert found.notes[0].endswith("counted as on a CPU that PAPI knows")

    def test_then_only_events_of_the_architecture_are_counted(
        self, preload: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The codes of others mean something else there."""
        monkeypatch.setenv("LD_PRELOAD", str(preload))
        assert chosen(NEWER, fallback=True, event=("PAPI_TOT_INS", "PAPI_L1_DCM")).events == ("PAPI_TOT_INS",)
        assert chosen(NEWER, fallback=True, event=("PAPI_L1_DCM",)).source == "software"

    def test_a_unit_that_the_environment_forces_is_told_and_counts_events_of_the_architecture_only(
        self, preload: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LD_PRELOAD", str(preload))
        monkeypatch.setenv("LIBPFM_FORCE_PMU", "skl")
        assert chosen(NEWER).source == "papi-forced:skl"
        assert chosen(NEWER).profile_type == "papi.forced"
        with pytest.raises(PluginError, match="PAPI_L1_DCM cannot be counted: PAPI takes this CPU for skl") as caught:
            chosen(NEWER, event=("PAPI_TOT_INS", "PAPI_L1_DCM"))
        assert "unset LIBPFM_FORCE_PMU" in (caught.value.hint or "")
        fallen = chosen(NEWER, event=("PAPI_TOT_INS", "PAPI_L1_DCM"), fallback=True)
        assert (fallen.events, fallen.source) == (("PAPI_TOT_INS",), "papi-forced:skl")
        assert fallen.notes[0].startswith("PAPI_L1_DCM cannot be counted: PAPI takes this CPU for skl")

    def test_where_that_fails_too_the_kernels_counters_are_next(self) -> None:
        assert chosen(NEWER, fallback=True).source == "software"


def test_without_cpus_the_kernel_is_not_asked_where() -> None:
    assert chosen(NEWER, event=("task-clock",), per_cpu=False).attribution == "none"
    assert chosen(NEWER, event=("task-clock",)).attribution == "kernel"


def test_an_event_that_was_asked_for_twice_is_counted_once() -> None:
    assert chosen(NEWER, event=("task-clock", "page-faults", "task-clock")).events == ("task-clock", "page-faults")


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("name", ["task-clok", "page_faults", "contextswitches"])
def test_a_mistyped_counter_of_the_kernel_is_answered_with_the_nearest(name: str, fallback: bool) -> None:
    with pytest.raises(PluginError, match=f"there is no event {name}") as caught:
        chosen(diagnosis.machine(), event=("task-clock", name), fallback=fallback)
    assert (caught.value.hint or "").startswith("did you mean '")
