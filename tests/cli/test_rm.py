"""`perf rm`, `perf gc` and `perf fsck`: what goes, what stays, and that it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_testing import profiles

from perfcore.errors import AmbiguousError
from perfcore.library import History
from perfcore.store.objects import MAX_BYTES

if TYPE_CHECKING:
    from .conftest import Here


def test_a_registered_profile_is_taken_off_and_its_object_stays(here: Here) -> None:
    id = here.register()
    done = here.perf("rm", "0@i")
    assert done.lines[0].startswith(f"{id} of {here.head}: ")
    assert here.perf("status", "--json").json["profiles"] == []
    assert (here.path / ".perf" / "objects" / id[:2] / id[2:]).exists()
    assert here.perf("fsck").code == 0


def test_pending_ones_are_dropped_by_range_and_name(here: Here) -> None:
    names = [here.save(created=profiles.CREATED + number * 10**9) for number in range(4)]
    done = here.perf("rm", "0@p-1@p", names[3])
    assert done.lines == [f"{name} (pending)" for name in (names[0], names[1], names[3])]
    assert [row["name"] for row in here.perf("status", "--json").json["pending"]] == [names[2]]


def test_a_folder_in_the_place_of_a_pending_one_keeps_its_number_and_stays(here: Here) -> None:
    names = [here.save(created=profiles.CREATED + number * 10**9) for number in range(3)]
    path = here.path / ".perf" / "jobs" / names[1]
    path.unlink()
    path.mkdir()
    assert [row["name"] for row in here.perf("status", "--json").json["pending"]] == names
    assert here.perf("show", "2@p").code == 0
    for verb in (["show", "1@p"], ["rm", "0@p-1@p"], ["add", "1@p"], ["fsck"], ["gc"]):
        done = here.perf(*verb, code=4)
        assert f"a folder stands where jobs/{names[1]} should be" in done.err + done.out, verb
    assert [row["name"] for row in here.perf("status", "--json").json["pending"]] == names
    path.rmdir()
    assert here.perf("fsck").code == 0


def test_numbers_mean_what_they_meant_when_the_command_began(here: Here) -> None:
    ids = [here.register(created=profiles.CREATED + number * 10**9) for number in range(3)]
    here.perf("rm", "0@i", "1@i")
    assert [row["profile"] for row in here.perf("status", "--json").json["profiles"]] == [ids[2]]


def test_dry_run_only_says_what_would_go(here: Here) -> None:
    id = here.register()
    before = here.snapshot()
    assert id in here.perf("rm", "--dry-run", "0@i").out
    assert here.snapshot() == before


def test_a_profile_of_another_version_is_named_by_it(here: Here) -> None:
    id = here.register()
    first = here.head
    here.commit("Second")
    assert f"{id} of {first}" in here.perf("rm", "HEAD~1:0@i").out


def test_one_that_cannot_be_found_keeps_all_from_being_removed(here: Here) -> None:
    here.register()
    before = here.snapshot()
    here.perf("rm", "0@i", "7@i", code=3)
    assert here.snapshot() == before


def test_a_file_is_left_to_the_shell(here: Here) -> None:
    here.save()
    here.perf("export", "0@p", "-o", "mine.perf")
    here.perf("rm", "mine.perf", code=2)
    assert (here.path / "mine.perf").exists()


def test_a_damaged_pending_profile_can_be_dropped(here: Here) -> None:
    here.write(".perf/jobs/cut.perf", "{")
    here.perf("rm", "cut.perf")
    assert here.perf("status", "--json").json["pending"] == []


def test_what_was_taken_off_can_be_registered_again(here: Here) -> None:
    name = here.save()
    here.perf("add", "--keep", name)
    here.perf("rm", "0@i")
    here.perf("add", name)
    assert len(here.perf("status", "--json").json["profiles"]) == 1


def test_gc_removes_what_nothing_refers_to_once_its_grace_is_over(here: Here) -> None:
    kept = here.register(profiles.large())
    gone = here.register(profiles.traced())
    here.perf("rm", gone[:12])
    assert "removed 0 objects" in here.perf("gc").err
    listed = here.perf("gc", "--grace", "0", "--dry-run")
    assert any(gone[2:] in line for line in listed.lines)
    assert "would remove 1 object" in listed.err
    assert "removed 1 object" in here.perf("gc", "--grace", "0").err
    objects = here.path / ".perf" / "objects"
    assert not (objects / gone[:2] / gone[2:]).exists()
    assert (objects / kept[:2] / kept[2:]).exists()
    assert here.perf("fsck").code == 0
    assert here.perf("show", "0@i").out


def test_gc_keeps_what_pending_profiles_refer_to(here: Here) -> None:
    here.save(profiles.large())
    here.perf("gc", "--grace", "0")
    here.perf("add", "0@p")
    assert here.perf("fsck").code == 0


def test_the_grace_can_be_configured_and_is_checked(here: Here) -> None:
    gone = here.register()
    here.perf("rm", "0@i")
    here.perf("config", "set", "gc.grace", "0s")
    assert any(gone[2:] in line for line in here.perf("gc", "--dry-run").lines)
    assert "is not a duration" in here.perf("gc", "--grace", "soon", code=2).err
    assert "removed 0" in here.perf("gc", "--grace", "14d").err


def test_gc_can_be_read_by_a_program(here: Here) -> None:
    gone = here.register()
    here.perf("rm", "0@i")
    swept = here.perf("gc", "--grace", "0", "--dry-run", "--json").json
    assert swept["schema"] == 1
    assert [key.replace("/", "")[-40:] for key in swept["removed"]] == [gone]


def test_fsck_names_what_is_damaged_and_the_rest_goes_on(here: Here) -> None:
    damaged = here.register(profiles.traced())
    whole = here.register(profiles.timed(), created=profiles.CREATED + 10**9)
    path = here.path / ".perf" / "objects" / damaged[:2] / damaged[2:]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-9])
    done = here.perf("fsck", code=4)
    assert damaged[2:] in done.out
    assert whole[2:] not in done.out
    found = here.perf("fsck", "--json", code=4).json
    assert found["schema"] == 1
    assert {f["level"] for f in found["findings"]} == {"error"}
    assert here.perf("status").out.count("@i") == 2
    assert here.perf("show", "1@i").out
    assert damaged in here.perf("show", "0@i", code=4).err


def test_fsck_names_what_is_missing(here: Here) -> None:
    gone = here.register()
    (here.path / ".perf" / "objects" / gone[:2] / gone[2:]).unlink()
    assert gone in here.perf("fsck", code=4).out


def test_a_damaged_index_is_named_by_what_needs_it(here: Here) -> None:
    here.register()
    index = here.path / ".perf" / "objects" / here.head[:2] / here.head[2:]
    index.write_bytes(index.read_bytes()[:-1])
    for words in (("fsck",), ("show", "0@i"), ("rm", "0@i"), ("check",)):
        done = here.perf(*words, code=4)
        assert here.head in (done.out + done.err).replace("/", "")
        assert "Traceback" not in done.err
    pending = here.save(origin=None)
    assert [row["name"] for row in here.perf("status", "--json", code=4).json["pending"]] == [pending]


def test_an_index_in_the_place_of_another_loses_nothing(here: Here) -> None:
    """As a restored backup may leave it: it is whole, but of another version."""
    here.register()
    first = here.head
    here.commit("Second", file="2")
    lost = here.register(created=profiles.CREATED + 10**9)
    here.perf("tag", "fast", "0@i")
    objects = here.path / ".perf" / "objects"
    one, other = (objects / head[:2] / head[2:] for head in (first, here.head))
    other.write_bytes(one.read_bytes())
    for words in (("tag",), ("fsck",), ("gc", "--grace", "0s"), ("log", "--unreachable")):
        done = here.perf(*words, code=4)
        assert "belongs to another version" in done.out + done.err, done
    assert (objects / lost[:2] / lost[2:]).exists()


@pytest.mark.parametrize("verb", ["gc", "fsck"])
def test_they_take_no_names(here: Here, verb: str) -> None:
    here.perf(verb, "0@i", code=2)


def test_a_name_that_fits_a_registered_and_a_pending_profile_is_asked_about(here: Here) -> None:
    name = here.save()
    here.perf("add", "--keep", name)
    before = here.snapshot()
    done = here.perf("rm", name, code=3)
    assert "fits 2 profiles" in done.err
    assert here.head[:10] in done.err
    assert "0@p" in done.err
    assert here.snapshot() == before
    with pytest.raises(AmbiguousError):
        History(here.repository).remove(name)
    assert here.perf("rm", "0@p").out == f"{name} (pending)\n"
    assert here.perf("rm", name).lines[0].endswith(name)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "huge"])
def test_a_damaged_pending_profile_shifts_no_number(here: Here, damage: str) -> None:
    for number in range(3):
        here.save(created=profiles.CREATED + number * 700_000_000)
    before = [row["name"] for row in here.perf("status", "--json").json["pending"]]
    for name in before:
        path = here.path / ".perf" / "jobs" / name
        whole = path.read_bytes()
        if damage == "truncated":
            path.write_bytes(whole[: len(whole) // 2])
        elif damage == "flipped":
            path.write_bytes(whole.replace(b'"header"', b'"hEader"'))
        else:
            with path.open("r+b") as file:
                file.truncate(0 if damage == "empty" else MAX_BYTES + 1)
        rows = here.perf("status", "--json").json["pending"]
        assert [row["name"] for row in rows] == before
        assert [row["name"] for row in rows if "damage" in row] == [name]
        path.write_bytes(whole)


def test_gc_removes_the_caches_of_an_earlier_perfcore(here: Here) -> None:
    cache = here.path / ".perf" / "cache"
    (cache / "amounts").mkdir(parents=True)
    (cache / "amounts" / "dcc54e").write_bytes(b"old")
    (cache / "checked").write_bytes(b"old")
    precious = here.path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    (cache / "scans").symlink_to(precious, target_is_directory=True)
    here.perf("log")
    here.perf("gc", "--dry-run")
    assert (cache / "amounts").exists()
    here.perf("gc")
    assert {path.name for path in cache.iterdir()} <= {"derived.db"}
    assert (precious / "file").exists(), "a link is removed, and not what it leads to"
