"""What a killed or interrupted collection leaves, and how it is continued: real processes, real signals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.processes import PATIENCE, eventually, living, marker
from perfcore_testing.project import Project

from perfcore.model import Profile
from perfcore.repository import Repository
from perfcore.repository.repository import UserPlaces

__all__ = ["marker"]

REPEAT = 4
# Each run adds a line to the file RUNS; from run `WAIT` of the file on it waits for the file `go`.
COMMAND = """
import os, sys, time
with open(sys.argv[1], 'a') as file:
    file.write(os.getcwd() + '\\n')
limit = int(sys.argv[2])
while len(open(sys.argv[1]).readlines()) > limit and not os.path.exists(sys.argv[1] + '.go'):
    time.sleep(0.01)
"""


class Started:
    """`perf collect --all` of three versions that runs until so many runs are done."""

    def __init__(self, project: Project, runs: Path, limit: int, marker: str, repeat: int = REPEAT) -> None:
        self.project, self.runs, self.limit = project, runs, limit
        self.words = ("--warmup", "0", "--repeat", str(repeat), "--all")
        self.command = (sys.executable, "-S", "-c", COMMAND, str(runs), str(limit), marker)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "perfcore", "collect", "time", *self.words, "--", *self.command],
            cwd=project.path,
            env=project.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def wait_for_runs(self) -> None:
        assert eventually(lambda: self.taken() > self.limit)

    def taken(self) -> int:
        return len(self.runs.read_text().splitlines()) if self.runs.exists() else 0

    def resume(self, *words: str) -> Any:
        Path(f"{self.runs}.go").touch()
        return self.project.perf("collect", "time", *self.words, *words, "--continue", "--", *self.command)


def profiles(project: Project) -> list[Profile]:
    home = Path(project.env["XDG_CONFIG_HOME"])
    places = UserPlaces(home / "config.yml", home / "trusted", home / "trees")
    pending = Repository.open(project.path, places=places).pending()
    return [each.profile for each in pending if each.profile is not None]


def counted(profile: Profile) -> int:
    return sum(not warmup for warmup in profile.tables["runs"]["warmup"])


@pytest.fixture
def three(project: Project) -> Project:
    project.commit("Second", code="2\n")
    project.commit("Third", code="3\n")
    return project


@pytest.fixture
def started(three: Project, tmp_path: Path, marker: str) -> Iterator[Started]:
    """Stopped in the third block: two runs of each version are done, and one more of the first in order."""
    begun = Started(three, tmp_path / "runs", 7, marker)
    yield begun
    begun.process.kill()
    begun.process.communicate()


def test_an_interrupt_keeps_the_finished_runs_and_says_how_to_go_on(started: Started) -> None:
    started.wait_for_runs()
    started.process.send_signal(signal.SIGINT)
    _, err = started.process.communicate(timeout=PATIENCE)
    assert started.process.returncode == 128 + signal.SIGINT
    assert "3 incomplete ones" in err
    assert "--continue" in err
    left = profiles(started.project)
    assert [profile.incomplete for profile in left] == [True] * 3
    assert sorted(map(counted, left)) == [2, 2, 3]
    for profile in left:
        assert set(profile.tables["resources"]["run"]) == set(profile.tables["runs"]["run"])
    status = started.project.perf("status")
    assert status.out.count("incomplete") == 4
    assert [row["incomplete"] for row in started.project.perf("status", "--json").json["pending"]] == [True] * 3


def test_adding_everything_leaves_incomplete_profiles_out_and_says_how_to_complete_them(started: Started) -> None:
    started.wait_for_runs()
    started.process.send_signal(signal.SIGINT)
    started.process.communicate(timeout=PATIENCE)
    done = started.project.perf("add", "--all")
    assert "3 profiles left out as incomplete" in done.err
    assert "--continue" in done.err
    assert done.out == ""
    named = started.project.perf("add", "0@p", "--version", profiles(started.project)[0].origin or "")
    assert "is incomplete" in named.err
    started.resume("--missing")
    assert sorted(profile.incomplete for profile in profiles(started.project)) == [False] * 2
    assert "incomplete" not in started.project.perf("add", "--all").err


def test_continuing_adds_the_missing_runs_only(started: Started) -> None:
    started.wait_for_runs()
    started.process.send_signal(signal.SIGTERM)
    started.process.communicate(timeout=PATIENCE)
    before = started.taken()
    started.resume()
    assert started.taken() - before == 3 * REPEAT - 7
    left = profiles(started.project)
    assert [profile.incomplete for profile in left] == [False] * 3
    for profile in left:
        runs = profile.tables["runs"]
        assert counted(profile) == REPEAT
        assert list(runs["run"]) == list(range(REPEAT))
        assert len(set(runs["session"])) == 2
        assert profile.tables["resources"].rows == REPEAT
    assert "nothing to measure" in started.resume().err
    assert {profile.config_id for profile in left} == {left[0].config_id}


def test_a_kill_leaves_the_last_checkpoint_which_can_be_continued(three: Project, tmp_path: Path, marker: str) -> None:
    started = Started(three, tmp_path / "runs", 10**6, marker, repeat=10**6)
    try:
        assert eventually(lambda: len(profiles(three)) == 3)
    finally:
        started.process.kill()
        started.process.communicate()
    assert eventually(lambda: living(marker) == [])
    left = profiles(three)
    assert [profile.incomplete for profile in left] == [True] * 3
    runs = list(map(counted, left))
    assert all(runs)
    before = started.taken()
    three.perf("collect", "time", *started.words, "--repeat", str(max(runs) + 1), "--continue", "--", *started.command)
    assert started.taken() - before == sum(max(runs) + 1 - count for count in runs)
    assert [(profile.incomplete, counted(profile)) for profile in profiles(three)] == [(False, max(runs) + 1)] * 3


def test_an_incomplete_profile_of_other_options_is_left_alone(started: Started) -> None:
    started.wait_for_runs()
    started.process.send_signal(signal.SIGINT)
    started.process.communicate(timeout=PATIENCE)
    before = started.taken()
    started.resume("--timeout", "1000", "--cleanup", "true")
    assert started.taken() - before == 3 * REPEAT
    assert sorted(profile.incomplete for profile in profiles(started.project)) == [False] * 3 + [True] * 3


def test_postprocessors_see_the_runs_of_both_sessions(started: Started) -> None:
    started.wait_for_runs()
    started.process.send_signal(signal.SIGINT)
    started.process.communicate(timeout=PATIENCE)
    started.resume("--postprocess", "normalizer")
    left = profiles(started.project)
    assert [len(profile.postprocessors) for profile in left] == [1] * 3
    assert list(map(counted, left)) == [REPEAT] * 3


@pytest.mark.parametrize(
    "words",
    [("time",), ("time", "--budget", "0.2s"), ("time", "--postprocess", "normalizer"), ("sample", "--tool", "py-spy")],
    ids=["runs", "budget", "postprocessed", "stacks"],
)
def test_what_was_measured_and_not_yet_registered_is_registered_without_a_run(
    three: Project, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """As a kill between the two leaves it: the same command with --continue completes its work."""
    runs = tmp_path / "runs"
    program = "import sys\nopen(sys.argv[1], 'a').write('x')\nsum(range(3_000_000))"
    options, command = (
        ("collect", *words, "--warmup", "0", "--repeat", "2", "--all"),
        ("--", sys.executable, "-c", program),
    )
    three.perf(*options, *command, str(runs))
    measured = {(profile.origin, profile.created) for profile in profiles(three)}
    taken = runs.read_text()
    three.perf(*options, "--add", "--continue", *command, str(runs))
    assert runs.read_text() == taken
    assert profiles(three) == []
    versions = [json.loads(line) for line in three.perf("log", "--json").lines]
    assert {(row["version"], entry["created"]) for row in versions for entry in row["profiles"]} == measured
    assert "every version has its profiles" in three.perf(*options, "--add", "--continue", *command, str(runs)).err
