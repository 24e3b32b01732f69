"""What the fixture `perf` is: calls of a function or block, measured where this process is to measure."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pytest
    from perfcore_collect_bench.worker.timing import TakeValue, Value

_SCOPES = ("value", "call")


class Order(NamedTuple):
    """How a test is to be measured: by this plan, which may be replaced where it does not fit if `adapt`."""

    plan: Mapping[str, Any] | None
    adapt: bool


class Perf:
    """Measures one function or block of a test; without an order it is called once and nothing is measured."""

    def __init__(self, order: Order | None = None) -> None:
        self._order = order
        self._is_used = False
        self.measured: dict[str, Any] | None = None

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """The time of `function(*args, **kwargs)`. Gives what its first call returns."""
        self._begin(function)
        result = function(*args, **kwargs)
        if self._order is not None:
            from perfcore_collect_bench.worker import timing

            self._measure(lambda loops: timing.timed(function, args, kwargs, loops))
        return result

    def with_setup(
        self,
        setup: Callable[[], Any],
        function: Callable[[Any], Any],
        *,
        teardown: Callable[[Any], Any] | None = None,
        per: str = "value",
    ) -> Any:
        """The time of `function(setup())` without that of `setup` and `teardown`, which are called around each value
        (`per="value"`), all calls of which get the same argument, or around each call (`"call"`). A value is one call
        then. Gives what the first call returns."""
        self._begin(function)
        if per not in _SCOPES:
            raise ValueError(f"per is {per!r}, and has to be one of {', '.join(_SCOPES)}")

        def around(call: Callable[[Any], Any]) -> Any:
            state = setup()
            try:
                return call(state)
            finally:
                if teardown is not None:
                    teardown(state)

        result = around(function)
        if self._order is not None:
            from perfcore_collect_bench.worker import timing

            self._measure(
                lambda loops: around(lambda state: timing.timed(function, (state,), {}, loops)),
                loops=1 if per == "call" else 0,
            )
        return result

    def rounds(self) -> Iterator[Block]:
        """The time of a block of code: `for block in perf.rounds():` prepares, and measures `with block:`. A value is
        one block. Without measuring there is one round."""
        self._begin(None)
        if self._order is None:
            yield Block()
            return
        from perfcore_collect_bench.worker import timing
        from perfcore_collect_bench.worker.speed import loop_time

        plan = timing.Plan.of(self._order.plan) if self._order.plan else None
        if plan is None:
            first, start = Block(), time.perf_counter_ns()
            yield first
            plan = timing.plan(1, first.value, time.perf_counter_ns() - start)
        for _ in range(plan.dropped):
            yield Block()
        totals, speeds = [], [loop_time(plan.wall)]
        for _ in range(plan.values):
            block = Block()
            yield block
            totals.append(block.value)
            speeds.append(loop_time(plan.wall))
        self.measured = timing.measured(plan, totals, speeds)

    def in_rounds(
        self,
        function: Callable[..., Any],
        prepared: Callable[[], tuple[Sequence[Any], Mapping[str, Any]]],
        teardown: Callable[..., Any] | None,
        rounds: int,
        warmup_rounds: int,
        iterations: int,
    ) -> Any:
        """The rounds of `benchmark.pedantic`. Without measuring there is one call."""
        self._begin(function)
        result: Any = None

        def call_once() -> Value:
            nonlocal result
            args, kwargs = prepared()
            block = Block()
            with block:
                result = function(*args, **kwargs)
            if teardown is not None:
                teardown(*args, **kwargs)
            return block.value

        if self._order is None or iterations > 1:
            call_once()
        if self._order is not None:
            from perfcore_collect_bench.worker import timing

            def take() -> Value:
                args, kwargs = prepared()
                total = timing.timed(function, tuple(args), kwargs, iterations)
                if teardown is not None:
                    teardown(*args, **kwargs)
                return total

            plan = timing.Plan(iterations, warmup_rounds, min(rounds, timing.MOST_VALUES), 0, None)
            take_round = take if iterations > 1 else call_once
            self.measured = timing.values(lambda _: take_round(), plan._asdict(), adapt=False, calibrated=lambda: plan)
        return result

    def _begin(self, function: Callable[..., Any] | None) -> None:
        if self._is_used:
            raise RuntimeError("a test measures one function: parametrize it, or write a test for each")
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError("a call of it runs nothing: it is a coroutine or a generator")
        self._is_used = True

    def _measure(self, take: TakeValue, loops: int = 0) -> None:
        import gc

        from perfcore_collect_bench.worker import timing

        assert self._order is not None
        gc.collect()
        self.measured = timing.values(
            take,
            self._order.plan,
            adapt=self._order.adapt,
            calibrated=lambda: timing.calibrate(take, value_time=timing.VALUE_TIME, loops=loops),
        )


class Block:
    """Measures the code of a `with` statement."""

    def __init__(self) -> None:
        self._value: Value | None = None

    @property
    def value(self) -> Value:
        if self._value is None:
            raise RuntimeError("a round of perf.rounds() measures nothing: put the code into `with block:`")
        return self._value

    def __enter__(self) -> None:
        self._cpu, self._wall = time.process_time_ns(), time.perf_counter_ns()

    def __exit__(self, *error: object) -> None:
        from perfcore_collect_bench.worker.timing import Value

        end = time.perf_counter_ns()
        self._value = Value(end - self._wall, time.process_time_ns() - self._cpu)


def perf_of(request: pytest.FixtureRequest) -> Perf:
    """The fixture for a test."""
    from perfcore_collect_pytest.plugin_names import WORKER

    worker = request.config.pluginmanager.get_plugin(WORKER)
    perf: Perf = worker.perf_of(request.node.nodeid) if worker is not None else Perf()
    return perf
