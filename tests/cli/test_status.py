"""`perf status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore_testing import hostile, profiles

from perfcore.model.record import replace

if TYPE_CHECKING:
    from .conftest import Here


def test_it_tells_the_place_and_what_to_do_next(here: Here) -> None:
    out = here.perf("status").out
    assert out.startswith(f"on main at {here.head[:10]} First")
    assert "perf collect time -- COMMAND" in out


def test_it_numbers_registered_and_pending_profiles_as_they_can_be_named(here: Here) -> None:
    registered = here.register()
    here.save(profiles.traced(), created=profiles.CREATED + 1)
    here.save(profiles.traced(), created=profiles.CREATED + 2)
    out = here.perf("status").out
    assert f"0@i  {registered[:10]}" in out
    assert "0@p" in out
    assert "1@p" in out
    assert "2 pending profiles" in out
    assert here.perf("show", "1@p").out


def test_a_profile_of_another_version_says_of_which(here: Here) -> None:
    first = here.head
    here.save()
    here.commit("Second")
    assert f"of {first[:10]}" in here.perf("status").out


def test_uncommitted_changes_are_said(here: Here) -> None:
    here.save(dirty=True)
    assert "uncommitted changes" in here.perf("status").out


def test_the_named_profile_can_be_registered(here: Here) -> None:
    here.save(dirty=True)
    assert "1 pending profile (drop: perf rm 0@p):" in here.perf("status").lines
    here.save(created=profiles.CREATED + 1)
    assert "2 pending profiles (register: perf add 1@p; drop: perf rm 0@p):" in here.perf("status").lines
    here.commit("Second")
    assert "2 pending profiles (register: perf add --all; drop: perf rm 0@p):" in here.perf("status").lines
    assert "registered for" in here.perf("add", "--all").out


def test_a_kind_of_the_collectors_own_is_told(here: Here) -> None:
    """Profiles of such two types cannot be compared, so that they should not look alike."""
    whole = profiles.timed()
    for kind, created in (("time.sampled", 1), ("timer", 2)):
        here.save(whole, created=created, header=replace(whole.header, type=kind))
    rows = [line.split() for line in here.perf("status").lines if "@p  " in line]
    assert [row[1] for row in rows] == ["time.sampled", "time"]
    here.perf("add", "0@p")
    assert "  time.sampled  " in here.perf("status").out
    assert "  time.sampled  " in here.perf("log").out


def test_json_has_a_schema_and_everything_the_text_has(here: Here) -> None:
    registered = here.register()
    name = here.save(profiles.traced())
    status = here.perf("status", "--json").json
    assert status["schema"] == 1
    assert status["root"] == str(here.path)
    assert status["version"] == here.head
    assert status["major"] == "main"
    assert [(row["number"], row["profile"]) for row in status["profiles"]] == [("0@i", registered)]
    assert [(row["number"], row["name"]) for row in status["pending"]] == [("0@p", name)]


def test_before_the_first_commit_there_is_no_version(bare: Here) -> None:
    bare.git("init", "--quiet", "--initial-branch=main")
    bare.perf("init")
    assert "on main, no version yet" in bare.perf("status").out
    assert bare.perf("status", "--json").json["version"] is None


def test_a_detached_head_is_called_so(here: Here) -> None:
    here.git("checkout", "--quiet", "--detach")
    assert here.perf("status").out.startswith("detached at ")
    assert here.perf("status", "--json").json["major"] is None


def test_a_damaged_pending_profile_is_named_and_the_rest_is_shown(here: Here) -> None:
    whole = here.save()
    here.write(".perf/jobs/cut.perf", '{"format": 1, "header": {"ty')
    out = here.perf("status").out
    assert "damaged" in out
    assert "cut.perf" in out
    assert "./gzip -9" in out
    rows = here.perf("status", "--json").json["pending"]
    assert {row["name"]: "damage" in row for row in rows} == {"cut.perf": True, whole: False}


def test_hostile_text_never_reaches_the_terminal(here: Here) -> None:
    here.register(profiles.hostile())
    here.save(profiles.hostile())
    here.git("commit", "--quiet", "--allow-empty", "--message", hostile.NAMES[2].replace("\x00", ""))
    for words in (("status",), ("log",), ("log", "--short"), ("log", "--branches")):
        assert hostile.unsafe(here.perf(*words).out) == set()


def test_a_folder_can_be_named(here: Here) -> None:
    assert here.perf("-C", str(here.path), "status", cwd=here.path.parent).out.startswith("on main")
    done = here.perf("-C", "no-such-folder", "status", code=2)
    assert "no-such-folder is not a folder" in done.err


def test_it_works_in_a_folder_below_and_in_a_linked_tree(here: Here) -> None:
    registered = here.register()
    below = here.path / "a folder"
    below.mkdir()
    assert registered[:10] in here.perf("status", cwd=below).out
    linked = here.path.parent / "linked"
    here.git("worktree", "add", "--quiet", "--detach", str(linked))
    assert registered[:10] in here.perf("status", cwd=linked).out


def test_a_repository_inside_another_has_no_part_in_its_history(here: Here) -> None:
    """What is measured of a library is none of the versions of the program that holds it."""
    here.register()
    inner = here.path / "vendor" / "a library"
    here.git("init", "--quiet", str(inner))
    below = inner / "src"
    below.mkdir()
    for folder in (inner, below):
        done = here.perf("status", code=3, cwd=folder)
        assert f"{inner} is a repository of its own" in done.err
        assert "perf init" in done.err
    here.perf("collect", "time", "--", "true", code=3, cwd=below)
    here.perf("init", cwd=below)
    assert "no profiles" in here.perf("status", cwd=below).out


def test_a_repository_that_was_moved_goes_on(here: Here) -> None:
    registered = here.register()
    there = here.path.rename(here.path.parent / "another place")
    assert registered[:10] in here.perf("status", cwd=there).out
    assert "nothing is damaged" in here.perf("fsck", cwd=there).err
    here.perf("collect", "time", "-r", "1", "--warmup", "0", "--add", "--version", "HEAD", "--", "true", cwd=there)
    assert "2 profiles of this version" in here.perf("status", cwd=there).out


def test_short_is_a_line_of_tabs_for_each_registered_and_pending_profile(here: Here) -> None:
    assert here.perf("status", "--short").out == ""
    here.register()
    registered, head = here.perf("status", "--json").json["profiles"][0], here.head
    here.perf("collect", "time", "--repeat", "1", "--warmup", "0", "--", "echo", "two words")
    command = " ".join(filter(None, (registered["cmd"], registered["args"], registered["workload"])))
    assert here.perf("status", "--short").lines == [
        "\t".join(("0@i", head, registered["collector"], command)),
        "\t".join(("0@p", head, "time", "echo 'two words'")),
    ]


def test_short_names_damaged_pending_profiles(here: Here) -> None:
    here.save()
    (pending,) = (here.path / ".perf" / "jobs").glob("*.perf")
    pending.write_bytes(b"damaged")
    assert here.perf("status", "--short", code=None).lines == ["0@p\t-\tdamaged\t"]
