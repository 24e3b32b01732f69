"""Observers of other distributions, around the phases of real collections: what they do wrong is a warning."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.distributions import Site

from perfcore import environment
from perfcore.errors import PluginError
from perfcore.hookspecs import EVENTS
from perfcore.measure.runner import Context, run
from perfcore.model import Job, Measured, Plan, Step
from perfcore.plugins import Plugins

COLLECTOR = """
from perfcore.profile.recording import Session
trace = []
class Counter:
    '''Counts its own runs.'''
    def before(self, job):
        trace.append("before")
        return Session(job)
    def collect(self, session, run):
        trace.append("collect")
        run.rows.add(amount=run.index)
    def after(self, session, outcome):
        trace.append("after " + outcome.status)
"""
FAILING = COLLECTOR.replace("run.rows.add(amount=run.index)", "raise ValueError('boom')")


@pytest.fixture
def warnings() -> list[str]:
    return []


def install(site: Site, observers: str, *points: str, collector: str = COLLECTOR) -> None:
    """The collector `counter`, and observers of another distribution: lines such as `collector.collect:x`, each a
    function called like the part after the colon."""
    site.install("counter-perf", points={"perfcore.collector": ["counter = counter:Counter"]}, counter=collector)
    lines = [f"{point} = watching:{point.partition(':')[2]}" for point in points]
    site.install(
        "watch-perf", "2.0", points={"perfcore.hooks": lines}, watching=f"from counter import trace\n{observers}"
    )


def plugins_of(warnings: list[str], disabled: Sequence[str] = (), **options: Any) -> Plugins:
    """All that are installed, without the observers of whatever else there is in this environment."""
    others = {found.distribution for found in Plugins().infos("hook")} - {"watch-perf"}
    return Plugins(warn=warnings.append, disabled=[*disabled, *others], **options)


def collect(warnings: list[str], runs: int = 1, **options: Any) -> Measured:
    job = Job(argv=("x",), cmd="x", cwd=Path(), collector=Step(name="counter"))
    plugins = plugins_of(warnings, **options)
    context = Context(plugins=plugins, options=lambda kind, name: {}, machine=environment.facts())
    (measured,) = run(Plan(jobs=(job,), schedule={"repeat": runs, "warmup": 0}, context=context), context)
    return measured


def trace() -> list[Any]:
    found: list[Any] = sys.modules["counter"].trace
    return found


def amounts(measured: Measured) -> Sequence[Any]:
    assert measured.profile is not None, measured.error
    table = measured.profile.table("resources")
    assert table is not None
    return list(table["amount"])


# What works


def test_an_observer_wraps_a_phase_of_any_collector(site: Site, warnings: list[str]) -> None:
    observers = """
def watch(session, run):
    trace.append(f"-> {session.job.cmd} {run.index}")
    yield
    trace.append("<-")
"""
    install(site, observers, "collector.collect:watch")
    assert amounts(collect(warnings, runs=2)) == [0, 1]
    assert trace() == ["before", "-> x 0", "collect", "<-", "-> x 1", "collect", "<-", "after ok"]
    assert warnings == []


def test_no_run_is_taken_along_where_an_observer_wraps_runs(site: Site, warnings: list[str]) -> None:
    collector = COLLECTOR.replace('trace.append("collect")', "trace.append(run.following)")
    install(site, "def watch(run):\n    trace.append('seen')", "collector.collect:watch", collector=collector)
    collect(warnings, runs=3)
    assert [entry for entry in trace() if entry in (0, 1, 2)] == [0, 0, 0]
    trace().clear()
    collect(warnings, runs=3, disabled=["watch-perf"])
    assert [entry for entry in trace() if entry in (0, 1, 2)] == [2, 1, 0]


def test_an_observer_takes_the_arguments_it_needs(site: Site, warnings: list[str]) -> None:
    observers = """
import functools
def run_only(run, prefix="run"):
    trace.append(f"{prefix} {run.index}")
