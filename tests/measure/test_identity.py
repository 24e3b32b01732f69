"""Fingerprints of jobs: real trees and real machine code, which is copied from the system and changed at its end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perfcore.measure.identity import fingerprint
from perfcore.model import Job, Step

ELF = Path(shutil.which("true") or "/bin/true")
pytestmark = pytest.mark.skipif(
    not ELF.is_file() or ELF.read_bytes()[:4] != b"\x7fELF", reason="programs are told apart where they are ELF files"
)
Change = Callable[[Path], object]


def tree(folder: Path, name: str, mentions: bytes = b"") -> Path:
    """A tree with a program, its source, a library, data and a page for people."""
    root = folder / name
    (root / "bin").mkdir(parents=True)
    program(root / "bin/prog", mentions)
    for file in ("main.c", "README.md", "data/one.txt", "data/two.txt", "bin/libown.so.1", "bench.py"):
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_text(f"this is {Path(file).name}\n")
    return root


def program(path: Path, mentions: bytes = b"") -> None:
    path.write_bytes(ELF.read_bytes() + b"\0" + mentions + b"\0")
    path.chmod(0o755)


def job(root: Path, *argv: str, **changes: object) -> Job:
    values: dict[str, object] = {"argv": argv, "cmd": argv[0], "cwd": root, **changes}
    return Job(**values)  # type: ignore[arg-type]


def append(name: str) -> Change:
    def change(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        with (root / name).open("a") as file:
            file.write("more\n")

    return change


def alike(folder: Path, change: Change, *argv: str, mentions: bytes = b"") -> bool:
    """Whether the job is the same in a tree and in one that was changed."""
    trees = [tree(folder, name, mentions) for name in ("tree-1", "tree-2")]
    change(trees[1])
    found = [fingerprint(job(root, *argv), root) for root in trees]
    assert found[0] is not None
    return found[0] == found[1]


INNOCENT = (
    "README.md",
    "main.c",
    "src/deep/more.rs",
    "tests/test_main.cc",
    "Makefile",
    "LICENSE",
    "NEWS.rst",
    "HACKING.md",
    "docs/page.md",
    ".gitignore",
    ".github/workflows/test.yml",
    "build/CMakeFiles/progress.make",
    "main.o",
)


@pytest.mark.parametrize("name", INNOCENT)
def test_machine_code_does_not_see_sources_and_pages_that_nothing_names(tmp_path: Path, name: str) -> None:
    mentions = b"src/main.c\0/usr/share/doc/README\0%d of %s\0data/%s.txt"
    assert alike(tmp_path, append(name), "bin/prog", "data/one.txt", "-n", "3", mentions=mentions)


@pytest.mark.parametrize(
    "name",
    [
        "data/two.txt",
        "bench.py",
        "load2.txt",
        "index",
        "prog.conf",
        "notes.md",
        "docs/rows.txt",
        "x/sample.md",
        "model.obj",
    ],
)
def test_machine_code_may_see_any_other_file_that_nothing_names(tmp_path: Path, name: str) -> None:
    assert not alike(tmp_path, append(name), "bin/prog", "data/one.txt")


@pytest.mark.parametrize(
    ("name", "words", "mentions"),
    [
        ("src/a.c", ("src/a.c",), b""),
        ("src/a.c", ("a",), b""),
        ("src/a.c", ("--name=a",), b""),
        ("src/a.c", ("src/*.c",), b""),
        ("src/a.c", ("?.c",), b""),
        ("src/a.c", ("src",), b""),
        ("src/a.c", (), b"*.c"),
        ("src/a.c", (), b"%d.c"),
        ("src/a.c", (), b"src/%-8s.c"),
        ("src/a.c", (), b"\0.c\0"),
        ("src/a.c", (), b"\0src\0"),
        ("src/file10.c", (), b"\0file%d\0"),
        ("data/a.c", (), b""),
        ("tests/corpus/a.c", (), b""),
        ("README", (), b"\0README\0"),
        ("LICENSE", ("LICENSE",), b""),
        ("docs/page.md", (), b"docs/%s"),
        ("main.o", ("main.o",), b""),
    ],
)
def test_a_source_or_a_page_that_the_program_may_mean_counts(
    tmp_path: Path, name: str, words: tuple[str, ...], mentions: bytes
) -> None:
    assert not alike(tmp_path, append(name), "bin/prog", *words, mentions=mentions)


@pytest.mark.parametrize(
    ("name", "words", "mentions"),
    [
        ("bin/prog", (), b""),
        ("bin/libown.so.1", (), b""),
        ("data/one.txt", ("data/one.txt",), b""),
        ("data/one.txt", ("--input=data/one.txt",), b""),
        ("data/one.txt", ("-Idata",), b""),
        ("data/one.txt", ("data",), b""),
        ("data/one.txt", ("x:data",), b""),
        ("README.md", (".",), b""),
        ("data/one.txt", (), b"open one.txt"),
        ("data/one.txt", (), b"data/%s"),
        ("README.md", ("bench.py",), b""),
    ],
)
def test_machine_code_sees_itself_its_libraries_and_its_inputs(
    tmp_path: Path, name: str, words: tuple[str, ...], mentions: bytes
) -> None:
    assert not alike(tmp_path, append(name), "bin/prog", *words, mentions=mentions)


@pytest.mark.parametrize("name", ["README.md", "main.c", "bench.py"])
@pytest.mark.parametrize("argv", [(sys.executable, "bench.py"), ("./script",), ("true",)])
def test_what_is_interpreted_or_from_elsewhere_sees_the_whole_tree(
    tmp_path: Path, name: str, argv: tuple[str, ...]
) -> None:
    def scripted(change: Change) -> Change:
        def both(root: Path) -> None:
            for each in (tmp_path / "tree-1", root):
                (each / "script").write_text("#!/bin/sh\n")
                (each / "script").chmod(0o755)
            change(root)

        return both

    assert not alike(tmp_path, scripted(append(name)), *argv)
    shutil.rmtree(tmp_path / "tree-1")
    shutil.rmtree(tmp_path / "tree-2")
    assert alike(tmp_path, scripted(lambda root: None), *argv)


def test_an_interpreter_of_the_tree_sees_the_whole_tree(tmp_path: Path) -> None:
    def install(root: Path) -> None:
        for each in (tmp_path / "tree-1", root):
            program(each / "bin/python3.99")
        append("bench.py")(root)

    assert not alike(tmp_path, install, "bin/python3.99", "-m", "bench")


def test_words_variables_folder_and_options_count(tmp_path: Path) -> None:
    root = tree(tmp_path, "tree")
    jobs = [
        job(root, "bin/prog"),
        job(root, "bin/prog", "-v"),
        job(root, "bin/prog", "-v", "-v"),
        job(root, "bin/prog", env={"A": "1"}),
        job(root, "bin/prog", env={"A": "2"}),
        job(root / "bin", "./prog"),
        job(root, "bin/prog", collector=Step(name="time", params={"cpus": "0"})),
        job(root, "bin/prog", collector=Step(name="other")),
        job(root, "bin/prog", shell=True),
    ]
    found = [fingerprint(each, root) for each in jobs]
    assert None not in found
    assert len(set(found)) == len(jobs)


def test_a_copy_under_another_name_is_the_same_unless_it_knows_its_name(tmp_path: Path) -> None:
    for mentions, same in ((b"", True), (b"copy", False)):
        root = tree(tmp_path, f"tree{same}", mentions)
        shutil.copy(root / "bin/prog", root / "bin/copy")
        found = [fingerprint(job(root, f"bin/{name}"), root) for name in ("prog", "copy")]
        assert (found[0] == found[1]) is same
        assert None not in found


def test_a_copy_in_another_folder_may_find_other_files(tmp_path: Path) -> None:
    root = tree(tmp_path, "tree")
    (root / "old").mkdir()
    shutil.copy(root / "bin/prog", root / "old/prog")
    assert fingerprint(job(root, "bin/prog"), root) != fingerprint(job(root, "old/prog"), root)


def test_the_number_of_a_build_and_the_path_of_the_tree_do_not_count(tmp_path: Path) -> None:
    note = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"
    found = set()
    for number in (1, 2):
        root = tree(tmp_path, f"tree-{number}")
        data = bytearray(ELF.read_bytes() + os.fsencode(root / "main.c"))
        place = data.find(note)
        if place < 0:
            data, place = bytearray(b"\x7fELF" + note + bytes(20) + data), 4
        data[place + len(note) : place + len(note) + 20] = bytes([number]) * 20
        (root / "bin/prog").write_bytes(data)
        found.add(fingerprint(job(root, "bin/prog"), root))
    assert len(found) == 1


def test_version_control_is_no_input_but_for_those_that_ask_it(tmp_path: Path) -> None:
    def history(root: Path) -> None:
        (root / ".git").write_text("elsewhere")

    assert alike(tmp_path, history, "true")
    assert fingerprint(job(tmp_path / "tree-1", "git", "status"), tmp_path / "tree-1") is None


def test_nothing_is_said_of_what_cannot_be_known(tmp_path: Path) -> None:
    root = tree(tmp_path, "tree")
    assert fingerprint(job(root, "bin/missing"), root) is None
    assert fingerprint(job(root, "no such program"), root) is None
    assert fingerprint(job(tmp_path, "tree/bin/prog"), root) is None
    assert fingerprint(job(root / "gone", "bin/prog"), root) is None
    assert fingerprint(job(root, "bin/prog", "a\0b"), root) is None
    (root / "pipe").parent.mkdir(exist_ok=True)
    os.mkfifo(root / "pipe")
    assert fingerprint(job(root, "true"), root) is None
    (root / "pipe").unlink()
    (root / "away").symlink_to("/etc")
    assert fingerprint(job(root, "true"), root) is None
    assert fingerprint(job(root, "bin/prog"), root) is None
    (root / "away").unlink()
    assert fingerprint(job(root, "bin/prog"), root) is not None


def test_a_link_counts_with_what_it_leads_to(tmp_path: Path) -> None:
    def link(root: Path) -> None:
        for each in (tmp_path / "tree-1", root):
            (each / "current").symlink_to("data/one.txt")
        append("data/one.txt")(root)

    assert not alike(tmp_path, link, "bin/prog", mentions=b"current")


needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def compiled(root: Path, body: str, *flags: str) -> None:
    """A program of this body in a tree of its own."""
    root.mkdir()
    headers = "".join(f"#include <{name}.h>\n" for name in ("stdio", "stdlib", "unistd", "dirent", "glob", "spawn"))
    (root / "main.c").write_text(f"{headers}int main(int c, char **v) {{ {body}; return 0; }}\n")
    subprocess.run(["cc", "-O1", "-w", *flags, "-o", "prog", "main.c"], cwd=root, check=True)


def seen(folder: Path, body: str, file: str, *words: str, flags: tuple[str, ...] = ()) -> bool:
    """Whether a program tells trees apart in which one file differs."""
    found = []
    for number in (1, 2):
        root = folder / f"tree-{number}"
        compiled(root, body, *flags)
        (root / file).parent.mkdir(exist_ok=True)
        (root / file).write_text(f"{number}\n")
        found.append(fingerprint(job(root, "./prog", *words), root))
    assert None not in found
    return found[0] != found[1]


@needs_cc
@pytest.mark.parametrize(
    ("body", "file", "words"),
    [
        ('glob_t g; glob("lo*.txt", 0, 0, &g)', "load2.txt", ()),
        ('char b[99]; sprintf(b, "load%d.txt", c); fopen(b, "r")', "load1.txt", ()),
        ('char b[99]; sprintf(b, "%s.conf", v[0]); fopen(b, "r")', "prog.conf", ()),
        ('char b[99]; sprintf(b, "%s.txt", v[1]); fopen(b, "r")', "load2.txt", ("load2",)),
        ('char b[99]; FILE *f = fopen("index", "r"); fscanf(f, "%90s", b); fopen(b, "r")', "load2.txt", ()),
        ('char b[99]; sprintf(b, "in/%s.c", v[1]); fopen(b, "r")', "in/load.c", ("load",)),
        ('DIR *d = opendir("."); puts(readdir(d)->d_name)', "main2.c", ()),
    ],
)
def test_names_that_a_program_makes_or_finds_count(
    tmp_path: Path, body: str, file: str, words: tuple[str, ...]
) -> None:
    assert seen(tmp_path, body, file, *words)


@needs_cc
@pytest.mark.parametrize("flags", [(), ("-static",), ("-static", "-s")])
@pytest.mark.parametrize(
    "body",
    ['popen("git log", "r")', "system(v[1])", 'execlp("git", "git", 0)', "posix_spawn(0, v[1], 0, 0, v, 0)", "fork()"],
)
def test_a_program_that_starts_others_is_another_in_every_version(
    tmp_path: Path, body: str, flags: tuple[str, ...]
) -> None:
    root = tmp_path / "tree"
    try:
        compiled(root, body, *flags)
    except subprocess.CalledProcessError:
        pytest.skip("the C library is there as a shared one only")
    found = [fingerprint(job(root, "./prog", version=version), root) for version in ("a", "b", "a")]
    assert None not in found
    assert found[0] == found[2] != found[1]
    (root / "README").write_text("read by what is started\n")
    assert fingerprint(job(root, "./prog", version="a"), root) != found[0]


@needs_cc
@pytest.mark.parametrize("flags", [(), ("-static",)])
def test_a_program_that_starts_none_is_the_same_in_versions_of_one_tree(tmp_path: Path, flags: tuple[str, ...]) -> None:
    root = tmp_path / "tree"
    try:
        compiled(root, 'printf("the file system and a fork: %d\\n", c)', *flags)
    except subprocess.CalledProcessError:
        pytest.skip("the C library is there as a shared one only")
    found = [fingerprint(job(root, "./prog", version=version), root) for version in ("a", "b")]
    assert found[0] == found[1] is not None


def test_a_program_that_knows_where_the_history_is_is_another_in_every_version(tmp_path: Path) -> None:
    for mentions, same in ((b"see .gitignore of project.git", True), (b"\0.git/HEAD\0", False)):
        root = tree(tmp_path, f"tree{same}", mentions)
        found = [fingerprint(job(root, "bin/prog", version=version), root) for version in ("a", "b")]
        assert (found[0] == found[1]) is same


def test_a_file_beside_the_program_that_has_its_name_tells_a_copy_apart(tmp_path: Path) -> None:
    root = tree(tmp_path, "tree")
    shutil.copy(root / "bin/prog", root / "bin/copy")
    (root / "bin/copy.conf").write_text("rows = 1\n")
    found = [fingerprint(job(root, f"bin/{name}"), root) for name in ("prog", "copy")]
    assert found[0] != found[1]


@needs_cc
def test_debuggers_names_for_a_tree_do_not_count_and_code_does(tmp_path: Path) -> None:
    """The same program compiled in two trees, with a remark more in the second; and with another constant."""
    found = []
    for number, source in enumerate(("f(7);", "/* seven */ f(7);", "f(8);")):
        root = tmp_path / f"tree-{number}"
        root.mkdir()
        (root / "main.c").write_text(f"static int f(int x) {{ return x; }}\nint main() {{ return {source} }}\n")
        subprocess.run(["cc", "-g", "-o", "prog", str(root / "main.c")], cwd=root, check=True)
        found.append(fingerprint(job(root, "./prog"), root))
    assert found[0] == found[1] != found[2]
    assert None not in found


def test_damaged_machine_code_is_told_apart_all_the_same(tmp_path: Path) -> None:
    root, data, found = tree(tmp_path, "tree"), ELF.read_bytes(), []
    damaged = (data[:5], data[:6], data[:63], data[:64], data[:4] + b"\2\1" + b"\xff" * 90, data[:-1])
    for content in damaged:
        (root / "bin/prog").write_bytes(content)
        found.append(fingerprint(job(root, "bin/prog"), root))
    assert None not in found
    assert len(set(found)) == len(damaged)
