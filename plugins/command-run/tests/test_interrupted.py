"""A matrix that is interrupted or killed in the middle, and continued: real processes, real signals."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from perfcore_testing.processes import eventually, living, marker
from perfcore_testing.project import Project

from perfcore.model import Profile
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces

__all__ = ["marker"]

REPEAT = 3
COMMANDS = ("one", "two")
# Each run adds its name to the file; from run LIMIT of the file on it waits for the file `go`.
SCRIPT = """
import os, sys, time
with open(sys.argv[1], 'a') as file:
    file.write(sys.argv[3] + '\\n')
while len(open(sys.argv[1]).readlines()) > int(sys.argv[2]) and not os.path.exists(sys.argv[1] + '.go'):
    time.sleep(0.01)
"""


class Matrix:
    """`perf run` of two commands and two versions, which stops in the middle."""

    def __init__(self, project: Project, folder: Path, limit: int, marker: str) -> None:
        self.project, self.runs, self.limit = project, folder / "runs", limit
        script = folder / "script.py"
        script.write_text(SCRIPT)
        project.commit("Second", code="2\n")
        commands = [f"{sys.executable} -S {script} {self.runs} {limit} {name} {marker}" for name in COMMANDS]
        matrix = folder / "jobs.yml"
        matrix.write_text("bins:\n" + "".join(f"  - {command}\n" for command in commands))
        self.words = ("run", "matrix", str(matrix), "--repeat", str(REPEAT), "--warmup", "0", "--all")

    def stop(self, number: signal.Signals) -> None:
        """Begin, and send the signal while the run after the limit waits."""
        process = subprocess.Popen(
            [sys.executable, "-m", "perfcore", *self.words],
            cwd=self.project.path,
            env=self.project.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert eventually(lambda: len(self.taken()) > self.limit)
            process.send_signal(number)
            process.wait(60)
        finally:
            process.kill()
            process.wait()

    def taken(self) -> list[str]:
        return self.runs.read_text().splitlines() if self.runs.exists() else []

    def finish(self) -> list[tuple[str, str, list[int], int, bool]]:
        """Continue; gives version, label, numbers of runs, rows and whether incomplete, of all pending profiles."""
        Path(f"{self.runs}.go").touch()
        self.project.perf(*self.words, "--continue")
        home = Path(self.project.env["XDG_CONFIG_HOME"])
        places = UserPlaces(home / "config.yml", home / "trusted", home / "trees")
        pending = Repository.open(self.project.path, places=places).pending()
        return sorted(_facts(entry.profile) for entry in pending if entry.profile is not None)


def _facts(profile: Profile) -> tuple[str, str, list[int], int, bool]:
    numbers = [int(number or 0) for number in profile.tables["runs"]["run"]]
    return profile.origin or "", profile.label, numbers, profile.tables["resources"].rows, profile.incomplete


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_continued_matrix_has_every_run_once(
    project: Project, tmp_path: Path, marker: str, number: signal.Signals
) -> None:
    matrix = Matrix(project, tmp_path, 6, marker)
    matrix.stop(number)
    assert eventually(lambda: living(marker) == [])
    before = len(matrix.taken())
    rows = matrix.finish()
    assert len(rows) == len({row[:2] for row in rows}) == 4
    assert [row[2:] for row in rows] == [(list(range(REPEAT)), REPEAT, False)] * 4
    if number != signal.SIGKILL:  # a killed one loses what it measured since its last checkpoint
        assert len(matrix.taken()) - before == 4 * REPEAT - matrix.limit
