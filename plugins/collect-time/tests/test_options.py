"""Each option, by what the command sees of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_time import TimeCollector, TimeSettings
from perfcore_collect_time.collector import parse_cpus
from perfcore_testing.collector import Measuring
from perfcore_testing.processes import Measure

from perfcore.config.settings import identity_params, options_of, structure
from perfcore.errors import CommandFailedError, UsageError
from perfcore.model import Job

CPUS = sorted(os.sched_getaffinity(0))
AFFINITY = "import os; open('said', 'a').write(' '.join(map(str, sorted(os.sched_getaffinity(0)))) + ';')"


def said(folder: Path) -> str:
    return (folder / "said").read_text()


def test_the_input_is_empty_by_default(measure: Measure, tmp_path: Path) -> None:
    measure("sh", "-c", "cat > said")
    assert said(tmp_path) == ""


def test_every_run_gets_the_input_from_its_beginning(measure: Measure, tmp_path: Path) -> None:
    """The file is seen from the command's folder."""
    (tmp_path / "in put").write_text("line\n")
    measure("sh", "-c", "cat >> said", runs=2, stdin=Path("in put"))
    assert said(tmp_path) == "line\nline\n"


@pytest.mark.parametrize(
    ("stdin", "why"),
    [("inptu", "it is not there"), ("folder", "it is no file"), ("/dev/zero", "it is no file")],
)
def test_an_input_that_cannot_be_read(measure: Measure, tmp_path: Path, stdin: str, why: str) -> None:
    (tmp_path / "input").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(CommandFailedError, match=f"cannot get its input .*{stdin}: {why}") as caught:
        measure("true", stdin=Path(stdin))
    if stdin == "inptu":
        assert caught.value.hint == "did you mean 'input'?"


def test_setup_and_cleanup_surround_every_run(measure: Measure, tmp_path: Path) -> None:
    """In the command's folder and environment, a warm-up like any other."""
    settings = TimeSettings(setup='printf "$NAME-" >> said', cleanup="printf 'c;' >> said")
    job = Job(argv=("sh", "-c", "printf r- >> said"), cmd="sh", cwd=tmp_path, env={"NAME": "s"})
    with Measuring(TimeCollector(settings), job) as measuring:
        measuring.run(warmup=True)
        measuring.run()
    assert said(tmp_path) == "s-r-c;s-r-c;"


def test_the_cleanup_follows_a_failed_run_too(measure: Measure, tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match="exited with code 3 in run 1"):
        measure("sh", "-c", "exit 3", cleanup="touch said")
    assert said(tmp_path) == ""


def test_the_cleanup_follows_a_failed_setup_too(measure: Measure, tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match="setup"):
        measure("true", setup="touch half; exit 1", cleanup="mv half said")
    assert said(tmp_path) == ""


@pytest.mark.parametrize("which", ["setup", "cleanup"])
def test_a_failed_side_step_is_an_error_that_names_it(measure: Measure, which: str) -> None:
    """Whatever a failure of the command means. The run has no row."""
    options: dict[str, Any] = {which: "echo on standard output; echo on standard error >&2; exit 5"}
    with pytest.raises(CommandFailedError) as caught:
        measure("true", on_failure="ignore", **options)
    assert caught.value.message.startswith(f"the {which} command `echo on")
    assert "exited with code 5 in run 1; end of its output:\n  on standard output\n  on standard error" in (
        caught.value.message
    )
    assert caught.value.hint == f"{which} has to end with exit code 0"


def test_a_failed_cleanup_leaves_no_row(tmp_path: Path) -> None:
    job = Job(argv=("true",), cmd="true", cwd=tmp_path)
    with Measuring(TimeCollector(TimeSettings(cleanup="false")), job) as measuring:
        with pytest.raises(CommandFailedError):
            measuring.run()
        assert measuring.rows == []


def test_the_run_that_failed_is_told_rather_than_its_cleanup(measure: Measure) -> None:
    with pytest.raises(CommandFailedError, match="`false` exited with code 1"):
        measure("false", cleanup="exit 7")


@pytest.mark.parametrize("which", ["setup", "cleanup"])
def test_side_steps_have_the_same_limit(measure: Measure, which: str) -> None:
    options: dict[str, Any] = {which: "sleep 1000"}
    with pytest.raises(CommandFailedError, match=rf"the {which} command .* took longer than 0\.2 s"):
        measure("true", timeout=0.2, **options)


