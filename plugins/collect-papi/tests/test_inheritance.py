"""Sets of PAPI that threads inherit: what an ended thread counted belongs to the pass that it ran in, and to no later
one. When the kernel adds it is a race between threads, so that everything is done many times. Instructions are page
faults here: a thread touches pages, and an empty pass has next to none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOUCHED, PASSES = 400, 150

PROGRAM = """
import json, mmap, sys, threading
import perfcore_collect_papi as papi

def touch():
    pages = int(sys.argv[2])
    with mmap.mmap(-1, pages * mmap.PAGESIZE) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(pages):
            memory[page * mmap.PAGESIZE] = 1

def in_a_thread():
    thread = threading.Thread(target=touch)
    thread.start()
    thread.join()

def regions():
    full, empty = (papi.region(name, ["PAPI_TOT_INS"], threads=True) for name in ("full", "empty"))
    for _ in passes:
        with full:
            in_a_thread()
        with empty:
            pass
    return [one.values[0] for one in full.passes], [one.values[0] for one in empty.passes]

def same_region():
    one = papi.region("one", ["PAPI_TOT_INS"], threads=True)
    for _ in passes:
        with one:
            in_a_thread()
        with one:
            pass
    values = [one.values[0] for one in one.passes]
    return values[::2], values[1::2]

def inherited():
    return papi.EventSet(papi.library(), ["PAPI_TOT_INS"], inherit=True)

def reset():
    full, empty, events = [], [], inherited()
    events.start()
    for _ in passes:
        in_a_thread()
        full.append(events.read()[0])
        events.reset()
        empty.append(events.read()[0])
        events.reset()
    events.close()
    return full, empty

def accumulated():
    full, empty, events = [], [], inherited()
    events.start()
    for _ in passes:
        in_a_thread()
        full.append(events.accum()[0])
        empty.append(events.accum()[0])
    events.close()
    return full, empty

def restarted():
    full, empty, events = [], [], inherited()
    for _ in passes:
        events.start()
        in_a_thread()
        full.append(events.stop()[0])
        events.start()
        empty.append(events.stop()[0])
    events.close()
    return full, empty

def stored():
    full, empty, events, metrics = [], [], inherited(), None
    for _ in passes:
        metrics = papi.PapiMetrics.start(events, metrics)
        in_a_thread()
        metrics.stop(events)
        full.append(metrics.value("PAPI_TOT_INS"))
        papi.PapiMetrics.start(events, metrics)
        metrics.read(events)
        empty.append(metrics.value("PAPI_TOT_INS"))
        metrics.reset(events)
        metrics.stop(events)
        empty[-1] = max(empty[-1], metrics.value("PAPI_TOT_INS"))
    events.close()
    return full, empty

passes = range(int(sys.argv[3]))
print(json.dumps(globals()[sys.argv[1]]()))
"""


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("way", ["regions", "same_region", "reset", "accumulated", "restarted", "stored"])
def test_what_ended_threads_counted_is_in_one_pass(tmp_path: Path, way: str) -> None:
    words = [sys.executable, "-c", PROGRAM, way, str(TOUCHED), str(PASSES)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    full, empty = json.loads(done.stdout)
    assert len(full) == len(empty) == PASSES
    assert all(0 <= count < TOUCHED // 2 for count in empty), empty
    assert all(TOUCHED <= count < TOUCHED * 3 // 2 for count in full), full
