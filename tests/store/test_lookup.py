"""How profiles are named and in which order the places are searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest

from perfcore.errors import AmbiguousError, NotFoundError, UsageError, VersionError
from perfcore.model import Entry, Header, Profile, Tool
from perfcore.store.lookup import Places, Ref, resolve
from perfcore.store.pending import Pending

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HEAD, OLD = "aa" * 20, "bb" * 20
PROFILE = Profile(header=Header(type="time"), created=1, collector=Tool(name="time"))


def entry(name: str, id: str, *tags: str) -> Entry:
    return Entry(profile=id.ljust(40, "0"), created=1, name=name, type="time", tags=tags)


def waiting(name: str) -> Pending:
    return Pending(name=name, tag="", profile=PROFILE)


@attrs.define(slots=False)
class World:
    """Two versions, pending profiles and a folder; says which of them were looked into."""

    cwd: Path
    registered: dict[str, list[Entry]]
    waiting: list[Pending]
    walks: int = 0

    def version(self, revision: str | None) -> str:
        found = {None: HEAD, "HEAD": HEAD, "HEAD~1": OLD, "feature:x": OLD}.get(revision)
        if found is None:
            raise VersionError(f"unknown revision {revision}")
        return found

    def everywhere(self) -> list[tuple[str, Entry]]:
        self.walks += 1
        return [(version, entry) for version, entries in self.registered.items() for entry in entries]

    def entries(self, version: str) -> Sequence[Entry]:
        return self.registered.get(version, [])

    def pending(self) -> Sequence[Pending]:
        return self.waiting

    def find(self, name: str) -> list[Ref]:
        return resolve(
            name,
            Places(
                version=self.version,
                entries=self.entries,
                pending=self.pending,
                everywhere=self.everywhere,
                cwd=self.cwd,
            ),
        )

    def names(self, name: str) -> list[str]:
        return [ref.name for ref in self.find(name)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    registered = {
        HEAD: [
            entry("time-sort-1.perf", "abcd1"),
            entry("time-sort-2.perf", "abcd2", "baseline"),
            entry("memory-sort.perf", "1234", "v1.0"),
        ],
        OLD: [entry("time-sort-1.perf", "9999"), entry("time-old.perf", "beef", "baseline", "ancient")],
    }
    return World(tmp_path, registered, [waiting("time-p1.perf"), waiting("time-p2.perf"), waiting("sort-p3.perf")])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("0@i", ["aaaaaaaaaa:0@i"]),
        ("2@i", ["aaaaaaaaaa:2@i"]),
        ("HEAD~1:1@i", ["bbbbbbbbbb:1@i"]),
        ("feature:x:0@i", ["bbbbbbbbbb:0@i"]),
        ("0@i-2@i", ["aaaaaaaaaa:0@i", "aaaaaaaaaa:1@i", "aaaaaaaaaa:2@i"]),
        ("HEAD~1:0@i-1@i", ["bbbbbbbbbb:0@i", "bbbbbbbbbb:1@i"]),
        ("1@i-1@i", ["aaaaaaaaaa:1@i"]),
        ("0@p", ["0@p"]),
        ("0@p-2@p", ["0@p", "1@p", "2@p"]),
        ("HEAD:baseline", ["aaaaaaaaaa:1@i"]),
        ("v1.0", ["aaaaaaaaaa:2@i"]),
        ("ancient", ["bbbbbbbbbb:1@i"]),
        ("HEAD~1:baseline", ["bbbbbbbbbb:1@i"]),
        ("time-sort-1.perf", ["aaaaaaaaaa:0@i"]),
        ("time-sort-1", ["aaaaaaaaaa:0@i"]),
        ("HEAD~1:time-sort-1", ["bbbbbbbbbb:0@i"]),
        ("HEAD~1:old", ["bbbbbbbbbb:1@i"]),
        ("memory", ["aaaaaaaaaa:2@i"]),
        ("abcd1", ["aaaaaaaaaa:0@i"]),
        ("abcd1".ljust(40, "0"), ["aaaaaaaaaa:0@i"]),
        ("HEAD~1:9999", ["bbbbbbbbbb:0@i"]),
        ("beef", ["bbbbbbbbbb:1@i"]),
        ("time-p1", ["0@p"]),
        ("time-p2.perf", ["1@p"]),
        ("p3", ["2@p"]),
    ],
)
def test_a_name_finds_its_profiles(world: World, name: str, found: list[str]) -> None:
    assert world.names(name) == found


@pytest.mark.parametrize("name", ["0@i", "2@i", "0@p", "1@p"])
def test_the_name_of_a_found_profile_finds_it_again(world: World, name: str) -> None:
    world.version = {None: HEAD, "aaaaaaaaaa": HEAD}.__getitem__  # type: ignore[assignment, method-assign]
    (ref,) = world.find(name)
    assert world.find(ref.name) == [ref]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("3@i", "there are 3 registered for this version; the last is 2@i"),
        ("3@p", "there are 3 pending; the last is 2@p"),
        ("1@i-3@i", "there are 3"),
        ("99999999999999999999@i", "there are 3"),
        ("nothing", "there is no profile 'nothing'"),
        ("HEAD:nothing", "there is no profile"),
        ("HEAD:time-old", "there is no profile"),
        ("HEAD:time-p1", "there is no profile"),
        ("", "there is no profile ''"),
        ("HEAD:", "there is no profile"),
        ("abc", "there is no profile"),
        ("\x1b[31m", r"\\x1b"),
        ("-1@i", "there is no profile"),
        ("0@x", "there is no profile"),
        ("no/such/file.perf", "there is no profile"),
        ("nul\0byte", "there is no profile"),
        ("x" * 5000, "there is no profile"),
    ],
)
def test_what_is_not_there_is_an_error(world: World, name: str, text: str) -> None:
    with pytest.raises(NotFoundError, match=text):
        world.find(name)


def test_a_place_that_is_empty_says_so(world: World) -> None:
    world.registered, world.waiting = {}, []
    for name in ("0@i", "0@p", "0@i-1@i"):
        with pytest.raises(NotFoundError, match="there are none"):
            world.find(name)


@pytest.mark.parametrize(
    ("name", "count", "listed"),
    [
        ("time-sort", 2, ["aaaaaaaaaa:0@i abcd100000 time-sort-1.perf", "aaaaaaaaaa:1@i abcd200000 time-sort-2.perf"]),
        ("time-p", 2, ["0@p time-p1.perf", "1@p time-p2.perf"]),
        ("abcd", 2, ["abcd100000", "abcd200000"]),
    ],
)
def test_several_matches_are_an_error_that_lists_them(world: World, name: str, count: int, listed: list[str]) -> None:
    with pytest.raises(AmbiguousError, match=f"fits {count} profiles") as caught:
        world.find(name)
    for each in listed:
        assert each in str(caught.value)


def test_a_long_list_of_matches_is_cut(world: World) -> None:
    world.waiting = [waiting(f"same-{i}.perf") for i in range(30)]
    with pytest.raises(AmbiguousError, match="and 10 more"):
        world.find("same")


@pytest.mark.parametrize("name", ["2@i-0@i", "0@i-1@p", "0@p-1@i", "HEAD:1@p", "HEAD:0@p-1@p", "3@p-1@p"])
def test_names_that_make_no_sense_are_a_wrong_usage(world: World, name: str) -> None:
    with pytest.raises(UsageError):
        world.find(name)


def test_an_unknown_revision_is_a_version_error(world: World) -> None:
    with pytest.raises(VersionError):
        world.find("nowhere:0@i")


def test_the_index_comes_before_files_and_files_before_pending_ones(world: World) -> None:
    for name in ("time-sort-1.perf", "time-p1.perf", "other.perf"):
        (world.cwd / name).write_text("{}")
    assert world.names("time-sort-1.perf") == ["aaaaaaaaaa:0@i"]
    (ref,) = world.find("time-p1.perf")
    assert (ref.kind, ref.path) == ("file", world.cwd / "time-p1.perf")
    assert world.find("other.perf")[0].kind == "file"
    assert world.find(str(world.cwd / "other.perf"))[0].path == world.cwd / "other.perf"


def test_a_tag_comes_before_a_name(world: World) -> None:
    world.registered[HEAD].append(entry("v1.0", "0123"))
    assert world.names("v1.0") == ["aaaaaaaaaa:2@i"]


def test_a_tag_that_two_clones_gave_fits_both_profiles(world: World) -> None:
    with pytest.raises(AmbiguousError, match="fits 2 profiles"):
        world.find("baseline")


def test_a_number_is_a_number_whatever_files_are_called(world: World) -> None:
    (world.cwd / "0@i").write_text("{}")
    assert world.names("0@i") == ["aaaaaaaaaa:0@i"]


def test_a_file_with_a_colon_is_a_file(world: World) -> None:
    (world.cwd / "c:x.perf").write_text("{}")
    assert world.find("c:x.perf")[0].path == world.cwd / "c:x.perf"


def test_nothing_is_walked_that_need_not_be(world: World) -> None:
    for name in ("0@i", "0@p", "HEAD:baseline", "HEAD~1:ancient", "HEAD:memory"):
        world.find(name)
    assert world.walks == 0


def test_without_a_head_the_other_places_are_searched(world: World) -> None:
    def version(revision: str | None) -> str:
        raise VersionError("there is no commit yet")

    world.version = version  # type: ignore[method-assign]
    assert world.names("time-p1") == ["0@p"]
    with pytest.raises(VersionError):
        world.find("0@i")


def test_titles_are_harmless(world: World) -> None:
    world.registered[HEAD] = [entry("a\x1b[2J\nb.perf", "0123")]
    assert world.find("0@i")[0].title == "aaaaaaaaaa:0@i 0123000000 a\\x1b[2J\\nb.perf"
