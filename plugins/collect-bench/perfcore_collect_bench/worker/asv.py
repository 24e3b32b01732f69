"""Benchmarks of a suite of asv, found and called by asv-runner (0.3), with the values and loops of perfcore."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import itertools
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from asv_runner import discovery
from asv_runner.benchmarks.timeraw import TimerawBenchmark

from perfcore_collect_bench.worker import timing
from perfcore_collect_bench.worker.case import Broken, Description, Order, SkippedError, amount, message, peak_memory
from perfcore_collect_bench.worker.suite_files import SuiteFile, load, load_package
from perfcore_collect_bench.worker.timing import Plan, Value

_KINDS = {"time": "time", "memory": "memory", "peakmemory": "peak_memory"}
_MEMORY = re.compile(r"^\s*def (mem_\w+)", re.MULTILINE)
_UNITS = {"time": "ns", "memory": "B", "peak_memory": "B"}


def cases(files: list[SuiteFile]) -> Iterator[AsvCase | Broken]:
    """All benchmarks of a suite with all combinations of parameters."""
    for file in files:
        try:
            load(file)
        except (Exception, SystemExit) as error:
            yield Broken(file.name, f"it cannot be imported: {message(error)}")
    root = files[0]
    with contextlib.redirect_stdout(sys.stderr):  # it prints the errors of imports
        for benchmark in discovery.disc_benchmarks(str(root.root), ignore_import_errors=True):
            choices = [[_text(shown) for shown in texts] for texts in benchmark.params]
            for index, texts in enumerate(itertools.product(*choices)):
                yield AsvCase(benchmark, index, dict(zip(benchmark.param_names, texts, strict=True)))
    if importlib.util.find_spec("pympler") is None:
        yield from _without_pympler(files)


def _without_pympler(files: list[SuiteFile]) -> Iterator[Broken]:
    """The benchmarks of memory that asv-runner leaves out without a word."""
    for file in files:
        with contextlib.suppress(OSError):
            for name in _MEMORY.findall(file.path.read_text(errors="replace")):
                yield Broken(f"{file.name}.{name}", "asv measures it with pympler, which is not installed")


def load_modules(files: list[SuiteFile], names: list[str]) -> None:
    """Import the modules of these benchmarks. The errors of those that cannot be imported come with their cases."""
    for file in files:
        if any(name.startswith(f"{file.name}.") for name in names):
            with contextlib.suppress(Exception, SystemExit):
                load(file)


def case(root: SuiteFile, description: Mapping[str, Any]) -> AsvCase:
    """A benchmark again, from its description. Only its module is imported."""
    load_package(root)
    benchmark = discovery.get_benchmark_from_name(str(root.root), description["name"])
    choices = itertools.product(*[[_text(shown) for shown in texts] for texts in benchmark.params])
    index = list(choices).index(tuple(description["parameters"].values()))
    return AsvCase(benchmark, index, description["parameters"])


def _text(shown: str) -> str:
    """A parameter, of which asv-runner gives the repr."""
    with contextlib.suppress(ValueError, SyntaxError):
        literal = ast.literal_eval(shown)
        if isinstance(literal, str):
            return literal
    return shown


class AsvCase:
    """A benchmark of asv-runner with one combination of its parameters."""

    def __init__(self, benchmark: Any, index: int, parameters: Mapping[str, str]) -> None:
        kind = _KINDS.get(benchmark.type, "amount")
        self._benchmark = benchmark
        self._index = index
        self._timer: Any = None  # of the suite, as is the number of calls
        self._number = 0
        self.description = Description(
            name=benchmark.name,
            kind=kind,
            module=benchmark.name.rpartition(".")[0],
            parameters=dict(parameters),
            unit=_UNITS.get(kind, str(benchmark.unit)),
            timeout=benchmark.timeout,
            own_process=kind == "peak_memory",
            cache=benchmark.setup_cache_key,
        )

    def prepare(self) -> Any:
        return self._benchmark.do_setup_cache()

    def measure(self, order: Order) -> dict[str, Any]:
        benchmark = self._benchmark
        if benchmark._params:
            benchmark.set_param_idx(self._index)
        if self.description.cache is not None:
            benchmark.set_cache(order.load_cache())
        skipped = benchmark.do_setup()
        try:
            if skipped:
                raise SkippedError("its setup raises NotImplementedError, or the suite skips these parameters")
            if self.description.kind == "time":
                return self._times(order)
            number = benchmark.do_run()
            return amount(peak_memory() if self.description.kind == "peak_memory" else number)
        finally:
            benchmark.do_teardown()

    def _times(self, order: Order) -> dict[str, Any]:
        self._timer, self._number = getattr(self._benchmark, "timer", None), self._benchmark.number
        times = timing.values(self._value, order.plan, adapt=order.adapt, calibrated=self._calibrated)
        return {**times, "coarse": times["coarse"] and not isinstance(self._benchmark, TimerawBenchmark)}

    def _calibrated(self) -> Plan:
        """asv-runner decides how many calls a sample has: one where there is a setup, else as many as fill its time."""
        benchmark = self._benchmark
        benchmark.number, benchmark.repeat, benchmark.min_run_count, benchmark.warmup_time = self._number, 1, 1, 0
        benchmark.sample_time = min(benchmark.sample_time, timing.VALUE_TIME / 1e9)
        marks = self._mark_cpu_time()
        start = time.perf_counter_ns()
        measured = self._run()
        elapsed = time.perf_counter_ns() - start
        number, sample = int(measured["number"]), float(measured["samples"][0]) * 1e9
        cpu = sum(marks[-1:]) - sum(marks[-2:-1]) if len(marks) > 1 else None
        return timing.plan(number, Value(sample, None if cpu is None else cpu / number), elapsed)

    def _value(self, loops: int) -> Value:
        benchmark = self._benchmark
        benchmark.number, benchmark.repeat, benchmark.min_run_count, benchmark.warmup_time = loops, 1, 1, 0
        marks = self._mark_cpu_time()
        (sample,) = self._run()["samples"]
        return Value(sample * 1e9 * loops, _spent(marks))

    def _mark_cpu_time(self) -> list[int]:
        """The readings of CPU time that will be made with those of the clock; none where the suite has its own."""
        benchmark, marks = self._benchmark, list[int]()
        if not isinstance(benchmark, TimerawBenchmark) and self._timer is time.perf_counter:
            benchmark.timer = functools.partial(_marking_timer, marks)
        return marks

    def _run(self) -> dict[str, Any]:
        measured = self._benchmark.do_run()
        if measured is None:
            raise SkippedError("the suite skips these parameters")
        assert isinstance(measured, dict)
        return measured


def _marking_timer(marks: list[int]) -> float:
    """The clock of asv. It keeps the CPU time of the same moment in `marks`, and reads it outside of what is timed."""
    if len(marks) % 2:
        now = time.perf_counter()
        marks.append(time.process_time_ns())
        return now
    marks.append(time.process_time_ns())
    return time.perf_counter()


def _spent(marks: list[int]) -> int | None:
    """The CPU time of a sample, which read the clock before and after each of its timed parts."""
    if not marks or len(marks) % 2:
        return None
    return sum(end - start for start, end in zip(marks[::2], marks[1::2], strict=True))


def enter_folder(path: Path) -> None:
    """asv runs a benchmark in the folder in which its `setup_cache` ran."""
    path.mkdir(parents=True, exist_ok=True)
    os.chdir(path)
