"""Benchmarks by perfcore's own means: functions and methods found by their names or by `@benchmark`."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from perfcore_collect_bench.decorator import ATTRIBUTE, Declaration
from perfcore_collect_bench.worker import timing
from perfcore_collect_bench.worker.case import (
    Broken,
    Description,
    Order,
    SkippedError,
    amount,
    message,
    peak_memory,
    text,
)
from perfcore_collect_bench.worker.suite_files import SuiteFile
from perfcore_collect_bench.worker.timing import Plan, Value

Sources = tuple[Any, ...]
"""Where the attributes of a benchmark are looked up: its function, its instance if it is a method, its module."""
PREFIXES = {
    "time_": "time",
    "bench_": "time",
    "timeraw_": "time",
    "mem_": "memory",
    "peakmem_": "peak_memory",
    "track_": "amount",
}
_RAW = """
import sys, timeit
stmt, setup, number = {stmt!r}, {setup!r}, {number}
print(timeit.timeit(stmt, setup, number=number))
"""


def cases(file: SuiteFile, module: types.ModuleType) -> Iterator[NativeCase | Broken]:
    """The benchmarks that a module defines, each with every combination of its parameters."""
    for name, member in sorted(vars(module).items()):
        if getattr(member, "__module__", None) != module.__name__ or name.startswith("_"):
            continue
        if inspect.isclass(member) and not inspect.isabstract(member):
            for method, function in inspect.getmembers(member, inspect.isfunction):
                if _is_benchmark(method, function):
                    yield from _cases_of(file, module, name, method)
        elif callable(member) and not inspect.isclass(member) and _is_benchmark(name, member):
            yield from _cases_of(file, module, name)


def _cases_of(
    file: SuiteFile, module: types.ModuleType, name: str, method: str | None = None
) -> Iterator[NativeCase | Broken]:
    """The benchmarks of a function of a module, or of a method of a class of it."""
    full_name = ".".join(filter(None, (file.name, name, method)))

    def sources() -> Sources:
        if method is None:
            return getattr(module, name), module
        instance = getattr(module, name)()
        return getattr(instance, method), instance, module

    try:
        combinations = list(_combinations(file, full_name, method or name, sources))
    except Exception as error:
        yield Broken(full_name, message(error))
    else:
        yield from combinations


def _is_benchmark(name: str, member: Any) -> bool:
    return hasattr(member, ATTRIBUTE) or any(name.startswith(prefix) and name != prefix for prefix in PREFIXES)


def _combinations(
    file: SuiteFile, full_name: str, name: str, make_sources: Callable[[], Sources]
) -> Iterator[NativeCase]:
    sources = make_sources()
    declaration: Declaration | None = getattr(sources[0], ATTRIBUTE, None)
    parameters = _named(declaration.parameters) if declaration else _positional(sources)
    kind = RawCase if name.startswith("timeraw_") and not declaration else NativeCase
    for combination in itertools.product(*(choices.items() for choices in parameters.values())):
        texts = {parameter: text for parameter, (text, _) in zip(parameters, combination, strict=True)}
        arguments = {parameter: choice for parameter, (_, choice) in zip(parameters, combination, strict=True)}
        yield kind(_description(file, full_name, name, texts, sources), make_sources, arguments)


def _named(parameters: Mapping[str, Sequence[Any] | Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The arguments by text of each parameter of `@benchmark`."""
    return {
        name: {str(key): choices[key] for key in choices} if isinstance(choices, Mapping) else _distinct(choices)
        for name, choices in parameters.items()
    }