def test_the_output_is_dropped_by_default(measure: Measure, capfd: pytest.CaptureFixture[str]) -> None:
    measure("echo", "word")
    assert capfd.readouterr() == ("", "")


def test_the_output_can_be_seen(measure: Measure, capfd: pytest.CaptureFixture[str]) -> None:
    measure("sh", "-c", "echo word; echo complaint >&2", output="inherit", setup="echo setup")
    assert capfd.readouterr() == ("word\n", "")


def test_the_output_can_be_kept(measure: Measure, tmp_path: Path) -> None:
    """That of the last run; each begins the file anew."""
    measure("sh", "-c", "echo word; touch once", runs=2, output="said", setup="test ! -e once || printf x >> said")
    assert said(tmp_path) == "word\n"


def test_an_output_that_cannot_be_written(measure: Measure) -> None:
    with pytest.raises(CommandFailedError, match="its output: No such file") as caught:
        measure("true", output="no/such/folder/file")
    assert caught.value.hint == "--output names a file in a folder that is there"


def test_a_command_can_be_pinned(python: Measure, tmp_path: Path) -> None:
    """For itself: neither setup nor the collecting process move."""
    python(AFFINITY, cpus=str(CPUS[-1]))
    assert said(tmp_path) == f"{CPUS[-1]};"
    assert sorted(os.sched_getaffinity(0)) == CPUS


def test_two_jobs_on_different_cpus_take_turns(tmp_path: Path) -> None:
    chosen = [str(CPUS[0]), str(CPUS[-1]), None]
    job = Job(argv=(sys.executable, "-I", "-S", "-c", AFFINITY), cmd="python", cwd=tmp_path)
    one, two, free = (Measuring(TimeCollector(TimeSettings(cpus=cpus)), job) for cpus in chosen)
    with one, two, free:
        for measuring in (one, two, free, two, one):
            measuring.run()
    everywhere = " ".join(map(str, CPUS))
    assert said(tmp_path) == f"{CPUS[0]};{CPUS[-1]};{everywhere};{CPUS[-1]};{CPUS[0]};"


def test_whoever_pins_the_collecting_process_pins_the_command(tmp_path: Path) -> None:
    """As an observer around `collect` does; the command would inherit it from any process that started it."""
    job = Job(argv=(sys.executable, "-I", "-S", "-c", AFFINITY), cmd="python", cwd=tmp_path)
    with Measuring(TimeCollector(), job) as measuring:
        measuring.run()
        os.sched_setaffinity(0, {CPUS[-1]})
        try:
            measuring.run()
        finally:
            os.sched_setaffinity(0, CPUS)
        measuring.run()
    everywhere = " ".join(map(str, CPUS))
    assert said(tmp_path) == f"{everywhere};{CPUS[-1]};{everywhere};"


def test_cpus_that_are_not_there(measure: Measure) -> None:
    for cpus in (f"{CPUS[0]},9999", "9999", "99999"):
        with pytest.raises(UsageError, match=f"cannot be pinned to .*{cpus[-4:]}") as caught:
            measure("true", cpus=cpus)
        assert f"{CPUS[0]}" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "cpus"), [("0", (0,)), ("3,1", (1, 3)), ("0-2", (0, 1, 2)), (" 1 , 4-5,5", (1, 4, 5)), ("7-7", (7,))]
)
def test_lists_of_cpus(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "-1", "1-", "3-1", "1,,2", "0x1", "1.5", "٣", "0-99999999999"])
def test_no_lists_of_cpus(text: str) -> None:
    with pytest.raises(UsageError, match="no list of CPUs"):
        structure(TimeSettings, {"cpus": text}, where="collector time")


@pytest.mark.parametrize(
    "values", [{"timeout": 0}, {"timeout": "soon"}, {"on_failure": "shrug"}, {"timout": 1}, {"stdin": ["a", "b"]}]
)
def test_options_that_make_no_sense(values: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        structure(TimeSettings, values, where="collector time")


def test_what_makes_two_profiles_comparable() -> None:
    """What changes the numbers of a run, not how long or how kindly it is looked at."""
    assert set(identity_params(TimeSettings())) == {"stdin", "setup", "cleanup", "cpus", "output"}
    assert structure(TimeSettings, {"timeout": "500ms"}, where="").timeout == 0.5
    assert all(option.info.help[0].isupper() for option in options_of(TimeSettings))
