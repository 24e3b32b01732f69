"""What is kept of a store is never believed when it could be wrong, and never missed when it is gone."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from perfcore.store import read_model
from perfcore.store.read_model import ReadModel

ROWS = {f"key {number}": random.Random(number).randbytes(40 * number) for number in range(300)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "derived.db"


def filled(path: Path) -> ReadModel:
    model = ReadModel(path)
    model.put("values", ROWS, "1:a")
    return model


def everything(path: Path) -> dict[str, bytes]:
    model = ReadModel(path)
    rows = model.many("values", ROWS, "1:a")
    model.close()
    return rows


def test_rows_come_back_by_space_group_and_key(path: Path) -> None:
    model = filled(path)
    model.put("values", {"key 1": b"of another group", "\0 ü": b""}, "1:b")
    model.put("states", {"key 1": b"of another space"}, "1:a")
    assert everything(path) == ROWS
    assert ReadModel(path).many("values", ["key 7", "key 9", "none"], "1:a") == {k: ROWS[k] for k in ("key 7", "key 9")}
    assert (model.get("values", "key 1", "1:b"), model.get("values", "\0 ü", "1:b")) == (b"of another group", b"")
    assert (model.get("states", "key 1", "1:a"), model.get("states", "key 1")) == (b"of another space", None)
    model.put("values", {"key 1": b"newer"}, "1:a")
    assert ReadModel(path).get("values", "key 1", "1:a") == b"newer"


def test_a_row_is_as_the_page_of_the_formats_says(path: Path) -> None:
    filled(path).close()
    page = Path(__file__).parents[2].joinpath("docs", "formats.md").read_text("utf-8")
    data = sqlite3.connect(path)
    assert data.execute("SELECT sql FROM sqlite_master WHERE sql NOTNULL").fetchall() == [(read_model._SCHEMA,)]
    assert f"\n    {read_model._SCHEMA}\n" in page
    rows = data.execute('SELECT "space", "group", "key", "data" FROM "rows"').fetchall()
    data.close()
    assert len(rows) == len(ROWS)
    for space, group, key, stored in rows:
        named = f"{space}\0{group}\0{key}\0".encode() + ROWS[key]
        assert stored == zlib.crc32(named).to_bytes(4, "big") + ROWS[key]


def test_without_a_file_nothing_is_kept_and_none_is_made_by_reading(path: Path) -> None:
    ReadModel(None).put("values", ROWS)
    assert ReadModel(None).get("values", "key 1") is None
    assert everything(path) == {}
    assert not path.parent.exists()
    filled(path).put("values", {})
    assert os.listdir(path.parent) == [path.name], "SQLite leaves nothing beside it"


def test_a_name_that_is_no_unicode_has_no_row(path: Path) -> None:
    model = filled(path)
    model.put("values", {"\udc80": b"1"})
    assert model.get("values", "\udc80") is None
    assert everything(path) == ROWS


def test_a_file_that_is_flipped_anywhere_gives_what_was_put_there_or_nothing(path: Path) -> None:
    filled(path).close()
    whole, chance = path.read_bytes(), random.Random(1)
    lost = 0
    for _ in range(1_500):
        at = chance.choice((chance.randrange(100), chance.randrange(len(whole))))  # the header decides most
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :])
        seen = everything(path)
        assert seen.items() <= ROWS.items()
        lost += seen != ROWS
        path.unlink(missing_ok=True)
    assert lost > 300, "flips were seen"


def test_a_file_that_is_cut_short_anywhere_gives_what_was_put_there_or_nothing(path: Path) -> None:
    filled(path).close()
    whole, chance = path.read_bytes(), random.Random(2)
    for length in (0, 1, 17, 99, 100, 512, *(chance.randrange(len(whole)) for _ in range(200))):
        path.write_bytes(whole[:length])
        assert everything(path).items() <= ROWS.items()
        assert filled(path).many("values", ROWS, "1:a") == ROWS, "and it was written again"


@pytest.mark.parametrize(
    "forge",
    [
        lambda data: data.execute("CREATE TABLE other (x)"),
        lambda data: data.execute("DROP TABLE rows"),
        lambda data: data.execute('CREATE TRIGGER t AFTER INSERT ON "rows" BEGIN DELETE FROM "rows"; END'),
        lambda data: data.execute('UPDATE "rows" SET "data" = "key"'),
        lambda data: data.execute('UPDATE "rows" SET "data" = NULL'),
        lambda data: data.execute('UPDATE "rows" SET "data" = 7'),
        lambda data: data.execute('UPDATE "rows" SET "key" = "key" || "x"'),
        lambda data: data.execute('UPDATE "rows" SET "group" = "1:b"'),
        lambda data: data.execute("PRAGMA journal_mode=WAL"),
    ],
)
def test_a_forged_file_is_not_believed_and_breaks_nothing(
    path: Path, forge: Callable[[sqlite3.Connection], object]
) -> None:
    filled(path).close()
    with sqlite3.connect(path) as data:
        forge(data)
        data.commit()
    data.close()
    assert everything(path) in ({}, ROWS)
    assert filled(path).many("values", ROWS, "1:a") == ROWS
    assert ReadModel(path).get("values", "key 1x", "1:a") is None


def test_what_is_no_database_is_replaced_and_what_stands_in_the_way_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"precious?")
    assert everything(path) == {}
    filled(path).close()
    assert everything(path) == ROWS
    path.unlink()
    path.mkdir()
    assert filled(path).many("values", ROWS, "1:a") == {}
    assert path.is_dir()


def test_a_link_is_not_followed_and_a_strangers_journal_is_not_played_back(path: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    filled(precious).close()
    whole = precious.read_bytes()
    path.parent.mkdir()
    path.symlink_to(precious)
    assert everything(path) == {}
    ReadModel(path).put("values", {"a": b"b"})
    assert precious.read_bytes() == whole
    path.unlink()
    filled(path).close()
    for suffix in ("-journal", "-wal", "-shm"):
        path.with_name(path.name + suffix).write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    assert everything(path) == ROWS
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes of POSIX")
def test_a_pipe_is_not_waited_at(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    ReadModel(path).put("values", {"a": b"b"})
    assert everything(path) == {}
    assert path.is_file()


def test_who_has_the_lock_is_not_waited_for_long(path: Path) -> None:
    filled(path).close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert everything(path) == {}
    model = ReadModel(path)
    model.put("values", {"late": b"1"}, "1:a")
    holder.execute("ROLLBACK")
    holder.close()
    assert everything(path) == ROWS
    assert model.get("values", "late", "1:a") is None
    model.put("values", {"late": b"1"}, "1:a")
    assert ReadModel(path).get("values", "late", "1:a") == b"1"


def test_a_lock_is_waited_for_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path).close()
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    model = ReadModel(path)
    assert model.get("values", "key 1", "1:a") is None
    monkeypatch.setattr(read_model, "_PATIENCE", 600)
    release = threading.Timer(5, holder.execute, ("ROLLBACK",))
    release.start()
    assert model.get("values", "key 1", "1:a") is None, "a lookup that waits sees the row once the lock has gone"
    model.put("values", {"late": b"1"}, "1:a")
    release.join()
    assert everything(path) == ROWS
    assert model.get("values", "key 1", "1:a") == ROWS["key 1"], "but it is asked again each time"
    holder.close()


def test_a_file_that_was_removed_is_made_again_by_who_had_it_open(path: Path) -> None:
    model = filled(path)
    path.unlink()
    model.put("values", {"key 1": b"new"}, "1:a")
    assert everything(path) == {"key 1": b"new"}


def test_a_child_of_the_process_has_a_connection_of_its_own(path: Path) -> None:
    model = filled(path)
    child = os.fork()
    if child == 0:
        model.put("values", {"of the child": b"1"}, "1:a")
        os._exit(model.get("values", "key 1", "1:a") != ROWS["key 1"])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert model.get("values", "of the child", "1:a") == b"1"
    assert everything(path) == {**ROWS, "of the child": b"1"}


def test_a_folder_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    model = ReadModel(tmp_path / "file" / "derived.db")
    model.put("values", ROWS)
    assert model.get("values", "key 1") is None


def _write_for_ever(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    while True:
        some = chance.sample(sorted(ROWS), 20)
        ReadModel(path).put("values", {key: ROWS[key] for key in some}, "1:a")


def test_killed_writers_leave_what_was_put_there_or_nothing(path: Path) -> None:
    context, chance = multiprocessing.get_context("spawn"), random.Random(3)
    seen = 0
    for round in range(8):
        workers = [context.Process(target=_write_for_ever, args=(path, 2 * round + n), daemon=True) for n in range(2)]
        for worker in workers:
            worker.start()
        end, latest = time.monotonic() + 0.3 + chance.random() / 2, time.monotonic() + 6000
        while time.monotonic() < (end if seen else latest):  # a busy machine starts processes slowly
            rows = everything(path)
            assert rows.items() <= ROWS.items()
            seen = max(seen, len(rows))
        for worker in workers:
            os.kill(worker.pid or 0, signal.SIGKILL)
            worker.join()
        assert everything(path).items() <= ROWS.items()
    assert filled(path).many("values", ROWS, "1:a") == ROWS
    assert seen, "something was read while it was written"


def test_a_full_file_begins_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_model, "_PRAGMAS", (*read_model._PRAGMAS[:-1], "max_page_count=40"))
    model = ReadModel(path)
    for number in range(60):
        model.put("values", {str(number): bytes(9_000)})
    assert path.stat().st_size <= 40 * 4096
    model.put("values", {"last": b"1"})
    assert ReadModel(path).get("values", "last") == b"1"
