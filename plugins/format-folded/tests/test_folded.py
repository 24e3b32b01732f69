"""Folded stacks of the real tools, and what goes wrong with them."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_format_folded import FoldedFormat, frames, reading
from perfcore_format_folded.driver import FoldedSettings
from perfcore_table_kit.functions import by_function
from perfcore_testing import profiles
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

from perfcore.errors import FormatError, NotFoundError
from perfcore.model.record import replace
from perfcore.profile.stacks import Frame, Stacks
from perfcore.profile.table import column

PROGRAM = """
def inner(n):
    return sum(i * i for i in range(n))

def outer():
    for _ in range(60):
        inner(100_000)

outer()
"""


def read(tmp_path: Path, text: str, name: str = "x.folded") -> Any:
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return FoldedFormat().read(path)


def said(profile: Any) -> dict[str, int]:
    """What the profile says, as the lines of a folded file would."""
    stacks, resources = Stacks.of(profile.tables), profile.tables["resources"]
    return {
        ";".join(stacks.names[function] for function in stacks.path(stack)): amount
        for stack, amount in zip(resources["stack"], resources["samples"], strict=True)
        if stack is not None
    }


STACK = st.lists(st.sampled_from(("a", "b", "# c", " d", "\x01e")), max_size=6).map(tuple)
COUNT = st.integers(-3, 10**20) | st.sampled_from((0.5, 10**18))


@given(st.lists(st.tuples(STACK, COUNT), min_size=1, max_size=40))
def test_each_stack_has_the_sum_of_its_lines(samples: list[Any]) -> None:
    lines = "".join(f"{';'.join(path) or ' '} {count}\n" for path, count in [(("main",), 1), *samples])
    folded = reading.read(io.BytesIO(lines.encode()), "x")
    expected: dict[Any, Any] = {("main",): 1}
    for path, count in samples:
        expected[path] = count + expected.get(path, 0)
    assert list(folded.counts.values()) == list(expected.values())
    tables = reading.tables(folded, lambda values: column("samples", list(map(float, values)), role="value"))
    stacks, rows = Stacks.of(tables), tables["resources"].iter_rows()
    paths = {() if row["stack"] is None else _names(stacks, row["stack"]): row["samples"] for row in rows}
    assert paths == {path: float(count) for path, count in expected.items()}
    assert len(set(zip(stacks.parent, stacks.frame, strict=True))) == len(stacks)


def _names(stacks: Stacks, stack: Any) -> tuple[str, ...]:
    return tuple(stacks.names[function] for function in stacks.path(stack))


@pytest.mark.parametrize("comment", ["", "# mode: wall\n"])
def test_a_first_stack_longer_than_the_head_is_recognized(project: Project, tmp_path: Path, comment: str) -> None:
    path = tmp_path / "deep.folded"
    path.write_text(f"{comment}main;{';'.join(['visit'] * 3000)} 90\nmain;leaf 40\n")
    project.perf("import", str(path))
    assert FoldedFormat().sniff(b"main;" * 1000, "x.json") is False


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("parse (src/a b.py:12)", Frame("parse", "src/a b.py", 12)),
        ("<module> (x.py:1)", Frame("<module>", "x.py", 1)),
        ("malloc (libc.so.6)", Frame("malloc", "libc.so.6")),
        ("operator() (const)", Frame("operator() (const)")),
        ("main", Frame("main")),
        ("", Frame("")),
        ("std::map<int, a::b>::find", Frame("std::map<int, a::b>::find")),
        ("f (C:\\x.py:3)", Frame("f", "C:\\x.py", 3)),
        ("do_syscall_64_[k]", Frame("do_syscall_64_[k]")),
    ],
)
def test_frames_are_understood_as_the_tools_write_them(text: str, frame: Frame) -> None:
    assert frames.usual(text) == frame


def test_equal_stacks_are_added_up(tmp_path: Path) -> None:
    profile = read(tmp_path, "main;work 3\nmain 1\n\nmain;work 4\r\n")
    assert said(profile) == {"main;work": 7, "main": 1}


def test_a_count_without_a_stack_is_an_amount_without_one(tmp_path: Path) -> None:
    profile = read(tmp_path, " 4\nmain 1\n")
    assert list(profile.tables["resources"]["stack"]) == [None, 0]
    FoldedFormat().write(profile, tmp_path / "again")
    assert (tmp_path / "again").read_text() == " 4\nmain 1\n"


def test_austin_says_which_time_it_measured(tmp_path: Path) -> None:
    text = (
        "# austin: 3.7.0\n# interval: 100\n# mode: wall\n\nP12;T0:34;/a b.py:work:7 1500\nP12;T0:34;/a b.py:work:9 20\n"
    )
    profile = read(tmp_path, text, "x.austin")
    column = profile.tables["resources"].values()[0]
    assert (column.name, column.unit, list(column)) == ("wall", "ns", [1_500_000, 20_000])
    stacks = Stacks.of(profile.tables)
    assert [stacks.line(s) for s in profile.tables["resources"]["stack"]] == [7, 9]
    assert stacks.names[stacks.path(profile.tables["resources"]["stack"][0])[-1]] == "work"


def test_a_recording_of_austin_has_its_threads_as_labels_and_comments_also_behind_the_stacks(tmp_path: Path) -> None:
    recorded = "P12;T0:34;a.py:main:1;a.py:work:7 100\nP12;T0:35;a.py:main:1;a.py:work:7 20\nP12;T0:34;a.py:main:1 3\n"
    text = f"# austin: 3.7.0\n# mode: cpu\n\n{recorded}P12;T0:35 4\nP12;T0:34;a.py::8 5\n\n# duration: 300\n"
    profile = read(tmp_path, text, "x.austin")
    stacks, resources = Stacks.of(profile.tables), profile.tables["resources"]
    paths = [
        "" if at is None else ";".join(stacks.names[function] for function in stacks.path(at))
        for at in resources["stack"]
    ]
    rows = zip(paths, resources["process"], resources["thread"], resources["cpu"], strict=True)
    assert sorted(rows) == [
        ("", "12", "0:35", 4000),
        ("[unknown]", "12", "0:34", 5000),
        ("main", "12", "0:34", 3000),
        ("main;work", "12", "0:34", 100_000),
        ("main;work", "12", "0:35", 20_000),
    ]
    assert len(profile.tables["stacks"]) == 3
    assert profile.collector.sampling["duration"] == "300"


def test_times_of_austin_beyond_the_largest_float_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="larger than numbers are stored"):
        read(tmp_path, f"# austin: 3.7.0\n# mode: wall\n\nP12;T0:34;a.py:work:7 1{'0' * 307}\n", "x.austin")


def test_austin_records_bytes_too(tmp_path: Path) -> None:
    text = "# austin: 3.7.0\n# mode: memory\n\nP12;T0:34;:INVALID: 184320\nP12;T0:34;a.py:work:7 4096\n"
    column = read(tmp_path, text, "x.austin").tables["resources"].values()[0]
    assert (column.name, column.unit, sum(column)) == ("memory", "B", 188416)


@pytest.mark.process
def test_two_recordings_by_austin_have_the_same_functions(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("austin")
    if not program.exists():
        pytest.skip("Austin is not installed")
    (tmp_path / "work.py").write_text("def work():\n    sum(i * i for i in range(3_000_000))\n\n\nwork()\n")
    paths = []
    for number in range(2):
        path = tmp_path / f"{number}.austin"
        done = subprocess.run(
            [program, "-o", path, sys.executable, str(tmp_path / "work.py")], capture_output=True, text=True
        )
        if not path.exists() or b"work.py" not in path.read_bytes():
            pytest.skip(f"Austin cannot record here: {done.stderr.strip()[-200:]}")
        paths.append(path)
    named = [set(FoldedFormat().read(path).tables["functions"]["name"]) for path in paths]
    assert {"<module>", "work"} <= named[0] & named[1]
    assert not [name for name in named[0] | named[1] if re.match(r"P\d|T\d|#", str(name))]


@pytest.mark.parametrize(
    ("text", "line"),
    [("main;work", 1), ("main 1\nmain;work\n", 2), ("main x\n", 1), ("main 1e5\n", 1)],
)
def test_a_line_without_a_count_is_named(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(FormatError, match=f"line {line}:"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "text", [f"main {'9' * 310}.0\n", f"main 1{'0' * 308}.0\n" * 2, f"main {'9' * 310}\nmain 1.5\n"]
)
def test_counts_beyond_the_largest_float_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError, match="larger than numbers are stored"):
        read(tmp_path, text)


def test_counts_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="64 bits"):
        read(tmp_path, f"main {2**70}\n")


@given(
    st.lists(
        st.tuples(
            st.lists(
                st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\r;"), min_size=1).filter(
                    lambda name: frames.usual(name) == Frame(name)
                ),
                min_size=1,
                max_size=5,
            ).map(tuple),
            st.integers(0, 2**40),
        ),
        min_size=1,
        unique_by=lambda sample: sample[0],
    )
)
def test_what_was_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, samples: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("folded")
    lines = {";".join(path): count for path, count in samples}
    profile = read(
        folder, "main 0\n" + "".join(f"{stack} {count}\n" for stack, count in lines.items() if stack.strip())
    )
    FoldedFormat().write(profile, folder / "again.folded")
    assert said(FoldedFormat().read(folder / "again.folded")) == said(profile)


@pytest.mark.parametrize("amount", [2.888888888888889e89, 1.7976931348623157e308, 5e-324, -1e-7, 0.5, 3.0])
def test_amounts_are_written_with_digits_only(tmp_path: Path, amount: float) -> None:
    """Readers of folded stacks know no exponent."""
    path = tmp_path / "a.folded"
    path.write_text(f"main {amount:.400f}\n" if amount < 1 else f"main {amount:.1f}\n")
    profile = FoldedFormat().read(path)
    FoldedFormat().write(profile, path)
    assert "e" not in path.read_text()
    assert list(FoldedFormat().read(path).tables["resources"]["samples"]) == [amount]


@pytest.mark.parametrize("amount", [float("nan"), float("inf")])
def test_amounts_that_are_no_numbers_are_refused(tmp_path: Path, amount: float) -> None:
    path = tmp_path / "a.folded"
    path.write_text("main 1.5\n")
    profile = FoldedFormat().read(path)
    odd = profile.tables["resources"].with_columns(column("samples", [amount], role="value"))
    with pytest.raises(FormatError, match="finite numbers only"):
        FoldedFormat().write(profile.replace_tables(resources=odd), tmp_path / "b.folded")
    assert not (tmp_path / "b.folded").exists()


def test_files_and_lines_can_be_left_out(tmp_path: Path) -> None:
    FoldedFormat(FoldedSettings(files=False)).write(profiles.sampled(), tmp_path / "x")
    assert "main;Parser.parse;Parser.parse 5\n" in (tmp_path / "x").read_text()
    FoldedFormat().write(profiles.sampled(), tmp_path / "x")
    assert "main (app.py:11);Parser.parse (parse.py:31) 20\n" in (tmp_path / "x").read_text()


def test_hostile_names_stay_one_frame_in_one_line(tmp_path: Path) -> None:
    FoldedFormat().write(profiles.sampled(), tmp_path / "x")
    text = (tmp_path / "x").read_text()
    assert len(text.splitlines()) == 6
    assert "main (app.py:11);<script>alert(1)</script>: (evil name .py:2) 1\n" in text


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="samples"):
        FoldedFormat(FoldedSettings(metric="sample")).write(profiles.sampled(), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_missing_amounts_are_left_out(tmp_path: Path) -> None:
    profile = profiles.sampled()
    resources = profile.tables["resources"]
    column = resources["samples"]
    some = replace(column, valid=b"\x01")
    FoldedFormat().write(profile.replace_tables(resources=resources.with_columns(some)), tmp_path / "x")
    assert (tmp_path / "x").read_text() == "main (app.py:11) 3\n"


def test_what_py_spy_writes_is_read(tmp_path: Path) -> None:
    tool = shutil.which("py-spy", path=str(Path(sys.executable).parent))
    assert tool, "py-spy is installed with the tests"
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [tool, "record", "--format", "raw", "--rate", "200", "--output", "out.folded", "--"]
    done = subprocess.run([*command, sys.executable, "program.py"], cwd=tmp_path, capture_output=True, timeout=PATIENCE)
    assert (tmp_path / "out.folded").exists(), done.stderr.decode()
    profile = FoldedFormat().read(tmp_path / "out.folded")
    found = {function.name: function for function in by_function(profile.tables, "samples")}
    assert found["inner"].file.endswith("program.py")
    assert 0 < found["inner"].total <= found["outer"].total


def test_the_command_line_imports_and_exports(project: Project, tmp_path: Path) -> None:
    (tmp_path / "in.folded").write_text("main;work (a.py:3) 5\nmain 2\n")
    project.perf("import", str(tmp_path / "in.folded"))
    project.perf("export", "0@p", "--format", "folded", "-o", str(tmp_path / "out.folded"))
    assert sorted((tmp_path / "out.folded").read_text().splitlines()) == ["main 2", "main;work (a.py:3) 5"]


def test_a_file_of_any_size_is_imported(project: Project) -> None:
    """The format holds no whole file: the bound is for those that do."""
    local = project.path / ".perf" / "local.yml"
    local.write_text(local.read_text() + "limits:\n  profile_bytes: 2000\n")
    path = project.path.parent / "large.folded"
    path.write_text("".join(f"main;walk;leaf {number} {number + 1}\n" for number in range(5_000)))
    assert project.perf("import", "folded", str(path)).code == 0
    other = project.path.parent / "large.perf"
    other.write_text(
        '{"format":1,"header":{"type":"time"},"collector_info":{"name":"time"},' + " " * 5_000 + '"created":1}'
    )
    assert "over 2,000 are not read" in project.perf("import", str(other), code=4).err
