"""How profiles are named on the command line, and where they are looked for."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from perfcore_testing import profiles

from .conftest import Here

if TYPE_CHECKING:
    from perfcore_testing.project import Done


class Named(Here):
    """A project with profiles whose names the tests know."""

    ids: list[str]
    pending: str


@pytest.fixture
def named(here: Here) -> Named:
    """Two registered profiles (`one`, `two` in their commands), the second tagged, and a pending one."""
    project = Named(here.path, here.home)
    project.ids = [_register(project, "one"), _register(project, "two")]
    project.perf("tag", "best", "1@i")
    project.pending = project.save(profiles.traced(), created=profiles.CREATED + 9 * 10**9)
    return project


def _register(here: Here, word: str) -> str:
    from perfcore.model.record import replace

    profile = profiles.timed()
    changed = replace(profile, header=replace(profile.header, cmd=word, workload=""))
    return here.register(changed, created=profiles.CREATED + len(word) * 10**9 + ord(word[0]))


def _found(here: Here, name: str) -> list[str]:
    """The ids or names that `rm` would take."""
    return [line.split()[0] for line in here.perf("rm", "--dry-run", name).lines]


def _refused(here: Here, name: str, code: int) -> Done:
    """`rm` with a name that it does not take."""
    return here.perf("rm", "--dry-run", name, code=code)


def test_numbers_and_ranges(named: Named) -> None:
    assert _found(named, "0@i") == named.ids[:1]
    assert _found(named, "1@i") == named.ids[1:]
    assert _found(named, "0@i-1@i") == named.ids
    assert _found(named, "0@p") == [named.pending]
    assert _found(named, "0@p-0@p") == [named.pending]


def test_a_revision_before_a_number_means_that_version(named: Named) -> None:
    named.commit("Second")
    assert "there are none" in _refused(named, "0@i", code=3).err
    assert _found(named, "HEAD~1:1@i") == named.ids[1:]
    assert _found(named, "main~1:0@i-1@i") == named.ids
    assert "HEAD~9" in _refused(named, "HEAD~9:0@i", code=3).err


def test_a_tag_names_its_profile_from_every_version(named: Named) -> None:
    assert _found(named, "best") == named.ids[1:]
    named.commit("Second")
    assert _found(named, "best") == named.ids[1:]


def test_ids_names_and_parts_of_both(named: Named) -> None:
    entry = named.repository.entries(named.head)[0]
    for name in (named.ids[0], named.ids[0][:8], entry.name, entry.name.removesuffix(".perf"), "one"):
        assert _found(named, name) == named.ids[:1], name


def test_the_id_of_another_version_s_profile_is_found(named: Named) -> None:
    named.commit("Second")
    assert _found(named, named.ids[0][:12]) == named.ids[:1]


def test_pending_profiles_by_name_and_part_of_it(named: Named) -> None:
    for name in (named.pending, named.pending.removesuffix(".perf"), "trace-"):
        assert _found(named, name) == [named.pending], name


def test_several_matches_are_an_error_that_lists_them(named: Named) -> None:
    done = _refused(named, "time-", code=3)
    assert "fits 2 profiles" in done.err
    assert all(id[:10] in done.err for id in named.ids)


def test_the_index_comes_before_a_path_and_a_path_before_pending_ones(named: Named) -> None:
    named.perf("export", "0@p", "-o", "one")
    assert _found(named, "one") == named.ids[:1]
    named.perf("export", "0@p", "-o", named.pending)
    assert "outside the store" in _refused(named, named.pending, code=2).err
    assert "outside the store" in _refused(named, "./one", code=2).err


def test_what_is_not_there_is_one_error(named: Named) -> None:
    numbers = ("9@i", "9@p", "0@i-9@i", "9" * 5000 + "@i")
    for name in (*numbers, "nothing", "", " ", "@", "0@", "\x1b[31m", "a\nb", "x" * 5000):
        done = _refused(named, name, code=3)
        assert "Traceback" not in done.err
        assert "\x1b" not in done.err
        assert done.err.count("perf: ") == 1


def test_what_cannot_be_meant_is_wrong_usage(named: Named) -> None:
    for name in ("1@i-0@i", "0@i-1@p", "HEAD:0@p"):
        assert "Traceback" not in _refused(named, name, code=2).err


def test_a_file_somewhere_in_the_tree_is_offered_on_a_terminal_only(named: Named) -> None:
    deep = named.path / "some" / "where"
    deep.mkdir(parents=True)
    named.perf("export", "0@p", "-o", "some/where/lost.perf")
    assert "there is no profile" in named.perf("show", "lost", code=3).err
    said = _on_a_terminal(named, "y\n", "show", "lost")
    assert "some/where/lost.perf: take it? [y/N]" in said
    assert "write_block" in said
    assert "write_block" not in _on_a_terminal(named, "n\n", "show", "lost")


def _on_a_terminal(here: Here, answer: str, *words: str) -> str:
    """What a terminal shows of a command whose questions get an answer."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "perfcore", *words]
    process = subprocess.Popen(command, cwd=here.path, env=here.env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, answer.encode())
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # Linux tells the end of a terminal so
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(ours)
    return shown.decode()
