"""Commands that only look leave `.perf` as it is, and need no more than to be allowed to read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from perfcore_testing import profiles

if TYPE_CHECKING:
    from .conftest import Here

READERS = (
    ("status",),
    ("status", "--json"),
    ("log",),
    ("log", "--branches"),
    ("log", "--count-only"),
    ("show", "0@i"),
    ("show", "0@p", "--format", "json"),
    ("show", "table", "HEAD~1:0@i"),
    ("check", "--allow-empty"),
    ("check", "all", "--json", "--allow-empty"),
    ("check", "0@p", "--allow-empty"),
    ("tag",),
    ("plugins", "list"),
    ("plugins", "show", "time"),
    ("config", "get"),
    ("config", "get", "gc.grace"),
    ("fsck",),
    ("gc", "--dry-run", "--grace", "0"),
    ("rm", "--dry-run", "0@i"),
    ("run", "matrix", "--dry-run"),
    ("export", "0@i", "-o", "../out.perf", "--force"),
)


@pytest.fixture
def full(here: Here) -> Here:
    """A bit of everything: two versions with profiles, a tag, pending ones, garbage, a matrix."""
    here.register(profiles.large(), config_id="1:" + "a" * 40)
    here.commit("Second")
    here.register(config_id="1:" + "b" * 40)
    here.perf("tag", "best")
    here.register(profiles.traced())
    here.perf("rm", "1@i")
    here.save(dirty=True)
    here.save(profiles.hostile())
    here.perf("config", "set", "bins", "['true']")
    return here


def test_readers_never_write(full: Here) -> None:
    before = full.snapshot()
    for words in READERS:
        full.perf(*words, code=None)
        assert full.snapshot() == before, words


def test_readers_need_no_right_to_write(full: Here) -> None:
    paths = [full.path / ".perf", *(full.path / ".perf").rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        ends = {words: full.perf(*words, code=None) for words in READERS}
    finally:
        for path in paths:
            path.chmod(path.stat().st_mode | 0o200)
    assert {words: end for words, end in ends.items() if end.code != 0} == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_writers_that_may_not_write_say_so(full: Here) -> None:
    paths = [full.path / ".perf", *(full.path / ".perf").rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        for words in (("add", "1@p"), ("rm", "0@i"), ("tag", "x"), ("config", "set", "gc.grace", "1")):
            done = full.perf(*words, code=4)
            assert "Traceback" not in done.err
    finally:
        for path in paths:
            path.chmod(path.stat().st_mode | 0o200)
