"""Folders of pages: whole, the same for the same pages, and without loss of what others wrote."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from perfcore_testing import hostile
from perfcore_view_kit import site
from perfcore_view_kit.site import Published, Site, fingerprint, page_name

from perfcore.errors import StorageError, UsageError


def publish(
    folder: Path, pages: dict[str, str], *, fresh: bool = False, rendered: list[str] | None = None
) -> Published:
    def render(name: str) -> Callable[[], str]:
        def text() -> str:
            if rendered is not None:
                rendered.append(name)
            return pages[name]

        return text

    with Site(folder, kind="test", fresh=fresh) as made:
        for name, page in pages.items():
            made.add(name, fingerprint(page), render(name))
        return made.publish()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_changed_pages_are_rendered(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "site"
    assert publish(folder, {"index.html": "1", "files/a.html": "a", "files/b.html": "b"}) == Published(3, 0, 0)
    rendered: list[str] = []
    assert publish(folder, {"index.html": "2", "files/a.html": "a"}, rendered=rendered) == Published(1, 1, 1)
    assert rendered == ["index.html"]
    assert {name: data for name, data in contents(folder).items() if name != site.LIST} == {
        "index.html": b"2",
        "files/a.html": b"a",
    }
    assert [path.name for path in folder.parent.iterdir()] == ["site"]


def test_the_same_pages_are_the_same_folder(tmp_path: Path) -> None:
    """However they came about; and nothing is written where nothing changed."""
    pages = {"index.html": "1", "files/a.html": "a"}
    publish(tmp_path / "one", pages)
    publish(tmp_path / "other", {"files/a.html": "old", "z.html": "z"})
    publish(tmp_path / "other", dict(reversed(pages.items())))
    assert contents(tmp_path / "one") == contents(tmp_path / "other")
    before = (tmp_path / "one").stat().st_ino, (tmp_path / "one/index.html").stat().st_mtime_ns
    assert publish(tmp_path / "one", pages) == Published(0, 2, 0)
    assert publish(tmp_path / "other", pages, fresh=True) == Published(2, 0, 0)
    assert before == ((tmp_path / "one").stat().st_ino, (tmp_path / "one/index.html").stat().st_mtime_ns)


def test_a_page_that_is_kept_is_its_file_under_another_name(tmp_path: Path) -> None:
    """Until the old folder is gone: then it has one name again."""
    publish(tmp_path / "site", {"index.html": "1", "files/a.html": "a"})
    before = (tmp_path / "site" / "files" / "a.html").stat()
    publish(tmp_path / "site", {"index.html": "2", "files/a.html": "a"})
    after = (tmp_path / "site" / "files" / "a.html").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_nlink) == (before.st_ino, before.st_mtime_ns, 1)


def test_a_page_that_is_kept_is_copied_where_files_have_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", link)
    publish(tmp_path / "site", {"index.html": "1", "files/a.html": "a"})
    assert publish(tmp_path / "site", {"index.html": "2", "files/a.html": "a"}) == Published(1, 1, 0)
    assert (tmp_path / "site" / "files" / "a.html").read_text() == "a"


def keeping_a_page(folder: Path) -> Site:
    """A site that is about to be published again, with `a.html` as it was."""
    publish(folder, {"index.html": "1", "a.html": "a"})
    made = Site(folder, kind="test")
    made.add("index.html", fingerprint("2"), lambda: "2")
    made.add("a.html", fingerprint("a"), lambda: "a")
    return made


def test_a_page_that_another_process_writes_meanwhile_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    with keeping_a_page(folder) as made:
        (folder / "a.html").write_text("b")
        os.utime(folder / "a.html", ns=(0, 0))
        with pytest.raises(StorageError, match="another process changed"):
            made.publish()
    assert (folder / "a.html").read_text() == "b"
    assert (folder / "index.html").read_text() == "1"


def test_a_page_that_another_process_put_there_again_is_copied(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    with keeping_a_page(folder) as made:
        os.utime(folder / "a.html", ns=(0, 0))
        assert made.publish() == Published(1, 1, 0)
    assert contents(folder)["a.html"] == b"a"


def test_a_page_that_somebody_changed_is_rendered_again(tmp_path: Path) -> None:
    pages = {"index.html": "1", "a.html": "a", "b.html": "b"}
    publish(tmp_path / "site", pages)
    (tmp_path / "site/a.html").write_text("changed")
    (tmp_path / "site/b.html").unlink()
    (tmp_path / "site/b.html").symlink_to("/etc/hostname")
    assert publish(tmp_path / "site", pages) == Published(2, 1, 0)
    assert (tmp_path / "site/a.html").read_text() == "a"
    assert not (tmp_path / "site/b.html").is_symlink()


@pytest.mark.parametrize(
    "list", [None, "{", '{"format": 1, "kind": "other", "pages": {}}', '{"format": 2}', "[" * 9999]
)
def test_a_folder_of_others_is_refused(tmp_path: Path, list: str | None) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    if list is not None:
        (folder / site.LIST).write_text(list)
    with pytest.raises(UsageError, match="other files"):
        publish(folder, {"index.html": "1"})
    (folder / "thesis.tex").unlink()
    assert contents(folder) == ({} if list is None else {site.LIST: list.encode()})


def test_a_file_that_was_added_is_not_lost(tmp_path: Path) -> None:
    publish(tmp_path / "site", {"index.html": "1"})
    (tmp_path / "site/notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"notes\.txt"):
        publish(tmp_path / "site", {"index.html": "2"})
    assert (tmp_path / "site/notes.txt").read_text() == "mine"


def test_an_error_leaves_the_published_pages(tmp_path: Path) -> None:
    publish(tmp_path / "site", {"index.html": "1"})
    before = contents(tmp_path / "site")
    with Site(tmp_path / "site", kind="test") as made:
        made.add("index.html", "2", lambda: "2")
        with pytest.raises(ZeroDivisionError):
            made.add("a.html", "3", lambda: str(1 // 0))
    assert contents(tmp_path / "site") == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_without_an_exchange_the_folder_is_renamed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "other")
    publish(tmp_path / "site", {"index.html": "1"})
    publish(tmp_path / "site", {"index.html": "2"})
    assert (tmp_path / "site/index.html").read_text() == "2"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("name", ["../a", "/a", "A.html", "a//b", ".a", "a/.b", "", "-a", "ä", site.LIST, "a\n"])
def test_names_stay_inside_of_the_folder(tmp_path: Path, name: str) -> None:
    with Site(tmp_path / "site", kind="test") as made, pytest.raises(ValueError, match="no name"):
        made.add(name, "1", lambda: "1")


def test_every_text_gives_a_name_of_its_own(tmp_path: Path) -> None:
    texts = [*hostile.NAMES, "../../etc/passwd", "/etc/passwd", "a", "A", "con", "nul.html", "\udce9", "x" * 5000, ".."]
    names = [page_name(text) for text in texts]
    assert len({name.lower() for name in names}) == len(set(texts))
    publish(tmp_path / "site", {f"{name}.html": name for name in names})
    assert len(contents(tmp_path / "site")) == len(names) + 1


_WRITER = """
import sys
from pathlib import Path
from perfcore_view_kit.site import Site

turn = 0
while True:
    turn += 1
    with Site(Path(sys.argv[1]), kind="test") as made:
        for number in range(30):
            made.add(f"page-{number}.html", str(turn), lambda: str(turn))
        made.publish()
    print(turn, flush=True)
"""


@pytest.mark.process
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there are two renames")
def test_readers_see_whole_folders_though_writers_are_killed(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    for delay in (0.05, 0.08):
        writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(folder)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        end = time.monotonic() + delay
        while time.monotonic() < end:
            try:
                assert (folder / "page-7.html").read_text()
            except FileNotFoundError:  # it was in the old folder, which was replaced and removed meanwhile
                assert (folder / "page-7.html").read_text()
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert len({path.read_bytes() for path in folder.glob("page-*")}) == 1
    assert publish(folder, {"index.html": "1"}).removed == 30
