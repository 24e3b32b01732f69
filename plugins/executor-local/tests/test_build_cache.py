"""Built trees that are kept for the next command."""

from __future__ import annotations

import concurrent.futures
import os
import stat
import sys
from pathlib import Path

import pytest
from perfcore_executor_local.build_cache import Builder

from perfcore.errors import CommandFailedError
from perfcore.model import Build
from perfcore.model.record import replace

BUILD = """
import os, pathlib, sys
pathlib.Path("counter").open("a").write("built\\n") if os.path.exists("counter") else None
pathlib.Path("out").mkdir()
pathlib.Path("out/program").write_text("#!/bin/sh\\necho " + pathlib.Path("source").read_text())
os.chmod("out/program", 0o755)
os.symlink("program", "out/link")
pathlib.Path("changed").write_text("generated")
os.unlink("unneeded")
os.unlink("points")
pathlib.Path("points").write_text("a file now")
pathlib.Path(sys.argv[1]).open("a").write("x")
print("compiled")
"""


class Place:
    """A scratch folder, clean trees, and how often was built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outside = folder / "outside"
        self.outside.write_text("of somebody else")
        self.count = folder / "count"
        self.build = Build(commands=(f"{sys.executable} build.py {self.count}",), cache=10**9)

    def tree(self) -> Path:
        """A clean tree at the path of the one before."""
        tree = self.folder / "tree-007"
        if tree.exists():
            tree.rename(self.folder / f"old-{len(list(self.folder.iterdir()))}")
        tree.mkdir()
        for name in ("source", "changed", "unneeded"):
            (tree / name).write_text(name)
        (tree / "build.py").write_text(BUILD)
        (tree / "points").symlink_to(self.outside)
        (tree / ".git").write_text(f"gitdir: {len(list(self.folder.iterdir()))}")
        return tree

    def run(self, build: Build | None = None, version: str = "v1") -> Path:
        tree = self.tree()
        self.log = Builder(build or self.build, self.folder).run(tree, version)
        return tree

    @property
    def builds(self) -> int:
        return len(self.count.read_text()) if self.count.exists() else 0

    @property
    def archives(self) -> list[Path]:
        return sorted((self.folder / "builds").glob("*"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def contents(tree: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path.relative_to(tree)): (
            stat.S_IMODE(path.lstat().st_mode),
            os.readlink(path) if path.is_symlink() else path.read_text() if path.is_file() else "",
        )
        for path in sorted(tree.rglob("*"))
        if path.name != ".git"
    }


def test_a_built_tree_is_built_once_and_is_the_same_again(place: Place) -> None:
    built = contents(place.run())
    assert place.log.endswith("compiled\n")
    tree = place.run()
    assert contents(tree) == built
    assert place.log.endswith("compiled\n")
    assert place.builds == 1
    assert not (tree / "unneeded").exists()
    assert place.outside.read_text() == "of somebody else"  # nothing was written through the link that was there


def test_what_was_made_is_newer_than_what_it_was_made_of(place: Place) -> None:
    place.run()
    tree = place.run()
    assert place.builds == 1
    assert (tree / "source").stat().st_mtime_ns < (tree / "out/program").stat().st_mtime_ns


def test_what_the_build_may_read_decides(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.run()
    place.run(version="v2")
    assert place.builds == 2
    place.run(replace(place.build, commands=(*place.build.commands, "true")))
    assert place.builds == 3
    monkeypatch.setenv("CFLAGS", "-O3")
    place.run()
    assert place.builds == 4
    monkeypatch.setenv("SSH_CLIENT", "another session")
    place.run()
    assert place.builds == 4


def test_another_program_of_the_same_name_builds_anew(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = place.folder / "bin"
    programs.mkdir()
    compiler = programs / "cc"
    compiler.write_text("one")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    place.run()
    place.run()
    assert place.builds == 1
    compiler.write_text("two")
    os.utime(compiler, ns=(1, 1))
    place.run()
    assert place.builds == 2


def test_a_submodule_that_was_fetched_since_builds_anew(place: Place) -> None:
    place.run()
    tree = place.tree()
    (tree / "module.c").write_text("from a submodule")
    Builder(place.build, place.folder).run(tree, "v1")
    assert place.builds == 2


def test_a_failed_build_is_never_used_again(place: Place) -> None:
    failing = replace(place.build, commands=(*place.build.commands, "false"))
    for builds in (1, 2):
        with pytest.raises(CommandFailedError):
            place.run(failing)
        assert place.builds == builds
    assert place.archives == []


def test_rebuild_builds_and_keeps_the_new_one(place: Place) -> None:
    place.run()
    place.run(replace(place.build, rebuild=True))
    assert place.builds == 2
    place.run()
    assert place.builds == 2


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.999])
def test_a_damaged_file_is_as_if_there_were_none(place: Place, kept: float) -> None:
    built = contents(place.run())
    (archive,) = place.archives
    archive.write_bytes(archive.read_bytes()[: int(archive.stat().st_size * kept)])
    assert contents(place.run()) == built
    assert place.builds == 2
    place.run()
    assert place.builds == 2  # the damaged file was replaced


def test_the_limit_removes_what_was_not_used_for_longest(place: Place) -> None:
    place.run()
    (first,) = place.archives
    size = first.stat().st_size
    os.utime(first, ns=(1, 1))
    limited = replace(place.build, cache=int(size * 2.5))
    for version in ("v2", "v3"):
        place.run(limited, version)
    assert first not in place.archives
    assert len(place.archives) == 2
    place.run(replace(place.build, cache=10), "v4")  # larger than all the room: not kept, and nothing goes for it
    assert len(place.archives) == 2


def repositories(folder: Path) -> tuple[Place, Place]:
    """Two places with names as those of repositories of one user."""
    folders = (folder / "trees" / "0123456789", folder / "trees" / "abcdef0123")
    for each in folders:
        each.mkdir(parents=True)
    return Place(folders[0]), Place(folders[1])


def test_the_limit_holds_over_all_repositories_of_a_user(tmp_path: Path) -> None:
    first, second = repositories(tmp_path)
    for version in ("v1", "v2"):
        first.run(version=version)
    oldest, used = sorted(first.archives, key=lambda path: path.stat().st_mtime_ns)
    limit = int(oldest.stat().st_size * 2.5)
    os.utime(oldest, ns=(1, 1))
    os.utime(used, ns=(2, 2))
    second.run(replace(second.build, cache=limit))
    assert first.archives == [used]
    assert len(second.archives) == 1
    first.run(version="v2")  # used now, so that the other repository's is the oldest
    os.utime(second.archives[0], ns=(3, 3))
    first.run(replace(first.build, cache=limit), "v3")
    assert len(first.archives) == 2
    assert second.archives == []


def test_what_a_killed_command_began_in_another_repository_goes_after_a_day(tmp_path: Path) -> None:
    first, second = repositories(tmp_path)
    (first.folder / "builds").mkdir()
    abandoned, recent = (first.folder / "builds" / f"{digit * 40}.tar.{digit * 16}.new" for digit in "ab")
    for path in (abandoned, recent):
        path.write_text("half")
    os.utime(abandoned, ns=(1, 1))
    second.run()
    assert first.archives == [recent]


def test_the_limit_touches_no_file_that_perf_did_not_write(tmp_path: Path) -> None:
    first, second = repositories(tmp_path)
    strange = [tmp_path / "trees/other/builds" / f"{'a' * 40}.tar", first.folder / "builds/release.tar"]
    for path in strange:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 1_000_000)
        os.utime(path, ns=(1, 1))
    second.run(replace(second.build, cache=100_000))
    assert all(path.exists() for path in strange)


def test_builds_that_vanish_while_the_limit_is_kept_are_no_error(tmp_path: Path) -> None:
    first, second = repositories(tmp_path)
    first.run()
    (archive,) = first.archives
    vanished = archive.with_name(f"{'f' * 40}.tar")
    vanished.symlink_to(tmp_path / "removed meanwhile")  # listed, and gone when it is looked at
    os.utime(archive, ns=(1, 1))
    second.run(replace(second.build, cache=int(archive.stat().st_size * 1.5)))
    assert not archive.exists()
    assert len(second.archives) == 1


def test_two_commands_that_keep_builds_at_once_end_within_the_limit(tmp_path: Path) -> None:
    places = repositories(tmp_path)
    places[0].run()
    size = places[0].archives[0].stat().st_size
    trees = [place.folder / "tree-007" for place in places]
    places[1].tree()

    def build(place: Place, tree: Path) -> None:
        for number in range(6):
            commands = (f"echo {number} > made-{number}; head -c {size} /dev/zero > room",)
            limited = replace(place.build, commands=commands, shell=True, cache=size * 4)
            Builder(limited, place.folder).run(tree, f"v{number}")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(build, *each) for each in zip(places, trees, strict=True)]:
            future.result()
    kept = [path.stat().st_size for place in places for path in place.archives]
    assert kept
    assert sum(kept) <= size * 4


def test_what_a_killed_command_began_goes_after_a_day(place: Place) -> None:
    (place.folder / "builds").mkdir()
    abandoned, recent = place.folder / "builds" / "write-a", place.folder / "builds" / "write-b"
    for path in (abandoned, recent):
        path.write_text("half")
    os.utime(abandoned, ns=(1, 1))
    place.run()
    assert not abandoned.exists()
    assert recent.exists()


def test_no_cache_keeps_nothing(place: Place) -> None:
    place.run(replace(place.build, cache=0))
    place.run(replace(place.build, cache=0))
    assert place.builds == 2
    assert place.archives == []
