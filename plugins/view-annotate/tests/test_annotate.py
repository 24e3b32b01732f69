"""Annotated sources of real repositories, as files."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_testing.pages import assert_self_contained
from perfcore_testing.project import Project
from perfcore_view_annotate import AnnotateSettings, AnnotateView
from perfcore_view_annotate.profile_tree import profile_tree
from perfcore_view_annotate.sources import Sources, corresponding

from perfcore.errors import NotFoundError, UsageError
from perfcore.library import open_repository
from perfcore.model import MinorVersion, Profile, ViewData
from perfcore.model.record import replace
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

VERSION = "a" * 40
MAIN = Frame("main", "app.py", 7, 6)
WORK = Frame("work", "lib/work.py", 2, 1)
SORT = Frame("sort", "xs:sort", None, None)
FILES = {
    "app.py": b"import lib\n\n\n\n\ndef main():\n    lib.work()\n",
    "lib/work.py": b"def work():\n    list.sort(x)\n    return x\n",
}


def profile(*stacks: tuple[tuple[Frame, ...], int]) -> Profile:
    builder = StackBuilder()
    rows = [builder.add(frames) for frames, _ in stacks]
    values = column("samples", [amount for _, amount in stacks], role="value")
    resources = table("resources", [column("stack", rows), values])
    return profiles.sampled().replace_tables(resources=resources, **builder.tables())


PROGRAM = (((MAIN,), 10), ((MAIN, WORK), 30), ((MAIN, WORK, SORT), 60))


def subject(of: Profile, files: dict[str, bytes] = FILES) -> ViewData:
    return ViewData(
        profiles=(of,), names=("0@p",), versions=(MinorVersion(VERSION),), source=lambda version, path: files.get(path)
    )


def write(folder: Path, data: ViewData, **settings: Any) -> str:
    """Writes a folder; gives what was said."""
    output = FakeOutput()
    output.path = folder
    AnnotateView(AnnotateSettings(**settings)).render(data, output)
    return output.said[0].partition(": ")[2]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def page(folder: Path, name: str) -> str:
    """The page of the file whose page begins with this name."""
    (path,) = folder.glob(f"{name}-*.html")
    return path.read_text(encoding="utf-8")


def rows(text: str) -> list[str]:
    """The rows of a page as text, cells joined by blanks."""
    all_rows = re.findall(r"<tr[^>]*>(.*?)(?=<tr|</table|</thead)", text, re.DOTALL)
    return [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", row)).split()) for row in all_rows]


def test_lines_have_own_and_total_costs(tmp_path: Path) -> None:
    said = write(tmp_path / "site", subject(profile(*PROGRAM)))
    assert said == "4 pages written, 0 unchanged, 0 removed"
    text = page(tmp_path / "site", "lib-work.py")
    assert_self_contained(text)
    assert re.search(r'<tr id="L2"><th>2<td class="h8">30.00<td class="b18">90.00<td> {4}list\.sort\(x\)', text)
    assert "Source of aaaaaaaaaa" in text
    assert '<a href="app.py-' in text  # its caller
    assert "→ <a href=" in text  # what its line calls
    native = page(tmp_path / "site", "xs-sort")
    assert "Native code, which has no lines" in native
    assert "work:2</a> <small>60.00</small>" in native
    assert "90.00" in page(tmp_path / "site", "app.py")


def test_the_index_lists_functions_files_and_the_graph(tmp_path: Path) -> None:
    write(tmp_path / "site", subject(profile(*PROGRAM)), title="Shop")
    text = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    assert_self_contained(text)
    assert "<h1>Shop</h1>" in text
    assert "Most in its own code: sort, 60.00 %" in text
    assert text.count("<title>") == 1 + 3  # of the page, and of each box
    names = {path.name for path in (tmp_path / "site").iterdir()}
    links = set(re.findall(r'href="([^"#]+)', text))
    assert links == names - {"index.html", "site.json"}


def test_every_link_leads_somewhere(tmp_path: Path) -> None:
    data = profile(*PROGRAM, ((Frame("work", "gone.py", 3, 1), WORK, MAIN, WORK), 5), ((Frame("x"), SORT), 1))
    write(tmp_path / "site", subject(data))
    pages = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "site").glob("*.html")}
    ids = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in pages.items()}
    for name, text in pages.items():
        for target, anchor in re.findall(r'href="([^"#]*)#?([^"]*)"', text):
            assert (target or name) in pages
            assert not anchor or anchor in ids[target or name], (name, target, anchor)


def test_only_what_changed_is_written_and_the_same_is_the_same(tmp_path: Path) -> None:
    first = subject(profile(*PROGRAM))
    write(tmp_path / "site", first)
    before = contents(tmp_path / "site")
    assert write(tmp_path / "site", first) == "0 pages written, 4 unchanged, 0 removed"
    write(tmp_path / "other", first)
    assert contents(tmp_path / "other") == before == contents(tmp_path / "site")
    changed = subject(profile(*PROGRAM), {**FILES, "app.py": b"# new\n"})
    assert write(tmp_path / "site", changed) == "1 page written, 3 unchanged, 0 removed"
    write(tmp_path / "other", changed, fresh=True)
    assert contents(tmp_path / "other") == contents(tmp_path / "site") != before
    assert write(tmp_path / "site", subject(profile(*PROGRAM[:2]))).endswith("1 removed")


def test_missing_sources_are_said(tmp_path: Path) -> None:
    said = write(tmp_path / "site", subject(profile(*PROGRAM), {}))
    assert said.endswith("; the sources of 2 files are missing")
    index = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    assert "The sources of 2 files with 40.00 % in their own code are missing: lib/work.py, app.py." in index
    assert "2 30.00 90.00" in rows(page(tmp_path / "site", "lib-work.py"))


def test_sources_of_a_folder_are_mapped(tmp_path: Path) -> None:
    """The same text has the same lines; else a cost is at the line that corresponds, and lines that are gone are
    said."""
    here = tmp_path / "here"
    (here / "lib").mkdir(parents=True)
    (here / "app.py").write_bytes(FILES["app.py"])
    (here / "lib/work.py").write_text("# new\n# lines\ndef work():\n    list.sort(x)\n    return x\n")
    write(tmp_path / "site", subject(profile(*PROGRAM)), source=here)
    assert "Source of the folder, the same as in aaaaaaaaaa" in page(tmp_path / "site", "app.py")
    work = page(tmp_path / "site", "lib-work.py")
    assert "which differs from aaaaaaaaaa: costs are at the lines that correspond" in work
    assert '<tr id="L2"><th>4<td class="h8">30.00' in work
    (here / "lib/work.py").write_text("def work():\n    pass\n")
    write(tmp_path / "site", subject(profile(*PROGRAM)), source=here)
    work = page(tmp_path / "site", "lib-work.py")
    assert "1 line with 30.00 % in their own code are not in this text" in work
    assert "2 30.00 90.00" in rows(work)
    write(tmp_path / "site", subject(profile(*PROGRAM), {}), source=here)
    assert "does not have the file, so lines may differ" in page(tmp_path / "site", "lib-work.py")
    with pytest.raises(NotFoundError, match="is no folder"):
        write(tmp_path / "site", subject(profile(*PROGRAM)), source=tmp_path / "absent")


def test_lines_correspond() -> None:
    assert corresponding("abc", "abc") == {1: 1, 2: 2, 3: 3}
    assert corresponding("abcd", "axcyd") == {1: 1, 3: 3, 4: 5}
    assert corresponding("", "a") == corresponding("a", "") == {}
    assert corresponding("aaa", "aa") == {1: 1, 2: 2}


def test_a_file_with_the_same_end_is_no_source_of_it(tmp_path: Path) -> None:
    """An absolute path is that of the version if the functions are in it."""
    far = Frame("work", "/srv/app/lib/work.py", 2, 1)
    other = Frame("dump", "/usr/lib/python3/json/lib/work.py", 2, 1)
    write(tmp_path / "site", subject(profile(((far,), 1), ((other,), 1))))
    assert "Read from lib/work.py" in page(tmp_path / "site", "srv-app-lib-work.py")
    assert "The source is missing" in page(tmp_path / "site", "usr-lib-python3-json-lib-work.py")


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "etc/passwd", "link", "a/../../secret", "\0", "."])
def test_no_name_leads_out_of_a_folder_of_sources(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "sources"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    assert Sources(None, VERSION, folder).source(name, ()).origin == "missing"


def test_hostile_files_get_pages_inside_of_the_folder(tmp_path: Path) -> None:
    names = [*hostile.NAMES, "../../up.html", "/etc/passwd", "index.html", "site.json", "caf\udce9.py", "eval:x", "xs:"]
    stacks = [((Frame(name, name, 1, 1),), 1) for name in names]
    write(tmp_path / "out/site", subject(profile(*stacks), {}))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["site"]
    pages = contents(tmp_path / "out/site")
    assert len(pages) == len(set(names)) + 2
    for text in pages.values():
        assert not [tag for tag in hostile.TAGS if tag in text.decode("utf-8")]


def test_generated_code_is_at_the_lines_that_it_says(tmp_path: Path) -> None:
    """`#line` begins a range that the next one ends."""
    text = 'sub run {\n1;\n#line 200 "page.tt"\n2;\n3;\n# line 7 "other.tt"\n4;\n}'
    code = f"eval:{'1' * 40}"
    frames = [Frame("run", code, line, 1) for line in (2, 4, 5, 7)]
    files = {code: text.encode(), "#line:page.tt": text.encode(), "#line:other.tt": text.encode()}
    write(tmp_path / "site", subject(profile(*[((MAIN, frame), 10) for frame in frames]), files))
    of_page = rows(page(tmp_path / "site", "page.tt"))
    assert of_page[-2:] == ["200 25.00 25.00 2;", "201 25.00 25.00 3;"]
    assert rows(page(tmp_path / "site", "other.tt"))[-2] == "7 25.00 25.00 4;"
    own = rows(page(tmp_path / "site", "eval"))
    assert "2 25.00 25.00 1;" in own
    assert "4 2;" in own
    assert any("the next lines are page.tt from line 200" in row for row in own)


def test_a_large_source_is_shown_around_its_samples(tmp_path: Path) -> None:
    files = {"big.py": b"x = 1\n" * 100_000, "wide.py": b"y" * 1_000_000, "binary.py": b"\0"}
    stacks = [((Frame("x", name, 50_000, None),), 1) for name in files]
    write(tmp_path / "site", subject(profile(*stacks), files))
    assert len(rows(page(tmp_path / "site", "big.py"))) < 60
    assert max(map(len, (page(tmp_path / "site", name) for name in ("big.py", "wide.py", "binary.py")))) < 50_000


def test_lines_for_a_terminal() -> None:
    output = FakeOutput(width=60)
    AnnotateView(AnnotateSettings(lines=1)).render(subject(profile(*PROGRAM)), output)
    assert output.lines == [
        "samples: 100, the hottest lines of 3 files",
        "",
        "lib/work.py: 30.00 % in its own code",
        "own %  total %  line",
        "                   1  def work():",
        "30.00    90.00     2      list.sort(x)",
        "                   3      return x",
    ]


def test_a_terminal_has_the_files_where_no_line_is_known() -> None:
    output = FakeOutput(width=60)
    frames = [Frame("main", "bin/sort"), Frame("compare", "bin/sort"), Frame("strcmp", "libc.so.6")]
    AnnotateView().render(subject(profile((tuple(frames), 70), (tuple(frames[:2]), 30))), output)
    assert output.lines == [
        "samples: 100, no line is known in 2 files",
        "own %  file",
        "70.00  libc.so.6",
        "30.00  bin/sort",
    ]


def test_a_profile_without_stacks_or_of_a_difference_is_refused() -> None:
    with pytest.raises(NotFoundError, match="no call stacks"):
        profile_tree(profiles.timed(), None)
    with pytest.raises(UsageError, match="below zero"):
        profile_tree(profile(((MAIN,), -1)), None)
    with pytest.raises(UsageError, match="no metric"):
        profile_tree(profile(((MAIN,), 1)), "sampels")
    with pytest.raises(UsageError, match="one profile"):
        AnnotateView().render(profiles.subject(profiles.sampled(), profiles.sampled()), FakeOutput())


def test_stacks_in_any_order_are_counted(tmp_path: Path) -> None:
    """Callers may stand behind what they call."""
    plain = profile(*PROGRAM)
    stacks = plain.tables["stacks"]
    size = stacks.rows
    parents = [None if parent is None else size - 1 - int(parent) for parent in stacks["parent"]]
    turned = plain.replace_tables(
        stacks=table("stacks", [column("parent", parents[::-1], dtype="i64"), stacks["frame"].take(range(size)[::-1])]),
        resources=plain.tables["resources"].with_columns(
            column("stack", [size - 1 - int(stack) for stack in plain.tables["resources"]["stack"]])  # type: ignore[arg-type]
        ),
    )
    write(tmp_path / "one", subject(plain))
    write(tmp_path / "other", subject(turned))
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def test_the_verb_writes_a_folder_with_sources_of_the_version(project: Project) -> None:
    version = project.commit("one", **{"app.py": "def work():\n    for n in range(3):\n        pass\n"})
    saved = profile(((Frame("work", "app.py", 2, 1),), 7))
    open_repository(project.path).repository.save(replace(saved, origin=version))
    project.write("app.py", "changed")
    done = project.perf("show", "0@p", "annotate", "-o", "site")
    assert done.err.endswith("site: 2 pages written, 0 unchanged, 0 removed\n")
    assert "for n in range" in page(project.path / "site", "app.py")
    assert project.perf("show", "0@p", "annotate", "-o", "site").err.startswith("site: 0 pages written")
    assert "100.00   100.00     2      for n in range(3):" in project.perf("show", "0@p", "annotate").out
    assert "site" in project.perf("show", "0@p", "annotate", "-o", "site.html", code=2).err
    project.write("other/file", "mine")
    project.perf("show", "0@p", "annotate", "-o", "other", "--force", code=2)
    assert (project.path / "other/file").read_text() == "mine"
