"""The fixture in this process: what it calls, and how often."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from perfcore_collect_bench.worker import timing
from perfcore_collect_pytest.benchmark_fixture import Benchmark
from perfcore_collect_pytest.calls import Order, Perf


def measuring(**plan: Any) -> Perf:
    fields = {"loops": 3, "dropped": 1, "values": 2, "wall": 1.0, "cpu": None, **plan}
    return Perf(Order(fields, adapt=False))


def benchmark_of(perf: Perf) -> Benchmark:
    plugins = SimpleNamespace(get_plugin=lambda name: SimpleNamespace(perf_of=lambda test: perf))
    request: Any = SimpleNamespace(
        node=SimpleNamespace(name="test_a", nodeid="a.py::test_a"), config=SimpleNamespace(pluginmanager=plugins)
    )
    return Benchmark(request)


def noted(calls: list[Any], call: Any, result: Any) -> Any:
    """What a function does here: the call is noted."""
    calls.append(call)
    return result


def test_without_measuring_everything_is_called_once() -> None:
    calls: list[str] = []
    assert Perf()(lambda *words: noted(calls, "".join(words), 2), "a", "b") == 2
    perf = Perf()
    assert perf.with_setup(lambda: "c", lambda word: noted(calls, word, 7), teardown=calls.append) == 7
    rounds = 0
    for block in Perf().rounds():
        with block:
            rounds += 1
    assert benchmark_of(Perf()).pedantic(lambda: noted(calls, "d", 9), rounds=5, iterations=3, warmup_rounds=2) == 9
    assert (calls, rounds, perf.measured) == (["ab", "c", "c", "d"], 1, None)


def test_a_measured_call_gives_the_first_result_and_follows_the_plan() -> None:
    calls: list[str] = []
    perf = measuring()
    assert perf(lambda: noted(calls, "x", len(calls))) == 0
    assert len(calls) == 1 + 3 * (1 + 2)
    assert perf.measured is not None
    assert len(perf.measured["wall"]) == len(perf.measured["cpu"]) == 2
    assert perf.measured["plan"]["loops"] == 3


@pytest.mark.parametrize(("per", "loops", "setups"), [("value", 3, 1 + 3), ("call", 1, 1 + 3)])
def test_setup_and_teardown_are_called_around_each_value(per: str, loops: int, setups: int) -> None:
    events: list[str] = []
    perf = measuring(loops=loops)

    def make() -> str:
        events.append("setup")
        return "state"

    perf.with_setup(make, events.append, teardown=lambda state: events.append("teardown"), per=per)
    assert events.count("setup") == events.count("teardown") == setups
    assert events[:3] == ["setup", "state", "teardown"]
    assert events[3 : 3 + 2 + loops] == ["setup", *["state"] * loops, "teardown"]


def test_per_call_is_calibrated_to_one_call() -> None:
    perf = Perf(Order(None, adapt=True))
    perf.with_setup(list, len, per="call")
    assert perf.measured is not None
    assert perf.measured["plan"]["loops"] == 1


def test_the_time_of_a_block_is_without_its_preparation(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0
    monkeypatch.setattr("time.perf_counter_ns", lambda: now)
    perf = measuring(loops=1)
    for block in perf.rounds():
        now += 1000
        with block:
            now += 7
    assert perf.measured is not None
    assert perf.measured["wall"] == [7, 7]


def test_blocks_without_a_plan_are_as_many_as_values_of_a_call() -> None:
    perf, rounds = Perf(Order(None, adapt=True)), 0
    for block in perf.rounds():
        with block:
            rounds += 1
    assert rounds == 1 + timing.DROPPED + timing.VALUES
    assert perf.measured is not None
    assert perf.measured["plan"]["values"] == timing.VALUES


def test_a_round_that_is_left_or_measures_nothing_is_no_measurement() -> None:
    perf = measuring()
    for block in perf.rounds():
        with block:
            break
    assert perf.measured is None
    with pytest.raises(RuntimeError, match="with block"):
        for _ in measuring().rounds():
            pass


@pytest.mark.parametrize("iterations", [1, 4])
def test_pedantic_makes_the_rounds_and_iterations_that_it_is_told(iterations: int) -> None:
    calls: list[Any] = []
    perf = measuring()
    options: dict[str, Any] = {"rounds": 5, "warmup_rounds": 2, "iterations": iterations}
    assert benchmark_of(perf).pedantic(lambda *args, k: noted(calls, (args, k), "x"), (1,), {"k": 2}, **options) == "x"
    extra = 0 if iterations == 1 else 1  # one call alone gives the result
    assert calls == [((1,), 2)] * (7 * iterations + extra)
    assert perf.measured is not None
    assert len(perf.measured["wall"]) == 5


def test_the_setup_of_pedantic_gives_the_arguments_of_each_round() -> None:
    given: list[int] = []
    returned: list[int] = []

    def setup() -> tuple[tuple[int], dict[str, int]]:
        given.append(len(given))
        return (given[-1],), {}

    benchmark_of(measuring()).pedantic(returned.append, setup=setup, rounds=3)
    assert returned == given == [0, 1, 2]
    with pytest.raises(ValueError, match="iterations"):
        benchmark_of(measuring()).pedantic(returned.append, setup=setup, iterations=2)


async def coroutine() -> None: ...


@pytest.mark.parametrize("misuse", [lambda perf: perf(coroutine), lambda perf: perf.with_setup(list, coroutine)])
def test_a_function_whose_call_runs_nothing_is_refused(misuse: Callable[[Perf], object]) -> None:
    for perf in (Perf(), measuring()):
        with pytest.raises(TypeError, match="coroutine"):
            misuse(perf)


def test_a_test_measures_one_function() -> None:
    perf = Perf()
    perf(int)
    with pytest.raises(RuntimeError, match="one function"):
        perf(int)
