"""The contract of observers: functions around a phase, or told of an event. Inherit from it in your tests:

class TestPin(ObserverContract):
    @pytest.fixture
    def target(self):
        return "collector.collect"

    @pytest.fixture
    def observer(self):
        return pin
"""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

from perfcore.hookspecs import EVENTS, KINDS
from perfcore.model import Entry, Job, Series
from perfcore.plugins.installed import HOOK, PluginInfo, first_line
from perfcore.plugins.observers import accepted, check_observer, wrapper
from perfcore.profile.recording import Outcome, Run, Session
from perfcore.profile.table import ColumnSpec
from perfcore_testing import profiles
from perfcore_testing.check import pairing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from perfcore.plugins.observers import Observer


class ObserverContract:
    """What every observer keeps. Override `observer` and `target`: a phase such as `collector.collect`, or an event."""

    @pytest.fixture
    def target(self) -> str:
        """What is observed: a phase, or an event."""
        raise NotImplementedError("override the fixture `target` and return what is observed")

    @pytest.fixture
    def observer(self) -> Observer:
        raise NotImplementedError("override the fixture `observer` and return the function")

    @pytest.fixture
    def call(self, target: str, observer: Observer, tmp_path: Path) -> Callable[..., Any]:
        """Observes the target once, as perfcore has it observed: gives the result of the phase, or the answer to
        the event. What the observer does wrong is raised."""

        def once(result: Any = None, error: BaseException | None = None) -> Any:
            warnings: list[str] = []
            arguments = sample_arguments(tmp_path)
            if target in EVENTS:
                return observer(**accepted(observer, arguments))
            try:
                return _observed(target, observer, arguments, warnings.append, result, error)
            finally:
                assert warnings == []

        return once

    def test_it_fits_what_it_observes(self, target: str, observer: Observer) -> None:
        """There is such a phase or event, and it has the arguments that the function wants."""
        check_observer(_found(target), observer)

    def test_its_first_line_tells_what_it_does(self, observer: Observer) -> None:
        """`perf plugins list` shows it."""
        assert 0 < len(first_line(observer)) < 100

    def test_it_works(self, call: Callable[..., Any]) -> None:
        """Called as perfcore calls it, it raises nothing; twice in a row, too."""
        call()
        call()

    def test_the_result_of_a_phase_goes_on(self, target: str, call: Callable[..., Any]) -> None:
        """What takes its place is of the same type."""
        if target in EVENTS:
            pytest.skip("an event has no result")
        profile = profiles.timed()
        assert type(call(profile)) is type(profile)

    def test_an_error_of_a_phase_goes_on(self, target: str, call: Callable[..., Any]) -> None:
        """It is raised at the `yield`, and the observer cleans up without hiding it."""
        if target in EVENTS:
            pytest.skip("an event has no error")
        with pytest.raises(ConnectionResetError, match="the phase failed"):
            call(error=ConnectionResetError("the phase failed"))

    def test_an_answer_can_be_stored(self, target: str, call: Callable[..., Any]) -> None:
        """It is a mapping that JSON can hold; it becomes part of profiles."""
        if target not in EVENTS:
            pytest.skip("only events are answered")
        answer = call()
        assert answer is None or json.loads(json.dumps(answer)) == answer

    def test_nothing_stays_changed(self, call: Callable[..., Any]) -> None:
        """Folder, variables, signal handlers, threads and CPUs are afterwards what they were."""
        call()  # what is imported or opened for good by the first one may stay
        before = _surroundings()
        call()
        assert _surroundings() == before


def sample_arguments(folder: Path) -> dict[str, Any]:
    """One value for every argument that phases and events have."""
    job = Job(argv=("true",), cmd="true", cwd=folder)
    session = Session(job, columns=[ColumnSpec("wall", "i64", "ns", "value")])
    session.workspace = folder
    run = Run(session, index=0, block=0, position=0, started=1)
    run.rows.add(wall=1)
    profile = profiles.timed()
    return {
        "job": job,
        "session": session,
        "run": run,
        "outcome": Outcome(status="ok", runs=1),
        "profile": profile,
        "entry": Entry(profile="1" * 40, created=profile.created, name="time-true.perf", type="time", cmd="true"),
        "version": "2" * 40,
        "changes": (),
        "pairing": pairing(profile, profile),
        "series": Series(
            config_id="3" * 40, metric="wall", unit="ns", resource="", versions=(), environments=(), values=()
        ),
        "state": None,
    }


def _observed(
    target: str,
    observer: Observer,
    arguments: Mapping[str, Any],
    warn: Callable[[str], None],
    result: Any,
    error: BaseException | None,
) -> Any:
    kind, _, method = target.partition(".")
    phase = getattr(KINDS[kind].protocol, method)
    wrap = wrapper(_found(target), observer, phase, warn)
    names = [name for name in phase.__annotations__ if name != "return"]
    running = wrap(*(arguments[name] for name in names))
    next(running)
    try:
        running.send(result) if error is None else running.throw(error)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it goes on after the phase has ended")


def _found(target: str) -> PluginInfo:
    return PluginInfo(kind=HOOK, name=f"{target}:tested", target="the observer", distribution="tested", version="0")


def _surroundings() -> dict[str, Any]:
    state: dict[str, Any] = {
        "folder": os.getcwd(),
        "variables": dict(os.environ),
        "handlers": {signal_number: signal.getsignal(signal_number) for signal_number in signal.valid_signals()},
        "threads": sorted(thread.name for thread in threading.enumerate()),
    }
    if hasattr(os, "sched_getaffinity"):
        state["cpus"] = os.sched_getaffinity(0)
    return state
