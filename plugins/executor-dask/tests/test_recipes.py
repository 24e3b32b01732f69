"""The recipes of the README as they are written: a machine reached over ssh, and a job of SLURM."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfcore_testing import ssh_server
from perfcore_testing.processes import PATIENCE, eventually
from perfcore_testing.project import Project

pytest.importorskip("distributed", reason="distributed cannot be imported", exc_type=ImportError)
README = Path(__file__).parents[1] / "README.md"
PORT, VERSIONS = "8786", "HEAD~20..HEAD"
FILE = "$HOME/perfcore.json"


def recipe(heading: str) -> str:
    """The first block of code below a heading."""
    _, _, text = README.read_text("utf-8").partition(f"## {heading}\n")
    block = re.search(r"```\w+\n(.*?)```", text, re.DOTALL)
    assert block is not None, heading
    return block[1]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture
def versions(project: Project) -> Project:
    """Three versions; dask and perf are on the path."""
    project.env["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), project.env["PATH"]))
    for number in range(2):
        project.commit(f"Version {number}", program=f"# {number}\n")
    project.perf("config", "set", "executor.dask.resource", "bench")
    return project


def measured(project: Project) -> list[str]:
    """The numbers of profiles of each version, newest first."""
    return [line.split()[1] for line in project.perf("log", "--short").out.splitlines()]


def test_a_machine_over_ssh(versions: Project, tmp_path: Path) -> None:
    """`desk` is this machine, reached through a real server; the program only ends well below a session of ssh."""
    pytest.importorskip("asyncssh", reason="asyncssh is not installed", exc_type=ImportError)
    program = ssh_server.program()
    if program is None:
        pytest.skip("sshd is not installed")
    keys, port = tmp_path / "keys", str(free_port())
    keys.mkdir()
    script = recipe("One idle machine on the desk")
    assert script.count(PORT) == 1
    desk = versions.home / "desk.py"
    desk.write_text(script.replace(PORT, port))
    with ssh_server.running(keys, program, SetEnv=f"HOME={versions.home}") as server:
        (versions.home / ".ssh").mkdir(mode=0o700)
        hosts = f"Host localhost desk\n  HostName 127.0.0.1\n  Port {server.port}\n  IdentityFile {server.key}\n"
        (versions.home / ".ssh" / "config").write_text(hosts)
        with opened(versions, desk):
            versions.perf("config", "set", "executor.dask.scheduler", f"tcp://localhost:{port}")
            over_ssh = ("sh", "-c", 'test -n "$SSH_CONNECTION"')
            versions.perf(*_collect("HEAD~1..HEAD"), "--executor", "dask", "--", *over_ssh)
            here = versions.perf(*_collect("HEAD"), "--", *over_ssh, code=None)
    assert measured(versions) == ["1", "-", "-"], here
    assert here.code, "the program ends well without ssh, so it shows nothing"


def _collect(range: str) -> tuple[str, ...]:
    return ("collect", "time", "--repeat", "1", "--warmup", "0", "--version", range, "--add")


@contextlib.contextmanager
def opened(project: Project, script: Path) -> Iterator[None]:
    """The script while it waits for Enter."""
    command = [sys.executable, "-u", str(script)]
    cluster = subprocess.Popen(
        command, env=project.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert cluster.stdout is not None
    heard = ""
    while "measuring" not in heard and (part := cluster.stdout.read(1)):
        heard += part
    assert "measuring" in heard, heard
    try:
        yield
    finally:
        rest, _ = cluster.communicate("\n", timeout=PATIENCE)
    assert cluster.returncode == 0, rest


def test_a_job_of_slurm(versions: Project, tmp_path: Path) -> None:
    """On a cluster of one node; the program only ends well in a step that `srun` has started."""
    programs = [
        shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in ("munged", "slurmctld", "slurmd")
    ]
    if None in programs:
        pytest.skip("munge and SLURM are not installed")
    versions.perf("config", "set", "executor.dask.scheduler_file", str(versions.home / "perfcore.json"))
    script = recipe("SLURM")
    assert script.count(VERSIONS) == 1
    in_a_step = "sh -c 'test -n \"$SLURM_STEP_NODELIST\"'"
    script = script.replace(VERSIONS, "HEAD~1..HEAD").replace("./program", in_a_step)
    job = versions.write("job.sh", script)
    log = tmp_path / "log of the job"
    with slurm(tmp_path, [str(program) for program in programs]) as configuration:
        environment = {"SLURM_CONF": str(configuration)}
        # Four nodes are asked for, and here is one: an option outweighs the line in the script.
        words = ("sbatch", "--nodes=1", "--wait", "--time=5", f"--output={log}", str(job))
        done = versions.run(*words, env=environment)
    assert done.code == 0, (done, log.read_text() if log.exists() else "")
    assert measured(versions) == ["1", "-", "-"], log.read_text()


@contextlib.contextmanager
def slurm(folder: Path, programs: list[str]) -> Iterator[Path]:
    """A controller and the daemon of one node, this machine; gives the file of their configuration."""
    node, key, pipe = socket.gethostname().partition(".")[0], folder / "munge.key", folder / "munge.socket"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    settings = {
        "ClusterName": "test",
        "SlurmctldHost": f"{node}(127.0.0.1)",
        "SlurmctldPort": free_port(),
        "SlurmdPort": free_port(),
        "SlurmUser": getpass.getuser(),
        "SlurmdUser": getpass.getuser(),
        "AuthInfo": f"socket={pipe}",
        "StateSaveLocation": folder / "state",
        "SlurmdSpoolDir": folder / "spool",
        "SlurmctldPidFile": folder / "slurmctld.pid",
        "SlurmdPidFile": folder / "slurmd.pid",
        "ProctrackType": "proctrack/pgid",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "ReturnToService": 2,
        "MpiDefault": "none",
        "NodeName": f"{node} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN",
        "PartitionName": f"all Nodes={node} Default=YES MaxTime=INFINITE State=UP",
    }
    configuration = folder / "slurm.conf"
    configuration.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    files = {"key-file": key, "socket": pipe, "pid-file": folder / "munge.pid", "seed-file": folder / "munge.seed"}
    munge = [f"--{name}={path}" for name, path in files.items()]
    commands = (
        [programs[0], "--force", "--foreground", f"--log-file={folder / 'munge.log'}", *munge],
        [programs[1], "-D", "-i", "-f", str(configuration)],
        [programs[2], "-D", "-f", str(configuration)],
    )
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    with contextlib.ExitStack() as running, (folder / "log of slurm").open("w+b") as log:

        def is_idle() -> bool:
            state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True)
            return state.stdout.strip() == "idle"

        for command in commands:
            running.enter_context(_stopped(subprocess.Popen(command, env=environment, stdout=log, stderr=log)))
            assert eventually(pipe.exists), (folder / "munge.log").read_text()
        assert eventually(is_idle), (folder / "log of slurm").read_text()
        try:
            yield configuration
        finally:
            subprocess.run(["scancel", "--user", getpass.getuser()], env=environment, check=False)
            eventually(is_idle)  # what the job has started is gone


@contextlib.contextmanager
def _stopped(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)