def _positional(sources: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """The same for a suite in the style of asv: `params` is a list of values, or a list of lists of them."""
    params = list(_first(sources, "params") or [])
    if params and not isinstance(params[0], list | tuple):
        params = [params]
    names = [str(name) for name in _first(sources, "param_names") or []][: len(params)]
    names += [f"param{index + 1}" for index in range(len(names), len(params))]
    return {name: _distinct(choices) for name, choices in zip(names, params, strict=True)}


def _distinct(choices: Sequence[Any]) -> dict[str, Any]:
    texts = [text(choice) for choice in choices]
    if len(set(texts)) < len(texts):
        raise ValueError(f"two parameters have the same text: {', '.join(texts)}")
    return dict(zip(texts, choices, strict=True))


def _description(
    file: SuiteFile, full_name: str, name: str, parameters: Mapping[str, str], sources: Sequence[Any]
) -> Description:
    declaration: Declaration | None = getattr(sources[0], ATTRIBUTE, None)
    if declaration:
        return Description(
            full_name, "time", file.module, parameters, "ns", declaration.timeout, declaration.own_process
        )
    kind = next(kind for prefix, kind in PREFIXES.items() if name.startswith(prefix))
    unit = {"time": "ns", "memory": "B", "peak_memory": "B"}.get(kind) or str(_first(sources, "unit") or "")
    prepare = _first(sources, "setup_cache")
    cache = f"{file.module}.{prepare.__qualname__}" if prepare else None
    timeout = _first(sources, "timeout")
    return Description(full_name, kind, file.module, parameters, unit, timeout, kind == "peak_memory", cache)


class NativeCase:
    """A function with its setup, teardown and arguments. Its class is made for each combination of parameters when it
    is measured, so that what it keeps is gone afterwards."""

    def __init__(
        self, description: Description, make_sources: Callable[[], Sources], arguments: Mapping[str, Any]
    ) -> None:
        self.description = description
        self._make_sources = make_sources
        self._arguments = dict(arguments)
        self._cache: tuple[Any, ...] = ()

    def prepare(self) -> Any:
        return _first(self._make_sources(), "setup_cache")()

    def measure(self, order: Order) -> dict[str, Any]:
        self._bind(self._make_sources())
        if inspect.iscoroutinefunction(self._function) or inspect.isgeneratorfunction(self._function):
            raise TypeError("a call of it runs nothing: it is a coroutine or a generator")
        if self.description.cache is not None:
            cached = order.load_cache()
            self._cache = (cached,) if cached is not None else ()
        if tuple(self._arguments.values()) in [tuple(skipped) for skipped in self._option("skip_params") or ()]:
            raise SkippedError("the suite skips these parameters")
        measured = getattr(self, f"_{self.description.kind}")(order)
        assert isinstance(measured, dict)
        return measured

    def _bind(self, sources: Sources) -> None:
        self._sources = sources
        self._function: Callable[..., Any] = sources[0]
        self._declaration: Declaration | None = getattr(self._function, ATTRIBUTE, None)
        # The outer setup comes first: of the module, of the class, of the function. Teardowns in the other order.
        self._setups = [] if self._declaration else [*reversed(_every(sources, "setup"))]
        self._teardowns = [] if self._declaration else _every(sources, "teardown")

    def _time(self, order: Order) -> dict[str, Any]:
        if self._per == "run":
            with_state = self._set_up()
            try:
                return self._values(order, lambda loops: self._timed(with_state, loops))
            finally:
                self._tear_down(with_state)
        return self._values(order, self._take)

    def _values(self, order: Order, take: timing.TakeValue) -> dict[str, Any]:
        return timing.values(take, order.plan, adapt=order.adapt, calibrated=lambda: self._calibrated(take))

    def _calibrated(self, take: timing.TakeValue) -> Plan:
        loops = 1 if self._per == "call" else int(self._option("number") or 0)
        repeat = self._option("repeat")
        values = min(repeat, timing.MOST_VALUES) if isinstance(repeat, int) and repeat > 0 else None
        seconds = self._option("sample_time")
        value_time = seconds * 1e9 if isinstance(seconds, int | float) and seconds > 0 else timing.VALUE_TIME
        return timing.calibrate(take, value_time=value_time, loops=loops, values=values)

    def _take(self, loops: int) -> Value:
        state = self._set_up()
        try:
            return self._timed(state, loops)
        finally:
            self._tear_down(state)

    def _timed(self, state: tuple[Any, ...], loops: int) -> Value:
        return timing.timed(self._function, state, self._keywords, loops)

    def _memory(self, order: Order) -> dict[str, Any]:
        """The memory that stays allocated while the result of the function is kept."""
        import gc
        import tracemalloc

        state = self._set_up()
        try:
            self._function(*state, **self._keywords)  # caches that are filled once are not of this result
            gc.collect()
            tracemalloc.start()
            try:
                before, _ = tracemalloc.get_traced_memory()
                kept = self._function(*state, **self._keywords)
                gc.collect()
                after, _ = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            del kept
        finally:
            self._tear_down(state)
        return amount(max(0, after - before))

    def _peak_memory(self, order: Order) -> dict[str, Any]:
        state = self._set_up()
        try:
            self._function(*state, **self._keywords)
            return amount(peak_memory())
        finally:
            self._tear_down(state)

    def _amount(self, order: Order) -> dict[str, Any]:
        state = self._set_up()
        try:
            return amount(self._function(*state, **self._keywords))
        finally:
            self._tear_down(state)

    @property
    def _per(self) -> str:
        return self._declaration.per if self._declaration else "value"

    @property
    def _keywords(self) -> dict[str, Any]:
        """The arguments by name: those of `@benchmark` without a setup."""
        return self._arguments if self._declaration and self._declaration.setup is None else {}

    def _option(self, name: str) -> Any:
        return None if self._declaration else _first(self._sources, name)

    def _set_up(self) -> tuple[Any, ...]:
        """The positional arguments of the function."""
        if self._declaration:
            setup = self._declaration.setup
            return () if setup is None else (setup(**self._arguments),)
        positional = (*self._cache, *self._arguments.values())
        for setup in self._setups:
            setup(*positional)
        return positional

    def _tear_down(self, state: tuple[Any, ...]) -> None:
        if self._declaration and self._declaration.teardown:
            self._declaration.teardown(*state)
        for teardown in self._teardowns:
            teardown(*state)


class RawCase(NativeCase):
    """`timeraw_*`: the function gives code, or code and its setup, and every value is one of a new process."""

    def _timed(self, state: tuple[Any, ...], loops: int) -> Value:
        code = self._function(*state)
        stmt, setup = code if isinstance(code, tuple) else (code, "")
        script = _RAW.format(stmt=textwrap.dedent(stmt), setup=textwrap.dedent(setup), number=loops)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"it exited with code {done.returncode}"])[-1]
            raise RuntimeError(last)
        return Value(float(done.stdout.split()[-1]) * 1e9, None)

    def _calibrated(self, take: timing.TakeValue) -> Plan:
        # One call, as in asv: such a benchmark measures an import or a start, which a second call does not repeat.
        plan = timing.calibrate(take, value_time=timing.VALUE_TIME, loops=int(self._option("number") or 1))
        return plan._replace(dropped=1)  # a process begins anew; the files are in the page cache after the first


def _first(sources: Sequence[Any], name: str) -> Any:
    """An attribute of the function, or else of its instance, or else of its module."""
    return next((getattr(source, name) for source in sources if hasattr(source, name)), None)


def _every(sources: Sequence[Any], name: str) -> list[Any]:
    return [getattr(source, name) for source in sources if hasattr(source, name)]
