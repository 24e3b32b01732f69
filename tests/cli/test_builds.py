"""Versions that are built once, whichever command measures them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Here

COMMAND = ("--", "sh", "program")


@pytest.fixture
def builds(here: Here, tmp_path: Path) -> Path:
    """Three versions with a build that makes their program; each build adds a line to this file."""
    count = tmp_path / "builds.txt"
    count.touch()
    build = f"echo built >> '{count}'; test ! -e fail || exit 3; printf 'exit 0' > program"
    here.write("build.sh", build)
    for number in range(3):
        here.commit(f"version {number}", source=str(number))
    here.perf("config", "set", "execute.pre_run", "sh build.sh")
    return count


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_what_one_command_built_no_other_builds_again(here: Here, builds: Path) -> None:
    here.perf("collect", "time", "-v", "HEAD~2..", "--repeat", "2", *COMMAND)
    assert lines(builds) == 2
    compared = here.perf("compare", "HEAD~1", "HEAD", "--max-pairs", "6", "--json", *COMMAND, code=None)
    assert compared.json["pairs"] > 0
    assert lines(builds) == 2
    bisected = here.perf("bisect", "HEAD~1", "HEAD", "--max-runs", "8", *COMMAND, code=None)
    assert "runs" in bisected.out
    assert lines(builds) == 2
    here.perf("collect", "time", "-v", "HEAD", "--repeat", "1", "--rebuild", *COMMAND)
    assert lines(builds) == 3
    here.perf("config", "set", "execute.build_cache", "0")
    here.perf("collect", "time", "-v", "HEAD", "--repeat", "1", *COMMAND)
    assert lines(builds) == 4


def test_a_version_that_does_not_build_is_tried_again(here: Here, builds: Path) -> None:
    here.commit("does not build", fail="")
    for count in (1, 2):
        done = here.perf("collect", "time", "-v", "HEAD", "--repeat", "1", *COMMAND, code=None)
        assert "failed with exit code 3" in done.err
        assert lines(builds) == count


@pytest.mark.parametrize("verb", [("collect", "time", "--repeat", "2"), ("run", "job", "--repeat", "2", "-c")])
def test_a_version_that_nobody_builds_says_what_would_build_it(here: Here, verb: tuple[str, ...]) -> None:
    """Rather than the name of the file beside it."""
    here.commit("Source", Makefile="prog:\n\tcp prog.c prog\n", prog__c="#!/bin/sh\n")
    (here.path / "prog").write_text("#!/bin/sh\n")
    (here.path / "prog").chmod(0o755)
    words = (*verb, *(("./prog", "-v", "HEAD") if verb[0] == "run" else ("-v", "HEAD", "--", "./prog")))
    assert "perf config set execute.pre_run '[make]'" in here.perf(*words, code=6).err
    here.perf("config", "set", "execute.pre_run", "[ls]")
    assert "execute.pre_run builds the tree of each version, and made no such file" in here.perf(*words, code=6).err
    assert "leave out --no-build" in here.perf(*verb[:2], "--no-build", *words[2:], code=6).err
    here.perf("config", "set", "execute.pre_run", "[cp prog.c prog, chmod +x prog]")
    here.perf(*words)
    missing = here.perf("collect", "time", "--", "./porg", code=6).err
    assert "did you mean 'prog'?" in missing
    assert "pre_run" not in missing, "of the working tree"


def test_a_quoted_command_of_a_version_is_said_to_be_quoted_and_not_unbuilt(here: Here) -> None:
    here.commit("Source", Makefile="")
    done = here.perf("collect", "time", "-v", "HEAD", "--", "./work 100", code=6)
    assert "write it without quotes, or add --shell" in done.err
    here.write("work", "#!/bin/sh\n")
    here.perf("collect", "time", "--repeat", "2", "--shell", "--", "sh ./work 100")
