"""The format `perf`: complete files."""

from __future__ import annotations

import json
import math
import os
import stat
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from perfcore_command_exchange.contract import PerfContract
from perfcore_command_exchange.native import PerfFormat
from perfcore_testing.memory import MemoryStorage
from perfcore_testing.profiles import SAMPLES, timed
from perfcore_testing.strategies import profiles

from perfcore.errors import FormatError, PerfError, StorageError
from perfcore.hookspecs import KINDS
from perfcore.model import Header, Profile, Tool
from perfcore.model.record import replace
from perfcore.plugins.drivers import misfits
from perfcore.profile.table import column, table
from perfcore.store import pending
from perfcore.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = PerfFormat()


def sniffed(path: Path) -> bool:
    return FORMAT.sniff(path.read_bytes()[:4096], path.name)


def test_it_is_a_format_and_found_by_its_name() -> None:
    assert list(misfits(KINDS["format"], FORMAT)) == []
    (point,) = [p for p in entry_points(group="perfcore.format") if p.name == "perf"]
    assert point.load() is PerfFormat


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(profiles())
def test_what_is_written_reads_back(tmp_path: Path, profile: Profile) -> None:
    path = tmp_path / "x.perf"
    FORMAT.write(profile, path)
    assert FORMAT.read(path) == profile
    assert sniffed(path)


@pytest.mark.parametrize("sample", sorted(set(SAMPLES) - {"undecodable"}))
def test_samples_read_back(tmp_path: Path, sample: str) -> None:
    path = tmp_path / "naïve $(x)\n.perf"
    FORMAT.write(SAMPLES[sample](), path)
    assert FORMAT.read(path) == SAMPLES[sample]()
    assert sniffed(path)


def test_text_that_is_no_unicode_is_written_with_escapes(tmp_path: Path) -> None:
    FORMAT.write(SAMPLES["undecodable"](), tmp_path / "x.perf")
    assert FORMAT.read(tmp_path / "x.perf").tables["resources"]["file"][0] == "caf\\udce9.c"


def test_large_tables_stand_inline_too(tmp_path: Path) -> None:
    rows = 70_000
    values = [math.nan if i % 3 == 0 else i / 3 for i in range(rows)]
    made = Profile(
        header=Header(type="time"),
        created=1,
        collector=Tool(name="time"),
        tables={"resources": table("resources", [column("x", values), column("n", range(rows))])},
    )
    FORMAT.write(made, tmp_path / "x.perf")
    assert FORMAT.read(tmp_path / "x.perf") == made
    assert list(tmp_path.iterdir()) == [tmp_path / "x.perf"]


def test_a_pending_profile_is_read_while_its_tables_stand_inline(tmp_path: Path) -> None:
    store = Store(MemoryStorage())
    saved = pending.save(store, replace(timed(), origin="c0ffee"))
    (tmp_path / "x.perf").write_bytes(store.storage.read(saved.key).data)
    assert FORMAT.read(tmp_path / "x.perf") == replace(timed(), origin="c0ffee")


def test_a_file_that_depends_on_a_store_says_so(tmp_path: Path) -> None:
    store = Store(MemoryStorage())
    saved = pending.save(store, timed(runs=5000))
    (tmp_path / "x.perf").write_bytes(store.storage.read(saved.key).data)
    with pytest.raises(FormatError, match=r"x\.perf: .* in the store where it was made") as caught:
        FORMAT.read(tmp_path / "x.perf")
    assert "perf export" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[1, 2]",
        b"\x7fELF",
        b'{"origin": "x", "header": {}, "format": 1}',
        b'{"format": 1}',
        b'{"format": "json", "header": 1}',
        b"pidx\1\0\0\0",
        b'{"global": {"resources": []}, "header": {"type": "time"}}',
    ],
)
def test_other_files_are_not_taken_for_ours(tmp_path: Path, content: bytes) -> None:
    assert not FORMAT.sniff(content, "x.perf")
    (tmp_path / "x.perf").write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.perf"):
        FORMAT.read(tmp_path / "x.perf")


def test_a_newer_file_is_recognized_and_refused_politely(tmp_path: Path) -> None:
    path = tmp_path / "x.perf"
    path.write_text(json.dumps({"format": 7, "header": {"type": ["new"]}}))
    assert sniffed(path)
    with pytest.raises(FormatError, match="has format 7, made by a newer perfcore") as caught:
        FORMAT.read(path)
    assert caught.value.hint == "upgrade perfcore"


def test_damage_is_told_with_the_file_and_the_table(tmp_path: Path) -> None:
    path = tmp_path / "x.perf"
    FORMAT.write(timed(), path)
    data = path.read_text()
    path.write_text(data.replace('"rows":5', '"rows":6', 1))
    with pytest.raises(FormatError, match=r"x\.perf: table 'resources'"):
        FORMAT.read(path)
    for end in range(0, len(data), 50):
        path.write_text(data[:end])
        with pytest.raises(FormatError, match=r"x\.perf"):
            FORMAT.read(path)


def test_what_cannot_be_read_is_a_clear_error(tmp_path: Path) -> None:
    for path in (tmp_path / "not there", tmp_path):
        with pytest.raises(StorageError, match="cannot read"):
            FORMAT.read(path)


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.perf"
    path.write_text("old")
    with pytest.raises(FormatError):
        FORMAT.write(replace(timed(), machine={"x": object()}), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(StorageError, match="cannot write"):
        FORMAT.write(timed(), tmp_path / "no such folder" / "x.perf")
    with pytest.raises(PerfError):
        FORMAT.write(timed(), tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_a_clear_error() -> None:
    from pathlib import Path

    with pytest.raises(StorageError, match="No space left"):
        FORMAT.write(timed(), Path("/dev/full"))
    assert not Path("/dev/full").is_file()


def test_a_written_file_replaces_the_target_of_a_link_and_has_usual_rights(tmp_path: Path) -> None:
    target, link = tmp_path / "target.perf", tmp_path / "link.perf"
    target.write_text("old")
    plain = stat.S_IMODE(target.stat().st_mode)
    try:
        link.symlink_to(target)
    except OSError:
        pytest.skip("needs symbolic links")
    FORMAT.write(timed(), link)
    assert link.is_symlink()
    assert FORMAT.read(target) == timed()
    assert stat.S_IMODE(target.stat().st_mode) == plain


class TestPerf(PerfContract):
    """Every law of the kind format."""