def none():
    trace.append("none")
def keyword(*, session):
    trace.append("keyword")
class Callable:
    def __call__(self, run, session):
        trace.append("called")
        yield
        trace.append("called after")
called = Callable()
partial = functools.partial(run_only, prefix="partial")
"""
    points = (f"collector.collect:{name}" for name in ("run_only", "none", "keyword", "called", "partial"))
    install(site, observers, *points)
    assert amounts(collect(warnings)) == [0]
    assert sorted(trace()) == sorted(
        ["before", "run 0", "none", "keyword", "called", "called after", "partial 0", "collect", "after ok"]
    )
    assert warnings == []


def test_every_phase_can_be_wrapped_by_several(site: Site, warnings: list[str]) -> None:
    names = [f"{phase}_{number}" for phase in ("before", "collect", "after") for number in (1, 2)]
    observers = "".join(
        f"def {name}():\n    trace.append('{name}')\n    yield\n    trace.append('end {name}')\n" for name in names
    )
    install(site, observers, *(f"collector.{name.partition('_')[0]}:{name}" for name in names))
    collect(warnings)
    assert trace() == [
        *("before_2", "before_1", "before", "end before_1", "end before_2"),
        *("collect_2", "collect_1", "collect", "end collect_1", "end collect_2"),
        *("after_2", "after_1", "after ok", "end after_1", "end after_2"),
    ]


def test_an_observer_may_return_another_result_of_the_same_type(site: Site, warnings: list[str]) -> None:
    observers = """
def noting(job):
    session = yield
    session.note("noted")
    return session
def unchanged(job):
    return (yield)
"""
    install(site, observers, "collector.before:noting", "collector.before:unchanged")
    measured = collect(warnings)
    assert measured.profile is not None
    assert measured.profile.notes == ("noted",)
    assert warnings == []


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPUs can be chosen here")
def test_what_an_observer_changed_is_restored_when_the_phase_fails(site: Site, warnings: list[str]) -> None:
    observers = """
import os
def pin():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        return (yield)
    finally:
        os.sched_setaffinity(0, before)
"""
    collector = FAILING.replace("raise", "import os; trace.append(os.sched_getaffinity(0)); raise")
    install(site, observers, "collector.collect:pin", collector=collector)
    before = os.sched_getaffinity(0)
    assert isinstance(collect(warnings).error, PluginError)
    assert trace()[2] == {max(before)}
    assert os.sched_getaffinity(0) == before


# What fails


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('early'); yield", "ValueError: early"),
        ("yield; raise ValueError('late')", "ValueError: late"),
        ("yield; yield", "RuntimeError: it yielded twice"),
        ("yield; raise SystemExit(0)", "SystemExit: 0"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        (
            "try:\n        yield\n        yield\n    except GeneratorExit:\n        yield",
            "generator ignored GeneratorExit",
        ),
        ("yield; raise StopIteration", "RuntimeError: generator raised StopIteration"),
        ("raise StopIteration", "StopIteration"),
        ("yield; return 'other'", "TypeError: it returned str in the place of"),
        ("yield; raise Exception('\\x1b[31mred\\nsecond')", "Exception: "),
    ],
)
@pytest.mark.parametrize("phase", ["before", "collect", "after"])
def test_an_observer_that_fails_is_a_warning_and_loses_nothing(
    site: Site, warnings: list[str], phase: str, body: str, reason: str
) -> None:
    install(site, f"def bad():\n    {body}\n", f"collector.{phase}:bad")
    assert amounts(collect(warnings)) == [0]
    assert trace() == ["before", "collect", "after ok"]
    (warning,) = warnings
    assert warning.startswith(f"hook 'collector.{phase}:bad' (watch-perf 2.0) failed: ")
    assert reason in warning
    assert warning.endswith("(left out)")


@pytest.mark.parametrize("body", ["return; yield", "if True:\n        return\n    yield", "yield; return None"])
def test_an_observer_may_have_nothing_to_do(site: Site, warnings: list[str], body: str) -> None:
    install(site, f"def idle():\n    {body}\n", "collector.collect:idle")
    assert amounts(collect(warnings)) == [0]
    assert warnings == []


def test_an_observer_sees_that_a_phase_fails_and_cannot_swallow_it(site: Site, warnings: list[str]) -> None:
    observers = """
