"""A full disk, a store that may not be written or read, a repository that was moved, a clock that was set back: the
error is clear, the exit code is not 0, and nothing is lost."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing.project import Done, Project

CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, at);
    if (!failed && id == CLOCK_REALTIME) at->tv_sec -= atol(getenv("SET_BACK"));
    return failed;
}
"""
YEAR = 365 * 86400
MEASURE = ("collect", "time", "--repeat", "1", "--warmup", "0", "--", "true")


def refused(done: Done) -> Done:
    """A failure that says something and is no wrong usage and no crash."""
    assert done.code in range(3, 64), done
    assert done.err.startswith("perf: ") or "\nperf: " in done.err, done
    assert "Traceback" not in done.err, done
    return done


def content(perf: Path) -> dict[str, bytes]:
    """What is stored: everything but temporary files, locks and caches."""
    places = (perf / "objects", perf / "jobs")
    return {
        str(p.relative_to(perf)): p.read_bytes() for place in places for p in sorted(place.rglob("*")) if p.is_file()
    }


@pytest.fixture
def filled(project: Project) -> Project:
    """Two registered profiles, one with a tag, and one that waits."""
    project.perf("run", "job", "-c", "true a", "-c", "true b", "-c", "true c", "--repeat", "1", "--warmup", "0")
    project.perf("add", "0@p-1@p")
    project.perf("tag", "one", "0@i")
    return project


def mounted(*words: str) -> bool:
    try:
        return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """`mount *words place`; what was mounted is unmounted."""
    places: list[str] = []

    def mount(*words: str) -> None:
        if not mounted(*words):
            pytest.skip("only root on Linux can mount a file system")
        places.append(words[-1])

    yield mount
    for place in reversed(places):
        subprocess.run(["umount", place], check=True)


def test_a_full_disk_loses_nothing_and_goes_on_when_there_is_room(
    filled: Project, mount: Callable[..., None], tmp_path: Path
) -> None:
    perf, saved = filled.path / ".perf", tmp_path / "saved"
    perf.rename(saved)
    perf.mkdir()
    mount("-t", "tmpfs", "-o", "size=2m", "perfcore-test", str(perf))
    shutil.copytree(saved, perf, dirs_exist_ok=True)
    filler = perf / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096) == 4096:
            pass
    before = content(perf)
    words: tuple[str, ...]
    for words in (("add", "0@p"), ("tag", "two", "0@i"), ("rm", "0@i"), MEASURE):
        done = refused(filled.perf(*words, code=None))
        assert "No space left on device" in done.err, done
        assert content(perf) == before, done
    for words in (("status",), ("log",), ("show", "one"), ("fsck",)):
        filled.perf(*words)
    filler.unlink()
    filled.perf("add", "0@p")
    filled.perf("fsck")
    assert len(filled.perf("status", "--json").json["profiles"]) == 3


def test_a_store_that_may_only_be_read_is_read_and_says_so_when_it_is_written(
    filled: Project, mount: Callable[..., None]
) -> None:
    perf = filled.path / ".perf"
    before = content(perf)
    mount("--bind", str(perf), str(perf))
    subprocess.run(["mount", "-o", "remount,ro,bind", str(perf)], check=True)
    words: tuple[str, ...]
    for words in (("status",), ("log",), ("show", "one"), ("fsck",), ("tag",), ("gc", "--dry-run")):
        filled.perf(*words)
    for words in (
        ("add", "0@p"),
        ("tag", "two", "0@i"),
        ("rm", "0@i"),
        ("rm", "0@p"),
        ("collect", "time", "--", "true"),
    ):
        done = refused(filled.perf(*words, code=None))
        assert "Read-only file system" in done.err, done
    assert content(perf) == before


def test_a_repository_that_was_moved_goes_on(filled: Project) -> None:
    elsewhere = filled.path.with_name("elsewhere with a 'quote' and ünicode")
    filled.perf("run", "job", "--command", "true", "--repeat", "1", "--version", "HEAD")
    filled.path.rename(elsewhere)
    moved = Project(elsewhere, filled.home)
    before = content(elsewhere / ".perf")
    assert len(moved.perf("status", "--json").json["profiles"]) == 2
    moved.perf("show", "one")
    moved.perf("run", "job", "--command", "true", "--repeat", "1", "--version", "HEAD", "--add")
    moved.perf("add", "--all")
    moved.perf("gc", "--grace", "0s")
    moved.perf("fsck")
    assert {key for key in before if key.startswith("objects/")} <= set(content(elsewhere / ".perf"))
    assert moved.git("worktree", "list").lines == [
        line for line in moved.git("worktree", "list").lines if "main" in line
    ]


def test_a_clock_that_was_set_back_by_a_year_loses_nothing(filled: Project, tmp_path: Path) -> None:
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler, to give a process another clock")
    source, library = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    past = {"LD_PRELOAD": str(library), "SET_BACK": str(YEAR)}
    told = filled.run(sys.executable, "-c", "import time; print(time.time_ns())", env=past)
    now = filled.run(sys.executable, "-c", "import time; print(time.time_ns())")
    assert (int(now.out) - int(told.out)) // 1_000_000_000 in range(YEAR - 60, YEAR + 60)
    filled.collect("true", "later", env=past)
    filled.perf("add", "--all", env=past)
    for env in (past, {}):
        for words in (("gc", "--grace", "0s"), ("gc",), ("fsck",)):
            filled.perf(*words, env=env)
        profiles = filled.perf("status", "--json", env=env).json["profiles"]
        assert len(profiles) == 4
        assert [p["created"] for p in profiles] == sorted(p["created"] for p in profiles)
        filled.perf("show", "0@i-3@i", env=env)


@pytest.mark.skipif(sys.platform != "linux", reason="root cannot do without its privileges elsewhere")
def test_every_part_of_the_store_may_be_forbidden(filled: Project, torture: Callable[..., Any]) -> None:
    tried = torture("forbidden.py", filled.path)
    assert tried["parts"] > 8, tried
    assert tried["refused"] > 30, tried


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_where_the_end_of_children_is_ignored_their_failures_still_count(filled: Project, tmp_path: Path) -> None:
    """Whoever starts perf may ignore SIGCHLD, and a child inherits that: then wait(2) gives no exit codes."""
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        "os.execv(sys.executable, [sys.executable, '-m', 'perfcore', *sys.argv[1:]])"
    )

    def perf(*words: str) -> Done:
        return filled.run(sys.executable, "-c", ignoring, *words)

    filled.git("remote", "add", "origin", str(tmp_path / "nowhere.git"))
    assert "cannot reach" in refused(perf("push", "origin")).err
    filled.commit("Fails", __perfcore__yml="execute: {pre_run: ['false']}\n")
    filled.perf("config", "trust", "--yes")
    assert "'false' failed with exit code 1" in refused(perf(*MEASURE)).err
