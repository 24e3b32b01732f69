"""The laws of remotes, over a bucket; and over a server whose listings lie, or before which pushes die."""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
from perfcore_storage_object import ObjectStorage, ObjectStorageSettings
from perfcore_storage_object.bucket import Bucket
from perfcore_storage_object.contract import BUCKET, server
from perfcore_testing.project import Project
from perfcore_testing.remotes import DAMAGED, LIES, Lie, RemoteContract, Started, register, registered, start

from .proxy import passing

# A copy of a process in which the library of the bucket has started its threads is none that it works in.
pytestmark = pytest.mark.process
_ROW = re.compile(rb"<Contents>.*?</Contents>", re.DOTALL)


@attrs.define
class BucketRemote:
    url: str
    env: Mapping[str, str]

    def storage(self, place: Path) -> ObjectStorage:
        return ObjectStorage(place, ObjectStorageSettings(url=self.url))

    def keep(self) -> dict[str, bytes]:
        bucket = Bucket(self.url)
        answers = ((name, bucket.get(name)) for name, _ in bucket.list(""))
        return {name: answer.data for name, answer in answers if answer is not None}

    def restore(self, kept: dict[str, bytes]) -> None:
        bucket = Bucket(self.url)
        for name, _ in bucket.list(""):
            bucket.remove(name)
        for name, body in kept.items():
            bucket.create(name, body)


class TestBucket(RemoteContract):
    # Each command is a process of its own here; what is said does not depend on where it stands.
    kills = 2
    rounds = 1
    lies: Mapping[str, Lie] = {
        name: LIES[name] for name in ("a flipped bit of each profile", "indexes of profiles that are nowhere")
    }

    @pytest.fixture
    def remote(self, monkeypatch: pytest.MonkeyPatch) -> BucketRemote:
        environment = server()
        if environment is None:
            pytest.skip("moto is not installed: pip install 'moto[server]', and PERFCORE_TEST_HARNESSES names its bin")
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return BucketRemote(f"s3://{BUCKET}/{uuid.uuid4().hex}", environment)

    @pytest.mark.parametrize("lie", ["_half", "_twice", "_none"])
    def test_lists_that_lie_change_nothing_wrongly(
        self, clones: tuple[Project, Project], remote: BucketRemote, lie: str
    ) -> None:
        """Lists that end early, and those that are empty, and keys that come twice."""
        first, second = clones
        truth = {register(first, 100 + number, version="HEAD" if number % 2 else "HEAD~1") for number in range(4)}
        first.perf("push")
        with passing(remote.env["AWS_ENDPOINT_URL"], change=globals()[lie]) as url:
            env = {"AWS_ENDPOINT_URL": url}
            # Who pushed has something to compare it with. Half of a list may lack objects alone, which it has.
            accepted = {0, DAMAGED} if lie == "_half" else {DAMAGED}
            assert first.perf("pull", "--full", env=env, code=None).code in accepted
            for clone, verb in ((second, "pull"), (second, "push"), (first, "push")):
                done = clone.perf(verb, code=None, env=env)
                assert "Traceback" not in done.err, done
                assert registered(clone) <= truth
        first.perf("push")
        second.perf("pull")
        assert registered(second) == truth
        second.perf("fsck")

    def test_one_more_version_is_transferred_without_a_list_of_all_keys(
        self, clones: tuple[Project, Project], remote: BucketRemote
    ) -> None:
        first, second = clones
        truth = {register(first, 100)}
        first.perf("push")
        second.perf("pull")
        asked: list[str] = []
        counts = []
        with passing(remote.env["AWS_ENDPOINT_URL"], note=lambda command, path: asked.append(path)) as url:
            env = {"AWS_ENDPOINT_URL": url}
            for number in range(2):
                truth.add(register(first, 200 + number, version="HEAD~1" if number else "HEAD"))
                asked.clear()
                first.perf("push", env=env)
                second.perf("pull", env=env)
                counts.append(len(asked))
                assert not [path for path in asked if "list-type" in path and "receipts" not in path]
                assert registered(second) == truth
            assert counts[1] <= counts[0]  # a new version takes no more than another profile of one
            for clone, verb in ((first, "push"), (second, "pull")):
                asked.clear()
                assert "nothing to be" in clone.perf(verb, "--full", env=env).err
                assert [path for path in asked if "list-type" in path]

    def test_a_push_that_is_killed_at_any_request_leaves_nothing_that_a_pull_does_not_see(
        self, clones: tuple[Project, Project], remote: BucketRemote
    ) -> None:
        """At each write of a push, which another clone follows by what it remembers and by a full list."""
        first, second = clones
        truth = {register(first, 100)}
        first.perf("push")
        second.perf("pull")
        for last in itertools.count(1):
            truth.add(register(first, 100 + last))
            if not self._is_killed_at(first, remote, last):
                break
            second.perf("pull")
            seen = registered(second)
            assert "nothing to be" in second.perf("pull", "--full").err
            assert registered(second) == seen <= truth
        assert last > 5  # an announcement, objects, an index, and the end
        second.perf("pull")
        assert registered(second) == truth
        second.perf("fsck")

    def _is_killed_at(self, clone: Project, remote: BucketRemote, last: int) -> bool:
        """Whether a push was killed when it had sent so many writes, of which the last one arrives. It ends well
        otherwise."""
        pushes: list[Started] = []
        writes: list[str] = []

        def note(command: str, path: str) -> None:
            if command == "PUT":
                writes.append(path)
            if len(writes) == last:
                pushes[0].process.kill()

        with passing(remote.env["AWS_ENDPOINT_URL"], note=note) as url:
            pushes.append(start(clone, "push", env={"AWS_ENDPOINT_URL": url}))
            code = pushes[0].process.wait()
        pushes[0].log.close()
        assert code in (0, -9)
        return code == -9


def _half(body: bytes) -> bytes:
    rows = _ROW.findall(body)
    for row in rows[len(rows) // 2 :]:
        body = body.replace(row, b"")
    return body


def _twice(body: bytes) -> bytes:
    return _ROW.sub(lambda row: row[0] * 2, body)


def _none(body: bytes) -> bytes:
    return _ROW.sub(b"", body)
