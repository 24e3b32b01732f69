"""Real programs under the real tools."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from perfcore_collect_sample import SampleCollector, SampleSettings
from perfcore_collect_sample.kernel import KernelPerf
from perfcore_collect_sample.source import Places
from perfcore_sample_kit import Samples
from perfcore_table_kit.functions import Function, by_function
from perfcore_testing.collector import Measuring
from perfcore_testing.project import Project

from perfcore.errors import CommandFailedError, PerfError, PluginError
from perfcore.model import Job
from perfcore.profile.stacks import Frame

PROGRAM = """\
import sys

def wraps(function):
    return function

@wraps
def parse(rounds):
    return sum(i * i for i in range(rounds))

def main():
    for _ in range(int(sys.argv[1])):
        parse(100_000)

main()
"""

NATIVE = """
#include <stdio.h>
#include <stdlib.h>
volatile unsigned long sink;
__attribute__((noinline)) void parse(unsigned long n) { for (unsigned long i = 0; i < n; i++) sink += i * i; }
__attribute__((noinline)) void work(unsigned long n) { parse(n); sink++; }
int main(int argc, char **argv) { work(strtoul(argv[1], 0, 10)); return argc > 2 ? atoi(argv[2]) : 0; }
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "a program.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def native(tmp_path: Path) -> Path:
    """A program of C, where the kernel's perf can look into it."""
    try:
        KernelPerf.find(SampleSettings())
    except PluginError as error:
        pytest.skip(str(error))
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "native.c").write_text(NATIVE)
    subprocess.run(
        [compiler, "-O0", "-g", "-fno-omit-frame-pointer", "-o", "native", "native.c"], cwd=tmp_path, check=True
    )
    return tmp_path / "native"


def sample(folder: Path, *argv: str, runs: int = 1, **options: Any) -> Measuring:
    with Measuring(SampleCollector(SampleSettings(**options)), Job(argv=argv, cmd=argv[0], cwd=folder)) as measuring:
        for _ in range(runs):
            measuring.run()
    return measuring


def functions(measuring: Measuring) -> dict[str, Function]:
    return {function.name: function for function in by_function(measuring.profile.tables, "samples")}


def test_functions_of_a_python_program_are_seen(program: Path) -> None:
    measuring = sample(program.parent, sys.executable, program.name, "200", rate=200)
    found = functions(measuring)
    assert found["parse"].file == program.name
    assert found["main"].total >= found["parse"].total > 0
    assert found["main"].own <= found["parse"].total
    table = measuring.profile.tables["functions"]
    lines = dict(zip(table["name"], table["line"], strict=True))
    assert (lines["parse"], lines["main"], lines["<module>"]) == (6, 10, 1)  # a decorator is where a function begins
    assert measuring.profile.collector.sampling["tool"] == "py-spy"


def test_functions_of_a_native_program_are_seen(native: Path) -> None:
    measuring = sample(native.parent, "./native", "400000000", rate=500)
    found = functions(measuring)
    assert found["parse"].file == "native"
    assert found["main"].total >= found["work"].total >= found["parse"].total > 10
    assert found["work"].own < found["work"].total
    assert "dash" not in {function.file for function in found.values()}


PHASES = """\
def parse(rounds):
    return sum(i * i for i in range(rounds))

def write(rounds):
    return sum(i * i for i in range(rounds))

for phase in (parse, write, parse):
    for _ in range(100):
        phase(100_000)
"""


def stacks(measuring: Measuring) -> list[list[str]]:
    """The names of the functions in each sample of the only thread, in the order of time."""
    samples = Samples.of(measuring.profile)
    (track,) = samples.tracks()
    return [[samples.stacks.names[at] for at in samples.stacks.path(samples.rows[row])] for row in track.rows]


def phases(measuring: Measuring, names: tuple[str, ...]) -> list[str]:
    """Which of these functions was on the stack, in the order of time, each as often as it began anew."""
    active = [next(name for name in names if name in stack) for stack in stacks(measuring) if set(names) & set(stack)]
    return [name for name, _ in itertools.groupby(active)]


