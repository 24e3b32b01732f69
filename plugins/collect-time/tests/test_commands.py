"""Commands that cannot be started, and what the message says to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_time import TimeCollector
from perfcore_testing.processes import Measure

from perfcore.errors import CommandFailedError, PerfError, UsageError
from perfcore.model import Job


def refusal(measure: Measure, *argv: str, **options: Any) -> tuple[str, str]:
    """Message and hint of the error that ended a session."""
    with pytest.raises(CommandFailedError) as caught:
        measure(*argv, **options)
    return caught.value.message, caught.value.hint or ""


def script(path: Path, text: str = "#!/bin/sh\nexit 0\n", mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_program_of_the_folder_needs_a_path(measure: Measure, tmp_path: Path) -> None:
    script(tmp_path / "prog-of-here")
    message, hint = refusal(measure, "prog-of-here")
    assert message == "cannot start `prog-of-here`: it is not in PATH"
    assert hint == "./prog-of-here exists: write ./prog-of-here"
    assert measure("./prog-of-here").rows


def test_a_mistyped_name_is_answered_with_the_nearest(measure: Measure, tmp_path: Path) -> None:
    script(tmp_path / "measurable-thing")
    assert refusal(measure, "measurabel-thing", env={"PATH": str(tmp_path)})[1] == "did you mean 'measurable-thing'?"
    message, hint = refusal(measure, "./measurabel-thing")
    assert message == "cannot start `./measurabel-thing`: no such file or directory"
    assert hint == "did you mean 'measurable-thing'?"


@pytest.mark.parametrize("text", ["sleep 1", "no-such-program-1f3a 1", "./work 100", "/bin/sleep 1 2"])
def test_a_quoted_command_is_noticed(measure: Measure, text: str) -> None:
    hint = "it was taken as one word: write it without quotes, or add --shell, which lets a shell run it"
    assert refusal(measure, text)[1] == hint


@pytest.mark.parametrize("text", ["./work | cat", "sleep 1 && true", "NAME=1 sleep 1", "cat < input", "ls $HOME"])
def test_a_quoted_line_for_a_shell_is_noticed(measure: Measure, text: str) -> None:
    """Without quotes, the shell in which perf was typed would take it apart."""
    assert refusal(measure, text)[1] == "it was taken as one word: add --shell, which lets a shell run it"


def test_a_name_with_a_blank_is_a_name(measure: Measure, tmp_path: Path) -> None:
    script(tmp_path / "my work")
    assert measure("./my work").rows
    assert "quotes" not in refusal(measure, "./no work", "100")[1]


def test_a_file_that_may_not_be_executed(measure: Measure, tmp_path: Path) -> None:
    script(tmp_path / "prog", mode=0o644)
    message, hint = refusal(measure, "./prog")
    assert message == "cannot start `./prog`: it may not be executed"
    assert "chmod +x ./prog" in hint


def test_a_folder_is_no_program(measure: Measure, tmp_path: Path) -> None:
    (tmp_path / "prog").mkdir()
    assert refusal(measure, "./prog")[0] == "cannot start `./prog`: it is a folder"


def test_a_text_is_no_program(measure: Measure, tmp_path: Path) -> None:
    script(tmp_path / "prog", "just text\n")
    message, hint = refusal(measure, "./prog")
    assert message == "`./prog` cannot be started: no program of this machine, and no script"
    assert "#!/bin/sh" in hint


def test_a_missing_interpreter_is_suspected(measure: Measure, tmp_path: Path) -> None:
    script(tmp_path / "prog", "#!/no/such/interpreter\n")
    message, hint = refusal(measure, "./prog")
    assert "cannot be started: No such file" in message
    assert "interpreter" in hint


def test_a_program_removed_between_runs(measure: Measure, tmp_path: Path) -> None:
    script(tmp_path / "prog", "#!/bin/sh\nrm prog\n")
    assert "cannot be started" in refusal(measure, "./prog", runs=2)[0]


def test_a_program_that_the_shell_does_not_find(measure: Measure) -> None:
    message, hint = refusal(measure, "no-such-program-1f3a --all", shell=True)
    assert message.startswith("`no-such-program-1f3a --all` exited with code 127 in run 1; end of its output:")
    assert hint == "127 is how a shell says that it found no such command"


def test_the_path_of_the_job_counts(measure: Measure, tmp_path: Path) -> None:
    """Also where it is relative or empty: seen from the command's folder."""
    (tmp_path / "bin").mkdir()
    for folder, path in (("bin", str(tmp_path / "bin")), ("bin", "bin"), (".", "")):
        script(tmp_path / folder / "only-there")
        assert measure("only-there", env={"PATH": f"/nowhere:{path}"}).rows


