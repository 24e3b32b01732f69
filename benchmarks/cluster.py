"""What a measurement costs on a Dask cluster of one worker, by a worker behind a pipe, and in this process.

    python benchmarks/cluster.py 10 100 1000

A session measures `true` once. CPU time is that of all processes that take part: of this one, of its workers, and of
the cluster's scheduler and worker. "sessions" are those of one plan, "plans" are submitted one after the other.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import distributed
from perfcore_executor_dask import DaskExecutor
from perfcore_executor_dask.machines import DaskSettings
from perfcore_executor_kit import plan_format, worker
from perfcore_executor_local import LocalExecutor
from perfcore_testing.dask_cluster import Cluster, wait_for
from perfcore_testing.processes import eventually

from perfcore.model import Job, Measured, Plan, Step

_TICK = os.sysconf("SC_CLK_TCK")
_MOST = 100  # of the peers, whose cost does not grow: a process behind a pipe takes half a second
Submit = Callable[[Plan], Iterable[Measured]]


def plan(sessions: int) -> Plan:
    job = Job(argv=("true",), cmd="true", cwd=Path("/"), collector=Step(name="time"))
    positions = tuple((number,) for number in range(sessions))
    return Plan(jobs=(job,) * sessions, schedule={"repeat": 1, "warmup": 0}, sessions=positions)


def piped(submitted: Plan) -> Iterator[Measured]:
    """A worker behind a pipe for each session, without a scheduler."""
    for job in submitted.jobs:
        own = Plan(jobs=(job,), schedule=submitted.schedule)
        command = [sys.executable, "-m", "perfcore_executor_kit.worker"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(plan_format.encode_plan(own))
            process.stdin.flush()
            yield from worker.answers(own, process.stdout)
            process.stdin.close()


def cpu(pids: Iterable[int]) -> float:
    """The seconds of CPU of this process, of its children that ended, and of others with theirs."""
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        used += sum(map(int, fields[11:15])) / _TICK  # utime, stime, cutime, cstime of proc(5)
    return used


def measured(submit: Submit, plans: Iterable[Plan], pids: Iterable[int]) -> tuple[float, float]:
    """The seconds of CPU and of the clock."""
    began, used = time.perf_counter(), cpu(pids)
    for submitted in plans:
        assert [answer.error for answer in submit(submitted)] == [None] * len(submitted.jobs)
    return cpu(pids) - used, time.perf_counter() - began


def main(counts: list[int]) -> None:
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="perfcore-cluster-")))
    try:
        cluster.add("one")
        assert eventually(cluster.file.exists)
        with distributed.Client(scheduler_file=str(cluster.file)) as client:  # type: ignore[no-untyped-call]
            wait_for(client, "one")
            pids = [cluster.scheduler.pid, cluster.workers["one"].pid]
            through_dask: Submit = DaskExecutor(DaskSettings(), client).submit
            submits: dict[str, Submit] = {"dask": through_dask, "pipe": piped, "here": LocalExecutor().submit}
            for submit in submits.values():
                measured(submit, [plan(2)], pids)  # imports
            print("milliseconds of CPU, and of the clock")
            for count in counts:
                for name, plans in (("sessions", [plan(count)]), ("plans", [plan(1)] * count)):
                    line = f"{count:>6} {name:9}"
                    for executor, submit in submits.items():
                        if count <= _MOST or (executor, name) == ("dask", "sessions"):
                            used, clock = measured(submit, plans, pids)
                            line += f"  {executor} {used / count * 1e3:7.1f} {clock / count * 1e3:7.1f}"
                    print(line, flush=True)
    finally:
        cluster.close()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [10, 100, 1000])
