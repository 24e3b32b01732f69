"""The fixture `benchmark` where neither pytest-benchmark nor pytest-codspeed brings it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest


class Benchmark:
    """The calls of pytest-benchmark's fixture: `benchmark(function, *args, **kwargs)` and `benchmark.pedantic(...)`."""

    stats = None  # as with --benchmark-disable: the statistics are made when the session is over
    disabled = True

    def __init__(self, request: pytest.FixtureRequest) -> None:
        from perfcore_collect_pytest.calls import perf_of

        self._perf = perf_of(request)
        self.name = request.node.name
        self.fullname = request.node.nodeid
        self.group: str | None = None
        self.extra_info: dict[str, Any] = {}

    def __call__(self, function_to_benchmark: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._perf(function_to_benchmark, *args, **kwargs)

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        setup: Callable[[], Any] | None = None,
        teardown: Callable[..., Any] | None = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
    ) -> Any:
        """So many rounds of so many iterations. `setup` is called before each round, and may give the arguments as
        `(args, kwargs)`; `teardown` gets the arguments."""
        if setup is not None and iterations != 1:
            raise ValueError("iterations has to be 1 where there is a setup")
        if min(rounds, iterations) < 1 or warmup_rounds < 0:
            raise ValueError("rounds and iterations are numbers from 1 on, and warmup_rounds is no less than 0")

        def prepared() -> tuple[Sequence[Any], Mapping[str, Any]]:
            own = setup() if setup is not None else None
            return own if own is not None else (args, kwargs or {})

        return self._perf.in_rounds(target, prepared, teardown, rounds, warmup_rounds, iterations)


@pytest.fixture
def benchmark(request: pytest.FixtureRequest) -> Benchmark:
    """Calls a function: `benchmark(function, *args, **kwargs)` gives what it returns. With `--perf` it is measured."""
    return Benchmark(request)
