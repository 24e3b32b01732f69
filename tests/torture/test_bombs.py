"""Files that want more memory than there is, or a stack without end, are refused within bounds.

Every command runs with an address space of 1 GiB: the largest object that is believed has 256 MiB.
"""

from __future__ import annotations

import hashlib
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from perfcore_testing.project import Done, Project

LIMIT = 1 << 30
SPARSE = 10 << 30
DEEP = 500_000
EMPTY_COLUMN = '{"name":"x","dtype":"i64","values":[]}'
ID = "ab" + "0" * 38

LIMITED = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({LIMIT}, {LIMIT}))
from perfcore.cli import main
sys.exit(main(sys.argv[1:]))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS holds on Linux only")


def limited(project: Project, *words: str) -> Done:
    """A command that had enough memory and did not fail in a way it should not."""
    done = project.run(sys.executable, "-c", LIMITED, *words)
    assert done.code in (0, *range(2, 64)), done
    assert "Traceback" not in done.err, done
    assert "MemoryError" not in done.err, done
    return done


def sealed(payload: bytes) -> bytes:
    return payload + hashlib.sha1(payload).digest()


def repeated(header: bytes, size: int) -> bytes:
    """A zlib stream of `header` and `size` zeros."""
    packer = zlib.compressobj(9)
    parts = [packer.compress(header)]
    parts += [packer.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join((*parts, packer.flush()))


def profile_of(value: str) -> bytes:
    header = '"header":{"type":"time"},"created":0,"collector_info":{"name":"time"}'
    return f'{{"format":1,{header},{value}}}'.encode()


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(SPARSE)


def write(data: bytes) -> Callable[[Path], None]:
    def written(path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)

    return written


PENDING: dict[str, Callable[[Path], None]] = {
    "10 GB of nothing": sparse,
    "deep lists": write(profile_of('"machine":{"x":' + "[" * DEEP + "]" * DEEP + "}")),
    "deep objects": write(b'{"format":' * DEEP),
    "rows without values": write(profile_of(f'"tables":{{"t":{{"rows":{9 * 10**18},"columns":[{EMPTY_COLUMN}]}}}}')),
    "rows of pieces": write(profile_of(f'"tables":{{"resources":{{"rows":9000000000000000000,"pieces":["{ID}"]}}}}')),
    "a number of many digits": write(profile_of('"created":' + "9" * DEEP)),
}


def test_pending_bombs_are_named_and_disturb_nothing(project: Project) -> None:
    for number, write_to in enumerate(PENDING.values()):
        write_to(project.path / f".perf/jobs/bomb-{number}.perf")
    assert len(limited(project, "status", "--json").json["pending"]) == len(PENDING)
    added = limited(project, "add", "--all")
    checked = limited(project, "fsck")
    assert added.code != 0, added
    assert checked.code != 0, checked
    for number, name in enumerate(PENDING):
        assert f"bomb-{number}.perf" in added.err, (name, added)
        assert f"jobs/bomb-{number}.perf" in checked.out, (name, checked)
    assert limited(project, "log", "--count-only").lines == ["1 version, 0 measured, 0 profiles"]


@pytest.mark.parametrize("name", ["10 GB of nothing", "deep lists", "rows without values"])
def test_a_bomb_as_a_file_is_refused(project: Project, name: str) -> None:
    PENDING[name](project.path / "bomb.perf")
    done = limited(project, "add", "./bomb.perf")
    assert done.code != 0, done
    assert "bomb.perf" in done.err, done


OBJECTS: dict[str, Callable[[Path], None]] = {
    "10 GB of nothing": sparse,
    "more than it says": write(repeated(b"profile time 10\0", 256 << 20)),
    "as much as it says": write(repeated(b"profile time 268435456\0", 256 << 20)),
    "a length that no stream has": write(zlib.compress(b"table x 268435456\0")),
    "a length beyond all": write(zlib.compress(b"table x 999999999999\0")),
    "a header without an end": write(repeated(b"profile ", 256 << 20)),
    "an index of many entries": write(sealed(struct.pack("<4sII", b"pidx", 3, 2**32 - 1) + bytes(100))),
    "an index of many tables": write(
        sealed(struct.pack("<4sIIII", b"pidx", 3, 1, 0, 0) + struct.pack("<Bq20sI", 0, 0, bytes(20), 2**32 - 1))
    ),
    "notes without number": write(sealed(struct.pack("<4sII", b"nidx", 1, 2**32 - 1))),
}


def test_bombs_among_the_objects_are_named_and_disturb_nothing(project: Project) -> None:
    folder = project.path / f".perf/objects/{ID[:2]}"
    folder.mkdir(parents=True)
    for number, write_to in enumerate(OBJECTS.values()):
        write_to(folder / f"{number:038}")
    assert limited(project, "status").code == 0
    assert limited(project, "tag").code == 4, "what is damaged may have been an index"
    assert limited(project, "gc", "--grace", "0s").code != 0
    done = limited(project, "fsck")
    assert done.code != 0, done
    for number, name in enumerate(OBJECTS):
        assert f"objects/{ID[:2]}/{number:038}" in done.out, (name, done)


@pytest.mark.parametrize("name", ["10 GB of nothing", "an index of many entries"])
def test_a_bomb_in_the_place_of_an_index_is_named(project: Project, name: str) -> None:
    head = project.git("rev-parse", "HEAD").out.strip()
    path = project.path / f".perf/objects/{head[:2]}/{head[2:]}"
    path.parent.mkdir(parents=True)
    OBJECTS[name](path)
    assert "left out" in limited(project, "status").err
    for words in (("show", "0@i"), ("fsck",)):
        done = limited(project, *words)
        assert done.code != 0, done
        assert head[2:] in done.err + done.out, done


BILLION = "a: &a [x, x]\n" + "".join(
    f"{c}: &{c} [*{p}, *{p}]\n" for p, c in zip("abcdefghijklmnopqrstuvw", "bcdefghijklmnopqrstuvwx", strict=True)
)


@pytest.mark.parametrize(
    "write_to",
    [sparse, write(BILLION.encode()), write(b"[" * 20_000), write(b"a: {" * 20_000)],
    ids=["10 GB of nothing", "aliases of aliases", "deep lists", "deep mappings"],
)
def test_a_bomb_as_a_configuration_is_refused(project: Project, write_to: Callable[[Path], None]) -> None:
    write_to(project.path / ".perfcore.yml")
    done = limited(project, "status")
    assert done.code != 0, done
    assert ".perfcore.yml" in done.err, done
