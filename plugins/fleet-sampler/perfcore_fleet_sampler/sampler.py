"""The thread that takes samples, and writes them to a spool."""

from __future__ import annotations

import atexit
import contextlib
import os
import random
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import NoReturn

from perfcore_fleet_sampler import sections, trace_file
from perfcore_fleet_sampler.sections import OpenSection, Stack
from perfcore_fleet_sampler.trace_file import NO_PARENT, Code, Labels, Words

RATE = 97.0  # samples a second: a prime, so that no periodic work is always met at the same moment
INTERVAL = 60.0  # seconds of a file
_DEPTH = 200  # frames of a stack, from the innermost
_MAX_STACKS = 20_000  # different stacks of a file; then it is written early
_PATIENCE = 5.0  # seconds for which an ending process waits for its sampler
_running: Sampler | None = None
_exit = os._exit


class Sampler:
    """Samples all threads of this process. Each file is a segment of one stream; a fork begins a new one."""

    def __init__(self, spool: Path, rate: float, interval: float, labels: Mapping[str, str]) -> None:
        self.spool, self.rate, self.interval, self.labels = spool, rate, interval, dict(labels)
        self.stream: Words = struct.unpack("<6I", os.urandom(24))
        self.number = 1
        self.parent: tuple[Words, int] = (NO_PARENT, 0)
        self._counts: dict[Stack, int] = {}
        self._codes: dict[int, Code] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="perf fleet sampler", daemon=True)

    def start(self) -> None:
        sections.is_sampling = True
        self._thread.start()

    def stop(self) -> None:
        """Write the last file."""
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=_PATIENCE)
        sections.is_sampling = False
        self.write(is_last=True)

    def _run(self) -> None:
        own, numbers = threading.get_ident(), random.Random(os.urandom(8))
        period = 1 / self.rate
        due = time.monotonic() + period * numbers.random()  # a random phase
        rotate = time.monotonic() + self.interval
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            now = time.monotonic()
            # Ticks that the interpreter was busy in are counted with the sample that follows them.
            ticks = 1 + int((now - due) / period)
            due += ticks * period
            self.take(own, ticks)
            if now >= rotate or len(self._counts) > _MAX_STACKS:
                rotate = now + self.interval
                with contextlib.suppress(OSError):  # a full disk must not harm the service
                    self.write(is_last=False)

    def take(self, own: int, ticks: int) -> None:
        """One sample of each thread but this one."""
        for thread, frame in sys._current_frames().items():
            if thread == own:
                continue
            stack: list[int] = []
            current: FrameType | None = frame
            while current is not None and len(stack) < 2 * _DEPTH:
                stack += (id(current.f_code), current.f_lasti)
                current = current.f_back
            key = tuple(stack)
            opened = sections.open_sections.get(thread)
            counts = self._counts if opened is None else opened.counts
            if key not in counts:
                self._note_codes(frame)
                counts[key] = 0
            counts[key] += ticks

    def _note_codes(self, frame: FrameType) -> None:
        """Keep the code objects of a stack: their ids are numbers of a stack, because hashing them takes long."""
        current: FrameType | None = frame
        while current is not None:
            if id(current.f_code) not in self._codes:
                module = current.f_globals.get("__name__")
                self._codes[id(current.f_code)] = current.f_code, module if isinstance(module, str) else ""
            current = current.f_back

    def write(self, *, is_last: bool) -> None:
        """Write what was counted as a file, which appears whole."""
        # A process may end in a handler of signals, above a write that will never go on.
        if not self._lock.acquire(timeout=_PATIENCE):
            return
        try:
            collected: dict[Labels, dict[Stack, int]] = {}
            while sections.finished:
                _collect(collected, sections.finished.popleft())
            for opened in list(sections.open_sections.values()):
                inner: OpenSection | None = opened
                while inner is not None:
                    _collect(collected, inner)
                    inner = inner.outer
            collected[()], self._counts = self._counts, {}
            if not any(collected.values()) and not is_last:
                return
            tick = max(1, round(1e6 / self.rate))
            labels = {"host": socket.gethostname(), **self.labels}
            data = trace_file.encode(
                self.stream, self.number, self.parent, tick, labels, collected, self._codes, is_last=is_last
            )
            name = f"{''.join(f'{word:08x}' for word in self.stream)}.{self.number}.statprof"
            temporary = self.spool / f".{name}"
            temporary.write_bytes(data)
            temporary.rename(self.spool / name)  # a service has no perfcore, whose helper this would be
            self.number += 1
        finally:
            self._lock.release()

    def forked(self) -> Sampler:
        """The sampler of a child of this process."""
        child = Sampler(self.spool, self.rate, self.interval, self.labels)
        child.parent = (self.stream, self.number)
        return child


def start(
    spool: str | Path, *, rate: float = RATE, interval: float = INTERVAL, labels: Mapping[str, str] | None = None
) -> None:
    """Sample this process, and processes that it forks, from now on. Once: a second call does nothing."""
    global _running
    if _running is not None:
        return
    folder = Path(spool)
    folder.mkdir(parents=True, exist_ok=True)
    _running = Sampler(folder, rate, interval, labels or {})
    _running.start()
    atexit.register(stop)
    os._exit = _stop_and_exit  # workers of multiprocessing and of many servers end by it, which runs nothing of atexit
    os.register_at_fork(after_in_child=_after_fork)


def stop() -> None:
    """Write the last file and end."""
    global _running
    if _running is not None:
        with contextlib.suppress(OSError):
            _running.stop()
        _running = None


def _stop_and_exit(status: int) -> NoReturn:
    with contextlib.suppress(Exception):  # the process ends, whatever happens here
        stop()
    _exit(status)


def _after_fork() -> None:
    """In a child: what the parent counted stays the parent's, and a stream begins."""
    global _running
    if _running is not None:
        sections.open_sections.clear()
        sections.finished.clear()
        _running = _running.forked()
        _running.start()


def _collect(collected: dict[Labels, dict[Stack, int]], section: OpenSection) -> None:
    counts, section.counts = section.counts, {}
    target = collected.setdefault(_labels_of(section), {})
    for stack, ticks in counts.items():
        target[stack] = target.get(stack, 0) + ticks


def _labels_of(section: OpenSection) -> Labels:
    """The labels of a section and those around it; of two values of one key the inner one counts."""
    labels: dict[str, str] = {}
    names = []
    around: OpenSection | None = section
    while around is not None:
        names.append(("section", around.name))
        labels = {**around.labels, **labels}
        around = around.outer
    return (*names, *sorted(labels.items()))
