"""`perf demo`: the whole tour, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Here


def test_it_prints_every_command_finds_the_slow_commit_and_leaves_a_repository(bare: Here) -> None:
    done = bare.real.perf("demo", "a tour")
    commands = [line for line in done.lines if line.startswith("$ perf ")]
    verbs = [line.split()[2] for line in commands]
    assert verbs[:5] == ["init", "collect", "log", "check", "check"]
    assert verbs[-1] == "status"
    assert "slower" in done.out
    assert "found it: its exit code was 1" in done.out
    assert "Go on by hand: cd 'a tour'" in done.out
    place = bare.path / "a tour"
    assert bare.perf("log", "--count-only", cwd=place).out.startswith("15 versions, 15 measured, ")
    slow = commands[4].split()[-1]
    bare.perf("check", slow, cwd=place, code=1)
    assert bare.git("status", "--porcelain", "--untracked-files=no", cwd=place).out == ""
    assert "Build the lists" in bare.git("log", "-1", "--format=%s", slow, cwd=place).out


def test_it_never_touches_a_folder_that_holds_something(bare: Here) -> None:
    bare.write("perf-demo/mine", "x")
    done = bare.perf("demo", code=2)
    assert "is there already" in done.err
    assert "perf demo FOLDER" in done.err
    assert [path.name for path in (bare.path / "perf-demo").iterdir()] == ["mine"]


def test_it_makes_nothing_where_a_plugin_that_it_needs_is_missing(bare: Here) -> None:
    done = bare.perf("demo", env={"PERF_DISABLED_PLUGINS": "collector:time"}, code=3)
    assert "the demo needs the collector time" in done.err
    assert not (bare.path / "perf-demo").exists()
