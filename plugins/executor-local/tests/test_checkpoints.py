"""Checkpoints of a plan: incomplete profiles between two blocks, never while a run is measured."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from perfcore_executor_local import LocalExecutor

from perfcore.errors import UsageError
from perfcore.measure.continuation import joined
from perfcore.model import Job, Measured, Plan, Profile

RUNS = 6


def _plan(folder: Path, checkpoint: float | None, runs: int = RUNS, code: str = "1") -> Plan:
    jobs = tuple(
        Job(argv=(sys.executable, "-S", "-c", code, word), cmd=word, cwd=folder, version="c0" * 20) for word in "ab"
    )
    return Plan(jobs=jobs, schedule={"repeat": runs, "warmup": 1}, checkpoint=checkpoint)


def _split(answers: list[Measured]) -> tuple[list[Profile], list[Profile]]:
    profiles = [answer.profile for answer in answers if answer.profile is not None]
    return [p for p in profiles if p.incomplete], [p for p in profiles if not p.incomplete]


def test_without_a_checkpoint_there_are_only_complete_profiles(tmp_path: Path) -> None:
    incomplete, complete = _split(list(LocalExecutor().submit(_plan(tmp_path, None))))
    assert (len(incomplete), len(complete)) == (0, 2)


def test_checkpoints_hold_whole_blocks_and_end_with_the_complete_profiles(tmp_path: Path) -> None:
    incomplete, complete = _split(list(LocalExecutor().submit(_plan(tmp_path, 0.0))))
    assert len(complete) == 2
    counts = [sum(not warmup for warmup in profile.tables["runs"]["warmup"]) for profile in incomplete]
    assert counts == sorted(counts)
    assert counts
    for first, second in zip(incomplete[::2], incomplete[1::2], strict=True):
        assert (first.header.cmd, second.header.cmd) == ("a", "b")
        assert list(first.tables["runs"]["block"]) == list(second.tables["runs"]["block"])
    assert {profile.config_id for profile in incomplete} == {profile.config_id for profile in complete}


def test_nothing_is_saved_while_a_run_is_measured(tmp_path: Path) -> None:
    saved, complete = [], []
    for answer in LocalExecutor().submit(_plan(tmp_path, 0.0)):
        assert answer.profile is not None
        if answer.profile.incomplete:
            start = time.time_ns()
            (tmp_path / "saved").write_bytes(bytes(1 << 16))
            saved.append((start, time.time_ns()))
        else:
            complete.append(answer.profile)
    for profile in complete:
        walls = dict(zip(profile.tables["resources"]["run"], profile.tables["resources"]["wall"], strict=True))
        runs = profile.tables["runs"]
        for run, started in zip(runs["run"], runs["started"], strict=True):
            ended = started + walls.get(run, 0)  # type: ignore[operator]
            assert not any(start < ended and started < end for start, end in saved)  # type: ignore[operator]


def test_a_slow_save_is_followed_by_much_measuring(tmp_path: Path) -> None:
    checkpoints = 0
    for answer in LocalExecutor().submit(_plan(tmp_path, 0.0)):
        if answer.profile is not None and answer.profile.incomplete:
            checkpoints += 1
            time.sleep(1.0)  # so the next one is due after a hundred seconds
    assert checkpoints == 2


def test_the_runs_of_both_sessions_are_numbered_on(tmp_path: Path) -> None:
    first, second = (_split(list(LocalExecutor().submit(_plan(tmp_path, None))))[1][0] for _ in range(2))
    whole = joined(first, second)
    assert list(whole.tables["runs"]["run"]) == list(range(2 * (RUNS + 1)))
    assert set(whole.tables["resources"]["run"]) <= set(whole.tables["runs"]["run"])
    assert list(whole.tables["resources"]["wall"]) == [
        *first.tables["resources"]["wall"],
        *second.tables["resources"]["wall"],
    ]
    assert whole.created == first.created
    other = _split(list(LocalExecutor().submit(_plan(tmp_path, None, code="2"))))[1][0]
    with pytest.raises(UsageError, match="another configuration"):
        joined(first, other)