def test_a_file_in_the_way_is_passed_over(measure: Measure, tmp_path: Path) -> None:
    """As a shell does: what may not be executed is no candidate, nor is a folder."""
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "prog").mkdir()
    script(tmp_path / "two" / "prog", mode=0o644)
    script(tmp_path / "three" / "prog")
    assert measure("prog", env={"PATH": "one:two:three"}).rows


def test_a_setup_may_make_the_program(measure: Measure) -> None:
    setup = "printf '#!/bin/sh\\nread line; test $line = x\\n' > prog && chmod +x prog && echo x > input"
    assert len(measure("./prog", runs=2, setup=setup, stdin="input", cleanup="rm prog input").rows) == 2


@pytest.mark.parametrize("argv", [(), ("",)])
def test_no_command_is_an_error(tmp_path: Path, argv: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="no command"):
        TimeCollector().before(Job(argv=argv, cmd="", cwd=tmp_path))


@pytest.mark.parametrize("env", [{"A=B": "1"}, {"": "1"}, {"A": "x\0y"}, {"A\0": "x"}, {"A": "\ud800"}])
def test_variables_that_none_can_have(measure: Measure, env: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        measure("true", env=env)


def test_too_many_words(measure: Measure) -> None:
    """More than the system passes on."""
    with pytest.raises(CommandFailedError, match="Argument list too long"):
        measure("true", *["x" * 100_000] * 60)


def test_the_folder_is_gone_later(measure: Measure, tmp_path: Path) -> None:
    folder = tmp_path / "short-lived"
    folder.mkdir()
    with pytest.raises(CommandFailedError, match=r"its folder .*short-lived: No such file"):
        measure("sh", "-c", "rmdir ../short-lived", cwd=folder, runs=2)


def test_long_and_hostile_commands_are_shown_short_and_harmless(measure: Measure) -> None:
    with pytest.raises(PerfError) as caught:
        measure("sh", "-c", "exit 1", "\x1b[2J" * 1000)
    assert len(caught.value.message) < 200
    assert "\x1b" not in caught.value.message


def test_signals_are_as_a_shell_would_leave_them(python: Measure, measure: Measure, tmp_path: Path) -> None:
    """Python ignores SIGPIPE (13) and SIGXFSZ (25), the helper blocks SIGCHLD; the command inherits none of it."""
    python("open('said', 'w').write(open('/proc/self/status').read())")
    status = dict(line.split(":\t") for line in (tmp_path / "said").read_text().splitlines() if ":\t" in line)
    assert int(status["SigBlk"], 16) == 0
    measure("sh", "-c", "grep SigIgn /proc/self/status > ignored")
    assert _ignored(tmp_path / "ignored") & ~(1 << 31 | 1 << 32) == 0  # glibc's own two aside


def test_the_command_holds_three_files(measure: Measure, tmp_path: Path) -> None:
    measure("sh", "-c", "ls -l /proc/self/fd > ../listed", cwd=_made(tmp_path / "folder"))
    lines = [line.split()[-3:] for line in (tmp_path / "listed").read_text().splitlines() if "->" in line]
    opened = {name: target for name, _, target in lines}
    assert opened.pop("0") == "/dev/null"
    assert opened.pop("2").startswith("pipe:")
    assert opened.pop("1").endswith("listed")
    assert [target for target in opened.values() if "/proc/" not in target] == []


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _ignored(status: Path) -> int:
    """Without 32 and above: glibc ignores two of its own in whatever posix_spawn starts."""
    line = next(line for line in status.read_text().splitlines() if line.startswith("SigIgn"))
    return int(line.split()[1], 16) & 0x7FFFFFFF


def test_the_environment_may_hold_bytes_that_are_no_text(measure: Measure, tmp_path: Path) -> None:
    measure("sh", "-c", 'printf %s "$ODD" > said', env={"ODD": os.fsdecode(b"\xff\n'")})
    assert (tmp_path / "said").read_bytes() == b"\xff\n'"
