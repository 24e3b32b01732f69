"""The runs of a session: their processes, and what becomes of each test."""

from __future__ import annotations

import collections
import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
from perfcore_collect_bench.measuring import FAILED, MEASURED, SKIPPED, Status, was_disturbed
from perfcore_collect_bench.suite import TIMES, failures_text
from perfcore_collect_bench.worker_process import Event, Interpreter, WorkerDiedError, events
from perfcore_format_benchmarks.metrics import percentiles

from perfcore.errors import CommandFailedError
from perfcore.text import plural

Columns = dict[str, list[Any]]
_SECOND = 1e9  # ns
_CPU_TIMERS = ("process_time", "thread_time")  # of Python's module `time`
_FIXTURES = "the fixture `perf` or `benchmark`"
_UNWRITTEN = "pytest-benchmark wrote no time of it"

_shared_plans: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
"""The plans of tests by suite and test, for all sessions of this process: versions with different loops would not
compare. A plan that does not fit a version is replaced there."""


@attrs.define(kw_only=True)
class Runs:
    """The runs of one session. `plans` are those that its runs follow, settled in its first one. `selected` counts the
    tests that the arguments select, `deselected` those that use the fixture and are not selected."""

    interpreter: Interpreter
    arguments: tuple[str, ...]
    timeout: float
    statuses: dict[str, Status] = attrs.field(factory=dict)
    plans: dict[str, Mapping[str, Any]] = attrs.field(factory=dict)
    coarse: set[str] = attrs.field(factory=set)
    worker: dict[str, str] = attrs.field(factory=dict)
    tracer: str = ""
    selected: int = 0
    deselected: int = 0
    ran: int = 0
    waited: int = 0

    def run(self, seed: int, workspace: Path, words: str) -> dict[str, Columns]:
        """The rows of each test that was measured, as columns. One that failed once is not tried again in this session.
        When a test ends its process, those after it are measured in another."""
        self.ran = self.waited = 0
        measurements: dict[str, Columns] = {}
        is_over = False
        while not is_over:
            finished = {test for test, status in self.statuses.items() if status.status != MEASURED} | {*measurements}
            is_over = self._process(seed, workspace, finished, measurements, words)
        if not measurements:
            raise CommandFailedError(f"{words}: nothing was measured: {self._reason()}", hint=self._hint())
        return measurements

    @property
    def is_disturbed(self) -> bool:
        """Whether the processes of the last run waited long for a CPU that others had."""
        return was_disturbed(self.ran, self.waited)

    def _process(
        self, seed: int, workspace: Path, finished: set[str], measurements: dict[str, Columns], words: str
    ) -> bool:
        """Whether a process ended by itself; otherwise the test that ended it is marked as failed."""
        results = workspace / "pytest-benchmark.json"
        results.unlink(missing_ok=True)
        request = self._request(seed, workspace, results, finished)
        timeouts: Mapping[str, float] = collections.defaultdict(lambda: self.timeout)
        running: str | None = None
        passed: set[str] = set()
        try:
            with contextlib.closing(events(self.interpreter, request, hash_seed=seed, timeouts=timeouts)) as answers:
                for event in answers:
                    kind = event["event"]
                    running = event["key"] if kind == "begin" else None
                    if kind == "passed":
                        passed.add(event["key"])
                    elif kind in (MEASURED, FAILED, SKIPPED, "broken"):
                        self._take(event, measurements)
                    else:
                        self._note(event)
        except WorkerDiedError as error:
            if running is None:
                raise CommandFailedError(f"{words}: {error}") from error
            self.statuses[running] = Status(FAILED, str(error))
            return False
        finally:
            self._take_results(results, passed, measurements)
        return True

    def _take(self, event: Event, measurements: dict[str, Columns]) -> None:
        test, kind = event["key"], event["event"]
        if kind != MEASURED:
            self.statuses[test] = Status(FAILED if kind == "broken" else kind, event["message"])
            return
        self.statuses[test] = Status(MEASURED)
        self.plans[test] = event["plan"]
        _shared_plans.setdefault(self._suite, {}).setdefault(test, event["plan"])
        if event["coarse"]:
            self.coarse.add(test)
        loops = [event["plan"]["loops"]] * len(event["wall"])
        measurements[test] = {**{spec.name: event[spec.name] for spec in TIMES}, "loops": loops}

    def _take_results(self, path: Path, passed: set[str], measurements: dict[str, Columns]) -> None:
        """The times that pytest-benchmark wrote, of tests that passed."""
        times = results_of(path) if passed else {}
        for test in passed:
            self.statuses[test] = Status(MEASURED) if test in times else Status(FAILED, _UNWRITTEN)
        measurements.update((test, columns) for test, columns in times.items() if test in passed)

    def _note(self, event: Event) -> None:
        fields = {name: field for name, field in event.items() if name != "event"}
        if event["event"] == "worker":
            self.worker = fields
        elif event["event"] == "traced":
            self.tracer = fields["tracer"]
        elif event["event"] == "chosen":
            self.selected, self.deselected = fields["selected"], fields["deselected"]
        elif event["event"] == "end":
            self.ran += fields.get("ran", 0)
            self.waited += fields.get("waited", 0)

    def _request(self, seed: int, workspace: Path, results: Path, finished: set[str]) -> dict[str, Any]:
        return {
            "arguments": list(self.arguments),
            "seed": seed,
            "plans": {**_shared_plans.get(self._suite, {}), **self.plans},
            "settled": list(self.plans),
            "excluded": sorted(finished),
            "results": str(results),
            "cache": str(workspace / "cache"),
        }

    @property
    def _suite(self) -> tuple[Any, ...]:
        return self.interpreter.program, self.arguments

    def _reason(self) -> str:
        failures = {test: status.message for test, status in self.statuses.items() if status.status == FAILED}
        if failures:
            return f"{len(failures)} failed: {failures_text(failures)}"
        if self.statuses:
            return "all tests are skipped"
        if not self.deselected:
            return f"no test uses {_FIXTURES}"
        deselected = f"deselected: {plural(self.deselected, 'test')} with"
        if self.selected:
            return f"no selected test uses {_FIXTURES}; {deselected} it"
        return f"no test is selected; {deselected} {_FIXTURES}"

    def _hint(self) -> str | None:
        if self.statuses:
            return None
        if self.deselected:
            return "-k (--select), -m and --deselect choose the tests"
        return "measure a function in a test: def test_parse(perf): perf(parse, TEXT)"


def results_of(path: Path) -> dict[str, Columns]:
    """The times in a file of `--benchmark-json` by test, as columns; a process that died leaves no whole file."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    times: dict[str, Columns] = {}
    for benchmark in document["benchmarks"]:
        rounds = [s * _SECOND for s in benchmark["stats"].get("data") or [] if s is not None and math.isfinite(s)]
        if not rounds:
            continue
        amounts = percentiles(rounds)
        nothing = [None] * len(amounts)
        is_cpu = benchmark["options"].get("timer") in _CPU_TIMERS
        times[benchmark["fullname"]] = {
            "wall": nothing if is_cpu else amounts,
            "cpu": amounts if is_cpu else nothing,
            "relative": nothing,
            "loops": [benchmark["stats"].get("iterations")] * len(amounts),
        }
    return times