def swallowing():
    try:
        yield
    except ValueError as error:
        trace.append(f"saw {error}")
        return 3
def replacing():
    try:
        yield
    except ValueError:
        raise KeyError("other")
def yielding():
    try:
        yield
    except ValueError:
        yield
def cleaning():
    try:
        yield
    finally:
        trace.append("cleaned")
"""
    names = ("swallowing", "replacing", "yielding", "cleaning")
    install(site, observers, *(f"collector.collect:{name}" for name in names), collector=FAILING)
    measured = collect(warnings)
    assert str(measured.error) == "collector 'counter' (counter-perf 1.0) in collect: ValueError: boom"
    assert {"saw boom", "cleaned"} < set(trace())
    assert trace()[-1] == "after failed"
    assert sorted(warning.partition("failed: ")[2] for warning in warnings) == [
        "KeyError: 'other' (left out)",
        "RuntimeError: it yielded twice (left out)",
    ]


def test_one_that_fails_keeps_none_of_the_others_from_their_work(site: Site, warnings: list[str]) -> None:
    observers = """
def a():
    yield
    trace.append("a")
def b():
    raise ValueError
def c():
    yield
    trace.append("c")
"""
    install(site, observers, *(f"collector.collect:{name}" for name in "abc"))
    assert amounts(collect(warnings)) == [0]
    assert trace() == ["before", "collect", "a", "c", "after ok"]
    assert len(warnings) == 1


def test_an_interrupt_by_the_user_goes_through_an_observer(site: Site, warnings: list[str]) -> None:
    observers = """
def cleaning():
    try:
        yield
    finally:
        trace.append("cleaned")
