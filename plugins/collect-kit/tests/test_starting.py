"""From a job to what is started, without starting it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from perfcore_collect_kit import command, exit_status

from perfcore.config.settings import options_of
from perfcore.errors import CommandFailedError, PerfError, UsageError
from perfcore.model import Job
from perfcore.settings import on_failure_option, output_option, timeout_option


def job(*argv: str, **changes: Any) -> Job:
    return Job(argv=argv, cmd="", **changes)


def program(folder: Path, name: str, mode: int = 0o755) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_a_program_is_found_in_the_path_that_the_command_will_have(tmp_path: Path) -> None:
    found = program(tmp_path, "tool")
    made = command.spec(job("tool", "a b", env={"PATH": f"/nowhere:{tmp_path}"}))
    assert (made.path, made.argv) == (bytes(found), [b"tool", b"a b"])
    assert b"PATH=/nowhere:" + bytes(tmp_path) in made.environment


def test_a_program_with_a_slash_is_seen_from_the_folder_of_the_job(tmp_path: Path) -> None:
    found = program(tmp_path, "tool")
    assert command.spec(job("./tool", cwd=tmp_path)).path == bytes(found)


def test_a_shell_gets_the_script_as_one_word() -> None:
    made = command.spec(job("echo $HOME | wc", shell=True))
    assert (made.path, made.argv) == (b"/bin/sh", [b"sh", b"-c", b"echo $HOME | wc"])


@pytest.mark.parametrize(
    ("argv", "message", "hint"),
    [
        ("locked", "it may not be executed", "chmod +x"),
        ("./lockde", "no such file", "did you mean 'locked'"),
        ("./locked -x", "no such file", "without quotes, or add --shell"),
        ("./spare loked", "no such file", "did you mean 'spare locked'"),
        ("./folder", "it is a folder", None),
        ("here", "it is not in PATH", "write ./here"),
        ("locked -x", "no program has this name", "without quotes, or add --shell"),
        ("lockde", "it is not in PATH", "did you mean 'locked'"),
    ],
)
def test_what_cannot_be_started_is_explained(tmp_path: Path, argv: str, message: str, hint: str | None) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in (folder, tmp_path):
        program(place, "locked", 0o644 if place is folder else 0o755)
    program(tmp_path, "here")
    program(tmp_path, "spare locked")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CommandFailedError, match=message) as caught:
        command.spec(job(argv, cwd=tmp_path, env={"PATH": str(folder)}))
    assert (hint or "") in (caught.value.hint or "")


@pytest.mark.parametrize("argv", ["nosuchcommand", "./nosuchcommand"])
def test_a_program_that_is_hardly_alike_is_not_proposed(tmp_path: Path, argv: str) -> None:
    program(tmp_path, "chcon")
    with pytest.raises(CommandFailedError) as caught:
        command.spec(job(argv, cwd=tmp_path, env={"PATH": str(tmp_path)}))
    assert caught.value.hint is None


@pytest.mark.parametrize("wrong", [job(), job(""), job("a\0b"), job("a\ud900"), job("a", env={"x=y": "z"})])
def test_jobs_that_no_system_could_start(wrong: Job) -> None:
    with pytest.raises(UsageError):
        command.check(wrong)


def test_output_goes_where_the_option_says(tmp_path: Path) -> None:
    here = job("true", cwd=tmp_path)
    assert command.output(here, "null", 7) == b"/dev/null"
    assert command.output(here, "inherit", 7) == 7
    assert command.output(here, "told", 7) == bytes(tmp_path / "told")


@pytest.mark.parametrize("step", ["cwd", "stdin", "output", "cpus", "start"])
def test_every_step_of_a_start_has_words(step: str) -> None:
    error = exit_status.explain(job("a\x1b[2J"), command.StartError(step, 13), (4000,))
    assert isinstance(error, PerfError)
    assert "\x1b" not in str(error)


def test_the_options_are_options() -> None:
    @attrs.frozen
    class Settings:
        timeout: float | None = timeout_option()
        on_failure: str = on_failure_option()
        output: str = output_option()

    assert [option.flag for option in options_of(Settings)] == ["--timeout", "--on-failure", "--output"]
    assert Settings() == Settings(timeout=None, on_failure="fail", output="null")


def test_a_command_is_not_pointed_at_the_repository_of_a_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless its job says so. What else git reads, such as settings, it gets."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_QUARANTINE_PATH", "GIT_CONFIG_COUNT"):
        monkeypatch.setenv(name, "0")
    made = command.spec(job("true", cwd=tmp_path, env={"GIT_DIR": "its own"}))
    named = {variable for variable in made.environment if variable.startswith(b"GIT_")}
    assert {b"GIT_DIR=its own", b"GIT_CONFIG_COUNT=0"} <= named
    assert not {name.partition(b"=")[0] for name in named} & {
        b"GIT_INDEX_FILE",
        b"GIT_WORK_TREE",
        b"GIT_QUARANTINE_PATH",
    }