def test_phases_of_a_python_program_come_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "phases.py").write_text(PHASES)
    measuring = sample(tmp_path, sys.executable, "phases.py", runs=2, ordered=True)
    assert phases(measuring, ("parse", "write")) == ["parse", "write", "parse", "write", "parse"]
    working = [stack for stack in stacks(measuring) if {"parse", "write"} & set(stack)]  # not while Python begins
    assert {stack[0] for stack in working} == {"<module>"}
    assert [row["position"] for row in measuring.rows] == list(range(len(measuring.rows)))


def test_phases_of_a_native_program_come_in_their_order(native: Path) -> None:
    source = NATIVE.replace("work(strtoul(argv[1], 0, 10))", "unsigned long n = strtoul(argv[1], 0, 10); {}")
    source = source.replace("{}", "parse(n); work(n); parse(n)")
    (native.parent / "native.c").write_text(source)
    command = ["cc", "-O0", "-g", "-fno-omit-frame-pointer", "-o", "native", "native.c"]
    subprocess.run(command, cwd=native.parent, check=True)
    measuring = sample(native.parent, "./native", "100000000", rate=500, ordered=True)
    assert phases(measuring, ("work", "parse")) == ["parse", "work", "parse"]
    assert {row["thread"] for row in measuring.rows} == {"native"}


def test_what_happens_before_a_program_begins_is_none_of_its_samples(native: Path) -> None:
    """At such a rate nearly every recording looks at the new process while it is still a copy of the starter."""
    measuring = sample(native.parent, "./native", "1", runs=5, rate=20_000, ordered=True)
    assert {row["thread"] for row in measuring.rows} == {"native"}


def test_without_an_order_a_stack_has_one_row(tmp_path: Path) -> None:
    (tmp_path / "phases.py").write_text(PHASES)
    rows = sample(tmp_path, sys.executable, "phases.py", rate=200).rows
    assert len({row["stack"] for row in rows}) == len(rows)
    assert set(rows[0]) == {"run", "stack", "samples"}


def test_the_tool_follows_the_program(program: Path, native: Path) -> None:
    assert sample(program.parent, sys.executable, program.name, "1").profile.collector.sampling["tool"] == "py-spy"
    assert sample(native.parent, "./native", "1").profile.collector.sampling["tool"] == "perf"
    script = program.parent / "script"
    script.write_text(f"#!{sys.executable}\n{PROGRAM}")
    script.chmod(0o755)
    assert sample(program.parent, "./script", "1").profile.collector.sampling["tool"] == "py-spy"


def test_runs_are_kept_apart(program: Path) -> None:
    measuring = sample(program.parent, sys.executable, program.name, "20", runs=2, rate=200)
    assert {row["run"] for row in measuring.rows} == {0, 1}


def test_threads_are_told_apart_by_name(tmp_path: Path) -> None:
    code = (
        "import threading as t; work = lambda: sum(i * i for i in range(4_000_000)); "
        "t.Thread(target=work, name='wörk;er').start()"
    )
    measuring = sample(tmp_path, sys.executable, "-c", code, threads=True, ordered=True, rate=200)
    found = functions(measuring)
    assert found["thread wörk;er"].total > 0
    assert not any(re.search(r"\d", name) for name in found if name.startswith("thread "))
    assert "wörk;er" in Samples.of(measuring.profile).thread


@pytest.mark.parametrize(("tool", "code"), [("py-spy", "import os; os._exit(41)"), ("perf", "import os; os._exit(41)")])
def test_a_command_that_fails_is_told_so(tmp_path: Path, tool: str, code: str) -> None:
    if tool == "perf":
        try:
            KernelPerf.find(SampleSettings())
        except PluginError as error:
            pytest.skip(str(error))
    with pytest.raises(CommandFailedError, match="exited with code 41"):
        sample(tmp_path, sys.executable, "-c", code, tool=tool)
    kept = sample(tmp_path, sys.executable, "-c", code, tool=tool, on_failure="ignore")
    assert kept.runs[0].exitcode == 41


