"""Archives become versions, and those that reach outside of themselves do not."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfcore_vcs_tagit import Tagit, archive

from perfcore.errors import FormatError

if TYPE_CHECKING:
    from perfcore_vcs_tagit.contract import TagitScript

    from .conftest import Snapshot


def _tar(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def _member(name: str, kind: bytes = tarfile.REGTYPE, to: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, to, mode
    return info


def _file(name: str, content: bytes = b"x", mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    return _member(name, mode=mode), content


def _link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    return _member(name, kind, to), b""


def _zip(path: Path, *members: tuple[str, bytes, int]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content, mode in members:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, mode << 16
            packed.writestr(info, content)
    return path


@pytest.mark.parametrize("suffix", ["zip", "tar", "gztar", "bztar", "xztar"])
def test_an_archive_becomes_a_version(script: TagitScript, snapshot: Snapshot, tmp_path: Path, suffix: str) -> None:
    source = tmp_path / "source" / "drop-1.0"
    (source / "empty").mkdir(parents=True)
    (source / "žluťoučký kůň").mkdir()
    (source / "žluťoučký kůň/file").write_bytes(os.urandom(100_000))
    (source / "run.sh").write_bytes(b"#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    made = Path(shutil.make_archive(str(tmp_path / "drop-1.0"), suffix, source.parent))
    done = script.tagit("import", str(made), "-m", "From the vendor")
    assert done.stdout.split()[1] == "drop-1.0"
    assert "drop-1.0/" in done.stderr
    assert snapshot(script.root) == snapshot(source)
    assert script.changes() == []


def test_links_inside_are_kept(script: TagitScript, tmp_path: Path) -> None:
    members = [
        _file("d/lib/so.1", b"so"),
        _link("d/lib/so", "so.1"),
        _link("d/top", "lib/../lib"),
        _link("d/none", "x"),
    ]
    script.tagit("import", str(_tar(tmp_path / "links.tar.gz", *members)))
    assert {name: os.readlink(script.root / name) for name in ("lib/so", "top", "none")} == {
        "lib/so": "so.1",
        "top": "lib/../lib",
        "none": "x",
    }


def test_a_hard_link_is_the_file_it_is_linked_to(script: TagitScript, tmp_path: Path) -> None:
    members = [_file("a", b"content", 0o755), _link("b", "a", tarfile.LNKTYPE)]
    script.tagit("import", str(_tar(tmp_path / "hard.tar", *members, mode="w")))
    assert (script.root / "b").read_bytes() == b"content"
    assert os.access(script.root / "b", os.X_OK)


def test_a_zip_of_another_system_has_plain_modes(script: TagitScript, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "dos.zip", "w") as packed:
        info = zipfile.ZipInfo("a.txt")
        info.create_system = 0
        packed.writestr(info, b"1")
    script.tagit("import", str(tmp_path / "dos.zip"))
    assert stat.S_IMODE((script.root / "a.txt").stat().st_mode) == 0o644


def test_versions_from_archives_differ_by_what_differs(script: TagitScript, tmp_path: Path) -> None:
    for number in (1, 2):
        members = [_file(f"drop-{number}/same"), _file(f"drop-{number}/version", b"%d" % number)]
        script.tagit("import", str(_tar(tmp_path / f"drop-{number}.tgz", *members)))
    assert script.tagit("diff", "drop-1", "drop-2", "--names").stdout == "M version\n"
    script.tagit("import", "--keep-top", str(tmp_path / "drop-1.tgz"), "kept")
    assert (script.root / "drop-1/same").is_file()


def test_our_own_folders_are_left_out(script: TagitScript, tmp_path: Path) -> None:
    members = [_file("a"), _file("sub/.tagit/trigger"), _file(".perf/local.yml"), _file(".tagit/refs")]
    done = script.tagit("import", str(_tar(tmp_path / "ours.tar.gz", *members)))
    assert done.stderr.count("left out: ") == 3
    assert not (script.root / "sub").exists()
    assert not (script.root / ".perf").exists()


TARS: dict[str, list[tuple[tarfile.TarInfo, bytes]]] = {
    "parent": [_file("ok"), _file("../evil")],
    "parent inside": [_file("a/../../evil")],
    "parent that comes back": [_file("a/../b")],
    "absolute": [_file("/tmp/evil")],
    "windows": [_file("C:\\evil"), _file("a\\..\\..\\evil")],
    "drive": [_file("c:evil")],
    "share": [_file("\\\\host\\evil")],
    "link to absolute": [_link("a", "/etc/passwd")],
    "link to parent": [_link("a/b", "../../evil")],
    "link through a link": [_link("d/up", ".."), _link("e", "d/up/../evil"), _file("f")],
    "link at the top taken off": [_file("top/x"), _link("top/a", "../top/x/../..")],
    "links in a circle": [_link("a", "b"), _link("b", "a"), _file("f")],
    "file below a link": [_link("a", "b"), _file("a/evil"), _file("b/x")],
    "file below a file": [_file("a"), _file("a/evil")],
    "two kinds": [_file("a"), _link("a", "b")],
    "hard link outside": [_link("a", "/etc/passwd", tarfile.LNKTYPE)],
    "hard link to nothing": [_link("a", "b", tarfile.LNKTYPE), _file("b")],
    "device": [_link("a", "", tarfile.CHRTYPE)],
    "block device": [_link("a", "", tarfile.BLKTYPE)],
    "pipe": [_link("a", "", tarfile.FIFOTYPE)],
    "unknown": [_link("a", "", b"Z")],
    "long name": [_file("n" * 300)],
    "long path": [_file("d/" * 3000 + "f")],
}
ZIPS: dict[str, list[tuple[str, bytes, int]]] = {
    "parent": [("../evil", b"x", 0o100644)],
    "absolute": [("/evil", b"x", 0o100644)],
    "backslashes": [("..\\evil", b"x", 0o100644)],
    "link outside": [("a", b"../../etc/passwd", 0o120777)],
    "absolute link": [("a", b"/etc/passwd", 0o120777)],
    "empty link": [("a", b"", 0o120777)],
    "file below a link": [("a", b"b", 0o120777), ("a/evil", b"x", 0o100644)],
    "device": [("a", b"", 0o020644)],
    "pipe": [("a", b"", 0o010644)],
}


@pytest.mark.parametrize("name", TARS)
def test_a_tar_that_reaches_outside_is_refused(refused: Callable[[Path], str], tmp_path: Path, name: str) -> None:
    refused(_tar(tmp_path / "evil.tar.gz", *TARS[name]))


@pytest.mark.parametrize("name", ZIPS)
def test_a_zip_that_reaches_outside_is_refused(refused: Callable[[Path], str], tmp_path: Path, name: str) -> None:
    refused(_zip(tmp_path / "evil.zip", *ZIPS[name]))


def test_what_unpacks_to_too_much_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    bomb = _zip(tmp_path / "bomb.zip", ("zeros", bytes(5 << 20), 0o100644))
    assert "5,242,879 bytes" in refused(bomb, "--limit", "5242879")
    bomb = _tar(tmp_path / "bomb.tgz", _file("zeros", bytes(5 << 20)))
    assert "more than" in refused(bomb, "--limit", "1M")


def test_a_header_that_tells_of_too_much_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    for number, kind in enumerate((tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE)):
        info = _member("huge", kind)
        info.size = 1 << 42
        path = tmp_path / f"huge{number}.tar.gz"
        path.write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
        refused(path)


def test_headers_that_would_fill_the_memory_are_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    """Each is small where it is packed, and a hundred thousand of them would be kept."""
    holes = {"GNU.sparse.map": ",".join(["0"] * 80_000), "GNU.sparse.size": "0"}
    link = _member("link", tarfile.SYMTYPE)
    link.linkname = "x" * 5000
    for number, (headers, said) in enumerate((({"comment": "x" * (2 << 20)}, "absurd"), (holes, "holes"))):
        parts = []
        for count in range(4):
            info = _member(f"f{count}", tarfile.REGTYPE)
            info.pax_headers = headers
            parts.append(info.tobuf(tarfile.PAX_FORMAT))
        path = tmp_path / f"{number}.tar.gz"
        path.write_bytes(gzip.compress(b"".join((*parts, bytes(1024)))))
        assert said in refused(path)
    path = tmp_path / "link.tar"
    path.write_bytes(link.tobuf(tarfile.PAX_FORMAT) + bytes(1024))
    assert "too long" in refused(path)


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_a_damaged_archive_is_refused(refused: Callable[..., str], tmp_path: Path, kind: str) -> None:
    whole = tmp_path / f"whole.{kind}"
    a, b = os.urandom(50_000), os.urandom(50_000)
    if kind == "zip":
        _zip(whole, ("a", a, 0o100644), ("b", b, 0o100644))
    else:
        _tar(whole, _file("a", a), _file("b", b), mode=f"w:{kind[4:]}")
    data = whole.read_bytes()
    for number, cut in enumerate((0, 1, 100, 512, 51_200, len(data) // 2, 2 * len(data) // 3)):
        path = tmp_path / f"{number}.{kind}"
        path.write_bytes(data[:cut])
        refused(path)
    if kind != "tar":  # which has no checksum of content
        path = tmp_path / f"flipped.{kind}"
        path.write_bytes(data[:20_000] + bytes([data[20_000] ^ 1]) + data[20_001:])
        refused(path)
    else:  # but for the header of the second file
        path = tmp_path / "header.tar"
        path.write_bytes(data[:50_700] + b"?" + data[50_701:])
        refused(path)


def test_what_is_no_archive_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "text.tar").write_bytes(b"hello" * 1000)
    refused(tmp_path / "text.tar")
    refused(tmp_path)
    refused(tmp_path / "none.zip", code=3)
    os.mkfifo(tmp_path / "pipe.tar")
    refused(tmp_path / "pipe.tar")
    refused(Path("/dev/zero"))


def test_an_encrypted_zip_is_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    data = bytearray(_zip(tmp_path / "plain.zip", ("a", b"secret", 0o100644)).read_bytes())
    place = data.index(b"PK\1\2")
    data[place + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(data)
    assert "encrypted" in refused(tmp_path / "locked.zip")


def test_changes_are_not_lost_to_an_archive(script: TagitScript, snapshot: Snapshot, tmp_path: Path) -> None:
    path = _tar(tmp_path / "drop.tar.gz", _file("a", b"new"))
    script.write({"mine": b"1"})
    before = snapshot(script.root)
    assert "mine" in script.tagit("import", str(path), code=3).stderr
    assert snapshot(script.root) == before
    script.write({"mine": None, ".tagitignore": b"a\n"})
    script.save("ignoring")
    script.write({"a": b"precious"})
    script.tagit("import", str(path), code=3)
    assert (script.root / "a").read_bytes() == b"precious"
    assert script.quickly("log").count("\n") == 1


@pytest.fixture
def refused(script: TagitScript, snapshot: Snapshot, tmp_path: Path) -> Callable[..., str]:
    """Expects that an archive is refused before anything is written."""
    script.version("one", {"file": b"1"})

    def run(path: Path, *options: str, code: int = 4) -> str:
        before, outside = snapshot(script.root), sorted(tmp_path.iterdir())
        packs = sorted((script.root / ".tagit/packs").iterdir())
        done = script.tagit("import", str(path), "evil", *options, code=code)
        assert done.stderr.startswith("tagit: ")
        assert done.stderr.count("\n") <= 2
        assert done.stdout == ""
        assert snapshot(script.root) == before
        assert sorted((script.root / ".tagit/packs").iterdir()) == packs
        assert sorted(tmp_path.iterdir()) == outside
        assert Tagit(script.root).get_minor_version_info(Tagit(script.root).get_minor_head()).subject == "one"
        return done.stderr

    return run


_PARTS = st.sampled_from(["a", "b", "c", "..", "."])
_PATHS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join)
_TARGETS = st.lists(_PARTS, min_size=1, max_size=4).map("/".join)


@pytest.mark.skipif(sys.platform == "win32", reason="the links are made")
@settings(max_examples=300, deadline=None)
@given(st.dictionaries(_PATHS, _TARGETS, min_size=1, max_size=5))
def test_no_link_of_an_archive_that_is_taken_leads_out(links: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(os.path.realpath(place), "root")
        path = _tar(root.with_name("links.tar"), *(_link(name, to) for name, to in links.items()), mode="w")
        try:
            with archive.opened(path, keep_top=True) as found:
                members = {os.fsdecode(member.path): links[os.fsdecode(member.path)] for member in found.members}
        except FormatError:
            return
        for name, to in members.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(to)
        for name in members:
            assert Path(os.path.realpath(root / name)).is_relative_to(root)