"""
    collector = FAILING.replace("ValueError('boom')", "KeyboardInterrupt")
    install(site, observers, "collector.collect:cleaning", collector=collector)
    with pytest.raises(KeyboardInterrupt):
        collect(warnings)
    assert trace() == ["before", "collect", "cleaned", "after interrupted"]


# What cannot be loaded


@pytest.mark.parametrize(
    ("point", "source", "reason"),
    [
        ("collector.colect:x", "def x(): ...", "there is nothing called 'collector.colect' to observe"),
        ("collector:x", "def x(): ...", "there is nothing called 'collector' to observe"),
        ("view.render:x", "def x(): ...", "there is nothing called 'view.render' to observe"),
        ("x", "def x(): ...", "there is nothing called 'x' to observe"),
        ("collector.collect:x", "x = 3", "watching:x cannot be called"),
        ("collector.collect:x", "y = 3", "module watching has no x"),
        ("collector.collect:x", "import nonexistent", "cannot be imported: ModuleNotFoundError"),
        ("collector.collect:x", "import sys; sys.exit()", "cannot be imported: SystemExit"),
        ("collector.collect:x", "def x(job): ...", "collector.collect has no argument 'job'; it has session, run"),
        ("collector.collect:x", "def x(*args): ...", "collector.collect has no argument 'args'"),
        ("collector.collect:x", "async def x(): ...", "watching:x is asynchronous"),
        ("collector.collect:x", "async def x():\n    yield", "watching:x is asynchronous"),
        ("collector.collect:x", "x = dict.fromkeys", "collector.collect has no argument 'iterable'"),
    ],
)
def test_an_observer_that_cannot_be_used_is_a_warning_and_left_out(
    site: Site, warnings: list[str], point: str, source: str, reason: str
) -> None:
    site.install("counter-perf", points={"perfcore.collector": ["counter = counter:Counter"]}, counter=COLLECTOR)
    site.install("watch-perf", "2.0", points={"perfcore.hooks": [f"{point} = watching:x"]}, watching=source)
    assert amounts(collect(warnings)) == [0]
    (warning,) = set(warnings)
    assert warning.startswith(f"hook '{point}' (watch-perf 2.0) in loading: {reason}")
    (described,) = (d for d in Plugins().describe(["hook"]) if d.info.distribution == "watch-perf")
    assert described.state == "broken"
    assert described.reason.startswith(reason)


def test_a_target_that_is_mistyped_is_told_with_the_nearest(site: Site, warnings: list[str]) -> None:
    install(site, "def x(): ...", "colector.collect:x")
    collect(warnings)
    assert "did you mean 'collector.collect'?" in warnings[0]


def test_observers_of_other_phases_are_not_imported(site: Site, warnings: list[str]) -> None:
    install(site, "raise RuntimeError", "check.compare:x", "postprocessor.before:x", "check_done:x")
    collect(warnings)
    assert warnings == []
    assert "watching" not in sys.modules


# What is left out on purpose


@pytest.mark.parametrize(
    "options",
    [
        {"observers": False},
        {"disabled": ["bad"]},
        {"disabled": ["collector.collect:bad"]},
        {"disabled": ["hook:bad"]},
        {"disabled": ["hook:collector.collect:bad"]},
        {"disabled": ["watch_perf"]},
    ],
)
def test_observers_can_be_left_out(site: Site, warnings: list[str], options: dict[str, Any]) -> None:
    install(site, "def bad(): 1 / 0", "collector.collect:bad")
    assert amounts(collect(warnings, **options)) == [0]
    assert warnings == []


# Events


def emit(warnings: list[str], event: str, **arguments: Any) -> list[Any]:
    return plugins_of(warnings).emit(event, **arguments)


def test_every_listener_of_an_event_is_told(site: Site, warnings: list[str]) -> None:
    observers = """
def one(changes):
    trace.append(changes)
def two():
    trace.append("two")
"""
    install(site, observers, "check_done:one", "check_done:two")
    assert emit(warnings, "check_done", changes=(1, 2)) == []
    assert trace() == [(1, 2), "two"]
    assert warnings == []


def test_facts_about_the_machine_are_added(site: Site, warnings: list[str]) -> None:
    install(
        site,
        "def pool(): return {'pool': 'a', 'racks': (1, 2)}\ndef none(): ...",
        "environment:pool",
        "environment:none",
    )
    answers = emit(warnings, "environment")
    assert answers == [{"pool": "a", "racks": [1, 2]}]
    assert environment.facts(answers)["extra"] == {"pool": "a", "racks": [1, 2]}


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def bad(): 1 / 0", "ZeroDivisionError"),
        ("def bad(): raise SystemExit(0)", "SystemExit"),
        ("def bad(): return [1]", "it answered with list"),
        ("def bad(): return {'a': open}", "not JSON serializable"),
        ("def bad(): return {'a': float('nan')}", "ValueError"),
        ("def bad():\n    a = {}\n    a['a'] = a\n    return a", "ValueError"),
        ("def bad(): yield", "is an event and has nothing to wrap"),
        ("def bad(nothing): ...", "has no argument 'nothing'"),
    ],
)
def test_a_listener_that_fails_is_a_warning(
    site: Site, warnings: list[str], event: str, source: str, reason: str
) -> None:
    install(site, f"{source}\ndef good(): return {{'good': 1}}", f"{event}:bad", f"{event}:good")
    arguments = {"profile_collected": ("profile", "job"), "profile_registered": ("entry", "version")}.get(event, ())
    assert emit(warnings, event, **dict.fromkeys(arguments or ("changes",))) == [{"good": 1}]
    (warning,) = warnings
    assert warning.startswith(f"hook '{event}:bad' (watch-perf 2.0)")
    assert reason in warning
