"""A run of a suite: its processes one after the other, and what becomes of each benchmark."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from perfcore_collect_bench.suite import Benchmark, Suite
from perfcore_collect_bench.worker_process import Event, Interpreter, WorkerDiedError, events

MEASURED, FAILED, SKIPPED = "measured", "failed", "skipped"
_DISTURBED_SHARE = 0.05  # of its time that a run may wait for a CPU, as for the collector `time`
_DISTURBED_LEAST = 500_000  # ns

_shared_plans: dict[tuple[Any, ...], dict[str, Mapping[str, Any]]] = {}
"""The plans of benchmarks by suite and key, for all sessions of this process: sessions of one history are led one after
the other, and versions with different loops would not compare. A plan that does not fit a version is replaced there."""


@attrs.define
class Status:
    """What became of a benchmark in the runs so far."""

    status: str
    message: str = ""


@attrs.define(kw_only=True)
class Measurement:
    """The runs of one session. `plans` are those that its runs follow, settled in its first one."""

    suite: Suite
    interpreter: Interpreter
    asv: bool
    timeout: float
    paths: Sequence[str]
    suite_id: tuple[Any, ...]
    statuses: dict[str, Status] = attrs.field(factory=dict)
    plans: dict[str, Mapping[str, Any]] = attrs.field(factory=dict)
    coarse: set[str] = attrs.field(factory=set)
    ran: int = 0
    waited: int = 0

    def run(self, seed: int, workspace: Path) -> Iterator[tuple[Benchmark, Event]]:
        """The benchmarks that were measured, with what was measured. One that failed once is not tried again in this
        session, so that a timeout is waited for once."""
        self.ran = self.waited = 0
        given_up = {key for key, status in self.statuses.items() if status.status != MEASURED}
        pending = [benchmark for benchmark in self.suite.in_order(seed) if benchmark.key not in given_up]
        for benchmark in self._unprepared(pending, workspace):
            for _ in self._process("prepare", [benchmark], seed, workspace):
                pass
        lost = {b.cache for b in pending if b.cache is not None and self._is_lost(b, workspace)}
        for key in [b.key for b in pending if b.cache in lost]:
            self._fail_with_cache(key)
        alone = [[benchmark] for benchmark in pending if benchmark.own_process]
        together = [benchmark for benchmark in pending if not benchmark.own_process]
        for batch in ([together] if together else []) + alone:
            yield from self._process("measure", [b for b in batch if b.cache not in lost], seed, workspace)

    @property
    def is_disturbed(self) -> bool:
        """Whether the processes of the last run waited long for a CPU that others had."""
        return was_disturbed(self.ran, self.waited)

    @property
    def failures(self) -> dict[str, str]:
        """The messages of what failed, broken modules among them, by name."""
        failed = {self.suite.benchmarks[k].label: s.message for k, s in self.statuses.items() if s.status == FAILED}
        return {**self.suite.broken, **failed}

    def _unprepared(self, pending: Sequence[Benchmark], workspace: Path) -> list[Benchmark]:
        """The first benchmark of each `setup_cache` that has not run in this session."""
        first = {b.cache: b for b in reversed(pending) if b.cache is not None}
        return [b for b in first.values() if not _cache_file(b, workspace).exists()]

    def _is_lost(self, benchmark: Benchmark, workspace: Path) -> bool:
        return not _cache_file(benchmark, workspace).exists()

    def _fail_with_cache(self, key: str) -> None:
        """A benchmark shares the failure of its `setup_cache`, which was called for another one that has it, too."""
        cache = self.suite.benchmarks[key].cache
        reasons = [s for k, s in self.statuses.items() if self.suite.benchmarks[k].cache == cache and s.message]
        self.statuses.setdefault(key, reasons[0] if reasons else Status(FAILED, "its setup_cache failed"))

    def _process(
        self, step: str, pending: Sequence[Benchmark], seed: int, workspace: Path
    ) -> Iterator[tuple[Benchmark, Event]]:
        """Measure in one process, and in another what is pending when a benchmark ended it."""
        waiting = {benchmark.key: benchmark for benchmark in pending}
        while waiting:
            started, has_begun = None, False
            request = self._request(step, list(waiting.values()), workspace)
            timeouts = {key: b.timeout or self.timeout for key, b in waiting.items()}
            try:
                with contextlib.closing(
                    events(self.interpreter, request, hash_seed=seed, timeouts=timeouts)
                ) as answers:
                    for event in answers:
                        if event["event"] == "begin":
                            started, has_begun = event["key"], True
                        elif event["event"] == "end":
                            self.ran += event.get("ran", 0)
                            self.waited += event.get("waited", 0)
                            return
                        else:
                            started = None
                            benchmark = waiting.pop(event["key"])
                            yield from self._take(benchmark, event)
            except WorkerDiedError as error:
                # Before its first benchmark a process imports the modules of all of them.
                ended = list(waiting) if not has_begun else [started] if started is not None else []
                for key in ended:
                    del waiting[key]
                    self.statuses[key] = Status(FAILED, str(error))

    def _take(self, benchmark: Benchmark, event: Event) -> Iterator[tuple[Benchmark, Event]]:
        key, kind = benchmark.key, event["event"]
        if kind == "measured":
            self.statuses[key] = Status(MEASURED)
            if "plan" in event:
                self.plans[key] = event["plan"]
                _shared_plans.setdefault(self.suite_id, {}).setdefault(key, event["plan"])
            if event.get("coarse"):
                self.coarse.add(key)
            yield benchmark, event
        elif kind in (FAILED, SKIPPED):
            self.statuses[key] = Status(kind, event["message"])

    def _request(self, step: str, pending: Sequence[Benchmark], workspace: Path) -> dict[str, Any]:
        shared = _shared_plans.get(self.suite_id, {})
        entries = [
            {
                "key": b.key,
                "name": b.name,
                "module": b.module,
                "parameters": dict(b.parameters),
                "plan": self.plans.get(b.key) or shared.get(b.key),
                "adapt": b.key not in self.plans,
                "cache_file": str(_cache_file(b, workspace)),
                "scratch": str(workspace / (_digest(b.cache) if b.cache else "scratch")),
            }
            for b in pending
        ]
        return {"step": step, "asv": self.asv, "paths": list(self.paths), "benchmarks": entries}


def was_disturbed(ran: int, waited: int) -> bool:
    """Whether processes that ran so many ns waited long for a CPU that others had."""
    return waited > _DISTURBED_LEAST and waited > _DISTURBED_SHARE * (ran + waited)


def seed_of(run: int) -> int:
    """The hash seed of a run, by which the benchmarks are shuffled, too. The n-th runs of all versions have the same
    one, whenever they are measured, so that what it does to them cancels in a comparison."""
    return int.from_bytes(hashlib.sha256(f"perfcore bench {run}".encode()).digest()[:4])  # 32 bits, as Python takes


def _cache_file(benchmark: Benchmark, workspace: Path) -> Path:
    return workspace / f"{_digest(benchmark.cache or '')}.pickle"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