def test_last_words_of_a_command_are_told(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError, match=r"end of its output:(\n.*)*\n  ValueError: no such thing"):
        sample(tmp_path, sys.executable, "-c", "raise ValueError('no such thing')")


def test_a_command_that_never_ends_is_ended_with_its_children(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys; p = subprocess.Popen(['sleep', '1000']); open('pid', 'w').write(str(p.pid)); p.wait()"
    )
    with pytest.raises(CommandFailedError, match="longer than 2 s"):
        sample(tmp_path, sys.executable, "-c", code, timeout=2.0)
    child = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split(")")[1]:
            return
        time.sleep(0.05)
    raise AssertionError("the child still runs")


def test_few_samples_are_told(tmp_path: Path) -> None:
    script = "import time; end = time.process_time() + 3\nwhile time.process_time() < end: pass"
    measuring = sample(tmp_path, sys.executable, "-c", script, rate=10)
    assert any("samples: take more" in note for note in measuring.session.notes)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PerfError, match="nosuchprogram"):
        sample(tmp_path, "nosuchprogram")


def fake(folder: Path, text: str) -> Path:
    folder.mkdir()
    path = folder / "perf"
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_our_own_perf_is_never_taken_for_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = fake(tmp_path / "ours", f"#!{sys.executable}\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    other = fake(tmp_path / "other", "#!/bin/sh\necho perfcore 0.1.0\n")
    kernels = fake(tmp_path / "kernel", "#!/bin/sh\necho perf version 6.1.0\n")
    monkeypatch.setenv("PATH", os.pathsep.join(str(path.parent) for path in (ours, other, kernels)))
    assert KernelPerf.find(SampleSettings()).path == str(kernels)
    assert not (tmp_path / "ran").exists()


def test_a_kernel_that_forbids_sampling_is_explained() -> None:
    tool = KernelPerf(path="perf", version="6", settings=SampleSettings())
    text = "Access to performance monitoring ... is limited.\nConsider adjusting /proc/sys/kernel/perf_event_paranoid"
    error = tool.failure(text)
    assert "does not let perf sample" in str(error)
    assert "perf_event_paranoid=1" in (error.hint or "")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("{root}/src/app.py", "src/app.py"),
        ("/usr/lib/python3.11/threading.py", "threading.py"),
        ("/opt/x/lib/python3.12/site-packages/numpy/core.py", "numpy/core.py"),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6"),
        ("[kernel.kallsyms]", "[kernel.kallsyms]"),
    ],
)
def test_files_are_called_the_same_in_every_tree(tmp_path: Path, path: str, name: str) -> None:
    assert Places(tmp_path).file(path.format(root=tmp_path)) == name


def test_a_source_that_cannot_be_parsed_costs_only_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def broken(:\n")
    frame = Places(tmp_path).frame("broken", str(tmp_path / "bad.py"), 1)
    assert frame == Frame("broken", "bad.py", 1, None)


def test_through_the_command_line(project: Project) -> None:
    project.write("app.py", PROGRAM)
    project.git("add", "app.py")
    project.git("commit", "--quiet", "--message", "app")
    project.perf("collect", "sample", "--rate", "200", "--", sys.executable, "app.py", "600")
    project.perf("add", "0@p")
    shown = project.perf("show", "0@i", "table", "--table", "functions").out
    assert "parse" in shown
    done = project.perf("collect", "sample", "--tool", "nothing", "--", "true", code=2)
    assert "py-spy" in done.err


def test_what_was_not_seen_of_a_command_is_told(tmp_path: Path) -> None:
    """py-spy does not see what a child that is not Python does; nobody may believe that it took no time."""
    loop = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"
    measuring = sample(tmp_path, sys.executable, "-c", f"import subprocess; subprocess.run(['sh', '-c', {loop!r}])")
    assert any("of CPU time that the command took" in note for note in measuring.session.notes)


def test_py_spy_of_what_is_no_python_program_says_what_to_use(tmp_path: Path) -> None:
    measuring = sample(tmp_path, "sleep", "0.2", tool="py-spy")
    assert any("--tool perf sees native ones" in note for note in measuring.session.notes)
