"""`perf add`: what is registered, what is refused, and that nothing is lost on the way."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from perfcore_testing import hostile, profiles

if TYPE_CHECKING:
    from perfcore_testing.distributions import Site

    from .conftest import Here


def test_a_pending_profile_is_registered_and_its_file_goes(here: Here) -> None:
    name = here.save()
    done = here.perf("add", "0@p")
    id = done.out.split()[0]
    assert len(id) == 40
    assert name in done.out
    status = here.perf("status", "--json").json
    assert [row["profile"] for row in status["profiles"]] == [id]
    assert status["pending"] == []
    assert list((here.path / ".perf" / "jobs").glob("*.perf")) == []


def test_keep_leaves_the_source(here: Here) -> None:
    name = here.save()
    here.perf("add", "--keep", "0@p")
    assert (here.path / ".perf" / "jobs" / name).exists()


def test_ranges_names_and_files_can_be_mixed(here: Here) -> None:
    names = [here.save(created=profiles.CREATED + number * 10**9) for number in range(4)]
    here.perf("export", "3@p", "-o", "file.perf")
    here.perf("rm", "3@p")
    done = here.perf("add", "0@p-1@p", names[2], "file.perf")
    assert len(done.lines) == 4
    assert here.perf("status", "--json").json["pending"] == []
    assert not (here.path / "file.perf").exists()


def test_one_named_twice_is_registered_once(here: Here) -> None:
    name = here.save()
    assert len(here.perf("add", "0@p", name).lines) == 1


def test_all_takes_every_one_with_the_version_it_was_measured_for(here: Here) -> None:
    first = here.head
    here.save()
    second = here.commit("Second")
    here.save()
    here.save(dirty=True)
    done = here.perf("add", "--all")
    assert len(done.lines) == 2
    assert "1 profile of uncommitted changes left out" in done.err
    for version in (first, second):
        assert len(here.repository.entries(version)) == 1


def test_all_with_nothing_to_do_is_no_error(here: Here) -> None:
    assert "nothing to register" in here.perf("add", "--all").err


def test_one_of_another_version_is_refused_until_it_is_named(here: Here) -> None:
    first = here.head
    name = here.save()
    here.commit("Second")
    done = here.perf("add", "0@p", code=2)
    assert f"was measured for version {first[:10]}" in done.err
    assert f"--version {first[:10]}" in done.err
    assert (here.path / ".perf" / "jobs" / name).exists()
    here.perf("add", "0@p", "--version", first[:10])
    assert len(here.repository.entries(first)) == 1


def test_one_without_an_origin_belongs_to_the_head(here: Here) -> None:
    here.save(origin=None)
    assert here.head[:10] in here.perf("add", "0@p").out


def test_the_same_profile_twice_is_there_once(here: Here) -> None:
    here.save()
    here.perf("add", "--keep", "0@p")
    here.perf("add", "--keep", "0@p")
    assert len(here.perf("status", "--json").json["profiles"]) == 1


def test_a_failure_among_several_does_not_stop_the_others(here: Here) -> None:
    here.save()
    here.save(dirty=True, created=profiles.CREATED + 10**9)
    here.save(created=profiles.CREATED + 2 * 10**9)
    done = here.perf("add", "0@p-2@p", code=2)
    assert len(done.lines) == 2
    assert done.err.count("uncommitted changes") == 1
    assert "1 of 3 profiles not registered" in done.err
    assert len(here.perf("status", "--json").json["pending"]) == 1


def test_every_failure_among_several_is_told_once(here: Here) -> None:
    for second in range(2):
        here.save(dirty=True, created=profiles.CREATED + second * 10**9)
    done = here.perf("add", "0@p", "1@p", code=2)
    assert done.err.count("uncommitted changes") == 2
    assert "2 of 2 profiles not registered" in done.err
    here.perf("rm", "1@p")
    assert here.perf("add", "0@p", code=2).err.count("uncommitted changes") == 1


def test_nothing_named_or_too_much_is_wrong_usage(here: Here) -> None:
    here.save()
    assert "say --all" in here.perf("add", code=2).err
    here.perf("add", "--all", "0@p", code=2)


def test_what_is_registered_already_is_not_looked_for(here: Here) -> None:
    id = here.register()
    assert "there is no profile" in here.perf("add", id[:12], code=3).err
    assert "is registered already" in here.perf("add", "0@i", code=2).err


def test_an_unknown_version_registers_nothing(here: Here) -> None:
    here.save(origin=None)
    before = here.snapshot()
    assert "no-such" in here.perf("add", "0@p", "--version", "no-such", code=3).err
    assert here.snapshot() == before


@pytest.fixture
def exported(here: Here) -> bytes:
    """A complete file of a profile whose tables are large enough to be packed."""
    here.save(profiles.large())
    here.perf("export", "0@p", "-o", "whole.perf")
    here.perf("rm", "0@p")
    return (here.path / "whole.perf").read_bytes()


def test_a_truncated_file_is_refused_and_stays(here: Here, exported: bytes) -> None:
    before = here.snapshot()
    for size in (0, 1, 100, len(exported) // 2, len(exported) - 2):
        path = here.path / "cut.perf"
        path.write_bytes(exported[:size])
        done = here.perf("add", "cut.perf", code=4)
        assert "cut.perf" in done.err
        assert "Traceback" not in done.err
        assert path.stat().st_size == size
    assert here.snapshot() == before


def test_a_file_is_verified_whole_before_anything_is_written(here: Here, exported: bytes) -> None:
    document = json.loads(exported)
    before = here.snapshot()
    for damage in (
        {"format": 999},
        {"header": 5},
        {"header": {**document["header"], "type": "../../etc"}},
        {"tables": {"resources": {"columns": "x"}}},
        {"created": "yesterday"},
    ):
        path = here.path / "wrong.perf"
        path.write_text(json.dumps({**document, **damage}))
        done = here.perf("add", "wrong.perf", code=4)
        assert "wrong.perf" in done.err
        assert "Traceback" not in done.err
        assert path.exists()
    assert here.snapshot() == before


@pytest.mark.parametrize(
    "bomb",
    [
        b'{"format": 1, "collector_info": ' + b"[" * 200_000,
        b'{"format": 1, "collector_info": ' + b'{"a":' * 100_000,
        b'{"format": 1, "collector_info": {"x": 1' + b"0" * 100_000 + b"}}",
        b'{"format": 1, "collector_info": "\\ud800"}',
        b"\xff\xfe{",
        b"null",
        b"[]",
    ],
)
def test_a_json_bomb_is_an_error(here: Here, bomb: bytes) -> None:
    (here.path / "bomb.perf").write_bytes(bomb)
    done = here.perf("add", "bomb.perf", code=4)
    assert "Traceback" not in done.err
    assert len(done.err) < 2000


def test_a_huge_file_is_refused_unread(here: Here) -> None:
    with (here.path / "huge.perf").open("wb") as file:
        file.truncate(10 << 30)
    done = here.perf("add", "huge.perf", code=4)
    assert "10,737,418,240 bytes" in done.err
    assert "limits.profile_bytes" in done.err


def test_a_huge_pending_file_is_refused_and_the_rest_goes_on(here: Here) -> None:
    here.save()
    with (here.path / ".perf" / "jobs" / "huge.perf").open("wb") as file:
        file.truncate(10 << 30)
    assert "damaged" in here.perf("status").out
    assert "are not read" in here.perf("add", "huge", code=4).err
    here.perf("add", "1@p")


def test_what_is_no_file_is_an_error(here: Here) -> None:
    os.mkfifo(here.path / "pipe.perf")
    (here.path / "folder.perf").mkdir()
    for name in ("pipe.perf", "folder.perf", "/dev/zero"):
        done = here.perf("add", name, code=None)
        assert done.code not in (0, 1, 70)
        assert "Traceback" not in done.err


def test_a_profile_of_a_type_nobody_has_heard_of_is_kept_like_any_other(here: Here) -> None:
    id = here.register(profiles.unheard_of())
    assert "x-quantum.7" in here.perf("status", "--json").json["profiles"][0]["type"]
    assert "qsim" in here.perf("status").out
    assert "qubits" in here.perf("show", "0@i").out
    assert here.perf("fsck").code == 0
    assert id in here.perf("rm", "0@i").out


def test_hostile_names_are_kept_and_shown_harmlessly(here: Here) -> None:
    here.register(profiles.hostile())
    out = here.perf("show", "0@i").out
    assert hostile.unsafe(out) == set()
    kept = here.repository.store.load(here.repository.entries(here.head)[0].profile)
    table = kept.table("resources")
    assert table is not None
    assert set(table["uid"]) >= set(hostile.NAMES)


def test_a_source_that_is_replaced_meanwhile_stays(here: Here, exported: bytes, site: Site) -> None:
    site.install(
        "acme-race",
        points={"perfcore.hooks": ["profile_registered:race = acme_race:replace"]},
        acme_race="def replace(entry): open('whole.perf', 'w').write('newer')\n",
    )
    done = here.real.perf("add", "whole.perf", env=site.env)
    assert "stays where it is" in done.err
    assert (here.path / "whole.perf").read_text() == "newer"
