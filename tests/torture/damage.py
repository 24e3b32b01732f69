"""Damages the files of a store, one bit or one missing end at a time, and looks who notices.

    python damage.py [STRIDE [NUMBER]]

The files are an object of each kind, indexes of versions 1 and 3, a list of notes, and pending profiles, as commands
wrote them; and the same store again in a pack, with its marks. After every damage `fsck` has to name the file, and
everything that reads (the functions that `status`, `log`, `show`, `add` and `export` call) gives either what was there
before or a PerfError. Bits of a zlib stream that carry nothing are let pass if every reader gives what was there
before. With a STRIDE only every so many-th damage is tried, of a pack, which is larger, a twentieth of these. Then the
commands themselves run on a NUMBER of damages of each file, chosen with a seed: one that ends with code 0 has to print
what it printed before. On damaged caches every command prints what it printed before; on files without a checksum,
which people may edit, none fails in a way it should not. Prints the numbers of damages, as JSON.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from perfcore_command_store.examination import Finding, examine
from perfcore_storage_local import LocalStorage
from perfcore_testing import old_index
from world import World, profile, warm

from perfcore.errors import PerfError
from perfcore.model import Entry, Profile
from perfcore.plugins import Plugins
from perfcore.repository import Repository
from perfcore.store import notes
from perfcore.store.index import Index
from perfcore.store.lookup import Ref, refs_of
from perfcore.store.pending import Pending
from perfcore.store.store import OBJECTS, object_key

COMMANDS = (
    ("status",),
    ("status", "--json"),
    ("log", "--json"),
    ("log", "--changes"),
    ("log", "--unreachable"),
    ("show", "0@i"),
    ("diff", "HEAD~1:0@i", "0@i"),
    ("show", "0@p"),
    ("export", "HEAD~1:0@i", "-o", os.devnull, "--force"),
    ("tag",),
    ("check", "all", "--no-store"),
    ("history", "wall"),
    ("gc", "--grace", "0s", "--dry-run"),
)
FAILURES = range(3, 64)
ENTRY = "- {command: work, metric: wall, limit: 0.1, why: meant, author: me, date: 2026-01-01}\n"
# Files that people may edit or that are of one command, below the top of the tree, and what reads each.
UNSEALED = {
    ".perf/bisect.json": b'{"format":1,"versions":["%s","%s"],"command":{"argv":["true"],"cmd":"true"}}'
    % (b"a" * 40, b"b" * 40),
    ".perf/redacted": b"{}",
    ".perf-accepted.yml": ENTRY.encode(),
    ".perfcore.yml": b"schedule: {repeat: 3}\ncheck: {thresholds: {wall: 0.1}}\n",
}
READERS = {
    ".perf/bisect.json": (("bisect",), ("status",)),
    ".perf/redacted": (("push", "--dry-run", "../shared"), ("status",)),
    ".perf-accepted.yml": (("check", "all", "--no-store"), ("check", "ack")),
    ".perfcore.yml": (("status",), ("config", "--help"), ("collect", "time", "--dry-run", "--", "true")),
    ".perf/local.yml": (("status",), ("log",)),
}
SUBJECT = "torture"


def prepare(world: World) -> dict[str, Path]:
    """The files to be damaged, by what they are. A second commit has the index of version 1."""
    world.add_pending(1)
    done = world.run("add", "0@p")
    assert done.code == 0, done
    repository = world.repository
    (entry,) = repository.entries(world.head)
    world.git("commit", "--quiet", "--allow-empty", "--message", "Second")
    old = Index(vcs="git", version=world.head, entries=(entry,))
    repository.store.storage.create(object_key(world.head), old_index.encode(old))
    notes.add(repository.store, SUBJECT, "result", b"{}")
    world.add_pending(2)
    repository.save(profile(3, world.head, rows=3, name="small"))
    files = {
        "index of version 1": world.perf / object_key(world.head),
        "index of version 3": world.perf / object_key(world.git("rev-parse", "HEAD~1").strip()),
        "profile": world.perf / object_key(entry.profile),
        "table": world.perf / object_key(entry.tables[0]),
        "list of notes": world.perf / notes.key(SUBJECT),
        "note": world.perf / object_key(_notes(world)[0]),
    }
    for waiting in repository.pending():
        assert waiting.profile is not None
        files["pending " + waiting.profile.header.cmd] = world.perf / waiting.key
    return files


def pack(world: World) -> dict[str, Path]:
    """Put everything into a pack, of which a key does not count any more."""
    storage = world.repository.store.storage
    assert isinstance(storage, LocalStorage)
    stale = object_key("ab" * 20)
    storage.create(stale, b"xstale")
    assert storage.pack(OBJECTS, least=1) > 5
    storage.delete(stale, storage.read(stale).tag)
    (path,) = (world.perf / "packs/objects").glob("*.pack")
    return {"pack": path, "marks of a pack": path.with_suffix(".gone")}


def read_everything(repository: Repository, versions: Sequence[str]) -> dict[str, Any]:
    """What each way of reading gives: values, or the error."""
    found: dict[str, Any] = {}
    for version in versions:
        found[f"log {version}"] = _tried(partial(repository.readable_entries, version))
        found[f"entries {version}"] = entries = _tried(partial(repository.entries, version))
        for ref in refs_of(version, entries if isinstance(entries, tuple) else ()):
            found[f"load {ref.name}"] = _tried(partial(_loaded, repository, ref))
    found["everywhere"] = _tried(repository.everywhere)
    for waiting in repository.pending():
        found[f"pending {waiting.name}"] = _tried(partial(_pending, waiting))
        found[f"file {waiting.name}"] = _tried(partial(_in_file, repository, waiting))
    return found


def _loaded(repository: Repository, ref: Ref) -> Any:
    return _values(repository.load(ref))


def _pending(waiting: Pending) -> Any:
    return _values(waiting.profile) if waiting.profile else _damaged(waiting.damage)


def _in_file(repository: Repository, waiting: Pending) -> Any:
    return _values(repository.read_file(repository.perf / waiting.key))


def damages(data: bytes) -> Iterator[tuple[str, bytes]]:
    for length in range(len(data)):
        yield f"cut to {length}", data[:length]
    for bit in range(8 * len(data)):
        yield f"bit {bit}", _flipped(data, bit)


def some_damages(name: str, data: bytes, number: int) -> list[bytes]:
    """So many of them, chosen by the name of the file; all of a file that has fewer."""
    every = [damaged for _, damaged in damages(data)]
    return random.Random(name).sample(every, min(number, len(every)))


def torture(world: World, path: Path, stride: int) -> dict[str, int]:
    """Every damage of a file."""
    repository, key = world.repository, path.relative_to(world.perf).as_posix()
    repository.plugins = Plugins(warn=lambda text: None)
    versions = [repository.version("HEAD"), repository.version("HEAD~1")]
    whole = read_everything(repository, versions)
    data = path.read_bytes()
    tried = silent = 0
    for number, (what, damaged) in enumerate(damages(data)):
        if number % stride:
            continue
        tried += 1
        path.write_bytes(damaged)
        if key.startswith("packs/"):  # one that is open stays what it was
            repository = world.repository
            repository.plugins = Plugins(warn=lambda text: None)
        found = read_everything(repository, versions)
        wrong = {name: value for name, value in found.items() if not _is_right(value, whole.get(name))}
        assert not wrong, (key, what, wrong)
        if not _is_named(key, examine(repository.store)):
            assert found == whole, (key, what, "fsck says nothing")
            assert _same_stream(damaged, data), (key, what, "fsck says nothing")
            silent += 1
    path.write_bytes(data)
    assert read_everything(world.repository, versions) == whole
    return {"tried": tried, "carry nothing": silent}


def command(world: World, path: Path, number: int) -> int:
    """The whole commands on a file that was cut, has a wrong bit, and is empty, and with a `number` of other damages.
    None fails in a way it should not, none ends well with another answer, `fsck` names the file, and when it is whole
    again so is everything."""
    key, data, before = path.relative_to(world.perf).as_posix(), path.read_bytes(), world.tree()
    whole = {words: world.run(*words).out for words in COMMANDS}
    ran = 0
    for damaged in (data[: len(data) // 2], _flipped(data, 4 * len(data)), b"", *some_damages(key, data, number)):
        path.write_bytes(damaged)
        if _same_stream(damaged, data):
            continue
        for words in COMMANDS:
            shutil.rmtree(world.perf / "cache", ignore_errors=True)  # which may hold what the file said
            done = world.run(*words)
            said = done.out == whole[words] or "damage" in done.out or "unreadable" in done.out
            assert done.code != 0 or said, (key, damaged, words, done, whole[words])
            assert done.code in (0, *FAILURES), (key, damaged, done)
            assert "Traceback" not in done.err + done.out, (key, damaged, done)
            assert done.code == 0 or done.err.startswith(("perf: ", "warning: ")), (key, damaged, done)
            ran += 1
        done = world.run("fsck")
        assert done.code in FAILURES, (key, damaged, done)
        assert key in done.out, (key, damaged, done)
        path.write_bytes(data)
        done = world.run("fsck")
        assert done.code == 0, (key, damaged, done)
    assert world.tree() == before
    return ran


def cache(world: World, number: int) -> int:
    """The commands with damaged caches, each of which is whole again afterwards or gone."""
    for words in COMMANDS:
        world.run(*words)
    whole = {words: (ended := world.run(*words)).out + ended.err for words in COMMANDS}
    paths = sorted(path for path in (world.perf / "cache").rglob("*") if path.is_file())
    kept = {path: path.read_bytes() for path in paths}
    draw, ran = random.Random(number), 0
    for round in range(number):
        for path, data in kept.items():
            what = (b"", data[: draw.randrange(len(data) + 1)], _flipped(data, draw.randrange(8 * len(data) or 1)))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(what[round % 3] if data else b"x")
        for words in COMMANDS:
            done = world.run(*words)
            assert done.out + done.err == whole[words], (round, words, done, whole[words])
            ran += 1
    return ran


def unsealed(world: World, number: int) -> int:
    """The commands on damaged files that have no checksum, and what reads each of them."""
    for name, content in UNSEALED.items():
        (world.path / name).parent.mkdir(parents=True, exist_ok=True)
        (world.path / name).write_bytes(content)
    ran = 0
    for name, commands in READERS.items():
        path = world.path / name
        data = path.read_bytes()
        for damaged in (b"", b"\xff\xfe\0", b"[" * 5000, *some_damages(name, data, number)):
            path.write_bytes(damaged)
            for words in commands:
                done = world.run(*words)
                assert done.code in (0, 2, *FAILURES), (name, damaged, done)
                assert "Traceback" not in done.err + done.out, (name, damaged, done)
                assert done.code == 0 or done.err, (name, damaged, done)
                ran += 1
        path.write_bytes(data)
    return ran


def _is_named(key: str, findings: Iterable[Finding]) -> bool:
    """Whether an error of `fsck` names the file. That of a pack is in the text."""
    return any(
        finding.level == "error" and key in (finding.key, finding.text.partition("/.perf/")[2].partition(" ")[0])
        for finding in findings
    )


def _notes(world: World) -> tuple[str, ...]:
    return notes.decode((world.perf / notes.key(SUBJECT)).read_bytes(), SUBJECT)


def _flipped(data: bytes, bit: int) -> bytes:
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


def _is_right(value: Any, whole: Any) -> bool:
    """What was there before, less of it, or an error."""
    if isinstance(value, (list, tuple)) and whole is not None and value != whole:
        return all(_is_part(part, whole) for part in value)
    return value == whole or isinstance(value, str)


def _is_part(part: Any, whole: Any) -> bool:
    """An entry that is as it was, or is said to be unreadable; or such an entry with its version."""
    entry = part if isinstance(part, Entry) else part[1]
    return part in whole or entry.type == "unreadable"


def _same_stream(damaged: bytes, data: bytes) -> bool:
    try:
        return zlib.decompress(damaged) == zlib.decompress(data)
    except zlib.error:
        return False


def _values(found: Profile) -> dict[str, Any]:
    """Everything that a profile says."""
    tables = {}
    for name in found.tables:
        read = found.tables[name]
        tables[name] = {column.spec: list(column) for column in read.columns}
    return {
        "header": found.header,
        "created": found.created,
        "collector": found.collector,
        "origin": found.origin,
        "dirty": found.dirty,
        "notes": found.notes,
        "machine": dict(found.machine),
        "ids": (found.config_id, found.environment_id, found.sources),
        "tables": tables,
    }


def _damaged(text: str) -> None:
    raise PerfError(text)


def _tried(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except PerfError as error:
        return f"{type(error).__name__}: {error}"


def main() -> None:
    stride = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    warm()
    with tempfile.TemporaryDirectory() as folder:
        world = World.make(Path(folder))
        files = prepare(world)
        swept = {name: torture(world, path, stride) for name, path in files.items()}
        ran = {name: command(world, path, number) for name, path in files.items()}
        packed = pack(world)
        swept["pack"] = torture(world, packed["pack"], stride if stride == 1 else 20 * stride)
        swept["marks of a pack"] = torture(world, packed["marks of a pack"], stride)
        ran |= {name: command(world, path, number) for name, path in packed.items()}
        ran |= {"caches": cache(world, 3 * number), "files without a checksum": unsealed(world, 2 * number)}
        print(json.dumps({"swept": swept, "commands": ran}))


if __name__ == "__main__":
    main()
