"""A real Dask cluster on this machine, for tests: a scheduler and workers as processes, in folders of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from perfcore_testing.processes import eventually

_NAMESPACE = ("unshare", "--user", "--map-root-user", "--uts")
# Commands that this machine cannot run with: a worker without the distribution of the executor.
_WITHOUT = "import sys; sys.modules[{module!r}] = None; sys.argv[0] = 'dask worker'; "
_WORKER = "from distributed.cli.dask_worker import main; main()"


class Cluster:
    """`dask scheduler` and `dask worker` as processes, each worker in a folder of its own."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        # A lost worker loses its task at once: the executor tries again, not the scheduler.
        self.environment = {
            **os.environ,
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
            "XDG_CACHE_HOME": str(folder / "cache"),
            **variables,
        }
        words = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file))
        self.scheduler = self._start(folder, sys.executable, "-m", "distributed.cli.dask_scheduler", *words)

    def add(self, name: str, *words: str, machine: str = "", arch: str = "", without: str = "") -> None:
        """Start a worker. On a `machine` it has that host name and locks of its own; `arch` is the personality of
        `setarch`; it cannot import the module `without`."""
        command: tuple[str, ...] = (sys.executable, "-m", "distributed.cli.dask_worker")
        if without:
            command = (sys.executable, "-c", _WITHOUT.format(module=without) + _WORKER)
        variables = {}
        if machine:
            command = (*_NAMESPACE, "sh", "-c", f'hostname {machine} && exec "$@"', "sh", *command)
            variables["TMPDIR"] = str(self.folder / f"tmp-{machine}")
            Path(variables["TMPDIR"]).mkdir(exist_ok=True)
        if arch:
            command = ("setarch", arch, *command)
        words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name, *words)
        words = (*words, "--scheduler-file", str(self.file), "--local-directory", str(self.folder / name))
        self.workers[name] = self._start(self.folder / name, *command, *words, **variables)

    def kill(self, name: str) -> None:
        """End a worker as a power cut does."""
        self.workers[name].send_signal(signal.SIGKILL)
        self.workers[name].wait()

    def close(self) -> None:
        for process in (*self.workers.values(), self.scheduler):
            process.kill()
            process.wait()

    def _start(self, folder: Path, *command: str, **variables: str) -> subprocess.Popen[bytes]:
        folder.mkdir(exist_ok=True)
        with (folder / "log").open("wb") as log:
            environment = {**self.environment, **variables}
            return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)


def can_be_other_machines() -> bool:
    """Whether processes here may have a host name and an architecture of their own."""
    if sys.platform != "linux" or shutil.which("unshare") is None or shutil.which("setarch") is None:
        return False
    command = ["setarch", "linux32", *_NAMESPACE, "sh", "-c", "hostname other && uname -n -m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split() == ["other", "i686"]


def wait_for(client: Any, *names: str) -> None:
    """Wait until the scheduler knows the workers of these names."""

    def have_come() -> bool:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        return set(names) <= {worker["name"] for worker in workers}

    assert eventually(have_come), f"the workers {', '.join(names)} do not come"
