"""What is special about a store in git: its history, other writers of the ref, servers that refuse."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from perfcore_storage_git import GitStorage, GitStorageSettings, mirror

from perfcore.errors import ConflictError, StorageError

from . import servers
from .conftest import bare


def git(repository: Path, *words: str) -> str:
    done = subprocess.run(["git", f"--git-dir={repository}", *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def at(url: Path | str, place: Path, **settings: object) -> GitStorage:
    return GitStorage(place, GitStorageSettings(url=str(url), **settings))  # type: ignore[arg-type]


def refuse(origin: Path, hook: str, script: str) -> None:
    """A hook of the server that accepts a push if the script succeeds."""
    path = origin / "hooks" / hook
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_branches_are_left_alone(storage: GitStorage, origin: Path) -> None:
    storage.create("objects/ab/cd", b"1")
    assert git(origin, "for-each-ref", "--format=%(refname)") == "refs/perf/store"


def test_many_writes_are_one_commit(storage: GitStorage, origin: Path) -> None:
    storage.write_many([(f"objects/{number:02x}/key", b"%d" % number, None) for number in range(200)])
    assert git(origin, "rev-list", "--count", "refs/perf/store") == "1"
    assert len(list(storage.list("objects/"))) == 200


def test_the_history_begins_anew_without_what_was_deleted(
    storage: GitStorage, origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "_LONG", 5)
    other = at(origin, tmp_path / "other")
    secret = storage.create("secret", b"which was removed")
    storage.delete("secret", secret)
    blob = "which was removed"
    for number in range(10):
        (storage, other)[number % 2].create(f"key{number}", b"%d" % number)
    assert int(git(origin, "rev-list", "--count", "refs/perf/store")) <= 5
    assert blob not in git(origin, "log", "-p", "refs/perf/store")
    assert [row.key for row in storage.list("key")] == [f"key{number}" for number in range(10)]
    assert storage.read("key3").data == b"3"


def test_a_server_that_allows_no_new_beginning_keeps_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "_LONG", 3)
    origin = bare(tmp_path / "origin.git")
    refuse(origin, "update", "test $2 = %s || git merge-base --is-ancestor $2 $3" % ("0" * 40))
    storage = at(origin, tmp_path / "place")
    for number in range(8):
        storage.create(f"key{number}", b"")
    assert git(origin, "rev-list", "--count", "refs/perf/store") == "8"
    assert len(list(at(origin, tmp_path / "other").list(""))) == 8


def test_a_read_that_may_be_held_does_not_look_again(origin: Path, tmp_path: Path) -> None:
    held, other = at(origin, tmp_path / "held", hold=1000.0), at(origin, tmp_path / "other")
    tag = other.create("key", b"1")
    assert [row.key for row in held.list("")] == ["key"]
    other.replace("key", b"2", tag)
    assert held.read("key").data == b"1"
    with pytest.raises(ConflictError):
        held.replace("key", b"3", tag)
    assert [row.key for row in held.list("")] == ["key"]
    assert held.read("key").data == b"2"


def test_what_others_put_under_the_ref_is_no_key(storage: GitStorage, origin: Path, tmp_path: Path) -> None:
    """A link to a file of the machine, a file without times, a name that is no key."""
    storage.create("key", b"1")
    work = tmp_path / "work"
    work.mkdir()
    run = ["git", f"--git-dir={origin}", f"--work-tree={work}"]
    subprocess.run([*run, "read-tree", "refs/perf/store"], check=True)
    (work / "link=1.1").symlink_to("/etc/passwd")
    (work / "plain").write_text("x")
    (work / "sp ace=1.1").write_text("x")
    (work / "key=1.1").write_text("older")
    subprocess.run([*run, "add", "link=1.1", "plain", "sp ace=1.1", "key=1.1"], check=True)
    tree = git(origin, "write-tree")
    identity = {f"GIT_{role}_{part}": "x@y" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    made = subprocess.run(
        ["git", f"--git-dir={origin}", "commit-tree", "-m", "x", "-p", "refs/perf/store", tree],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **identity},
    )
    git(origin, "update-ref", "refs/perf/store", made.stdout.strip())
    assert {(row.key, storage.read(row.key).data) for row in storage.list("")} == {("key", b"1")}
    storage.delete("key", storage.read("key").tag)  # the older one does not come back in its place
    assert list(storage.list("")) == []


def test_a_refusal_of_the_server_is_told(storage: GitStorage, origin: Path) -> None:
    refuse(origin, "pre-receive", "echo 'profiles are not welcome here' >&2; false")
    with pytest.raises(StorageError, match="profiles are not welcome here"):
        storage.create("key", b"1")


def test_a_place_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as raised:
        list(at("http://me:secret@127.0.0.1:9/nothing.git", tmp_path / "place").list(""))
    assert "127.0.0.1:9/nothing.git" in str(raised.value)
    assert "secret" not in f"{raised.value} {raised.value.hint}"


def test_nothing_is_run_that_a_copied_repository_names(
    origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by the configuration that is given, nor by that of the current folder, nor by a URL."""
    canary = tmp_path / "canary"
    folder = tmp_path / "copied"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    for key in (
        "core.sshCommand",
        "credential.helper",
        "core.fsmonitor",
        "core.gitProxy",
        "uploadpack.packObjectsHook",
    ):
        command = f"touch {canary}"
        subprocess.run(["git", "-C", str(folder), "config", key, command], check=True)
    subprocess.run(["git", "-C", str(folder), "config", "protocol.ext.allow", "always"], check=True)
    monkeypatch.chdir(folder)
    config = str(folder / ".git" / "config")
    at(origin, tmp_path / "place", config=config).create("key", b"1")
    for url in (f"ext::touch {canary}", "ssh://127.0.0.1:9/nothing", "git://127.0.0.1:9/nothing"):
        with pytest.raises(StorageError):
            list(at(url, tmp_path / "places" / url[:3], config=config).list(""))
    assert not canary.exists()


def test_nothing_is_run_that_a_copied_cache_names(origin: Path, tmp_path: Path) -> None:
    """Whoever copies a store brings the copies of its remotes along, with a configuration of git each."""
    canary = tmp_path / "canary"
    command = f"touch {canary};"
    url = f"file://{origin}"
    place = bare(tmp_path / "place")
    for key in (f"remote.{url}.uploadpack", f"remote.{url}.receivepack", "core.alternateRefsCommand"):
        git(place, "config", key, command)
    for section in ("[core] sshCommand = x", "[include]\n\tpath = ../other", "[core]\n\tworktree = ..\\\n  /there"):
        with (place / "config").open("a") as config:
            config.write(f"{section}\n")
    storage = at(url, place)
    storage.create("key", b"1")
    assert storage.read("key").data == b"1"
    assert at(url, place).read("key").data == b"1"
    assert not canary.exists()
    assert not {"include", "remote", "sshCommand", "worktree"} & set(re.findall(r"\w+", (place / "config").read_text()))


@pytest.mark.parametrize("link", ["", "objects", "refs", "objects/pack", "commondir"])
def test_a_copied_cache_leads_nowhere_else(origin: Path, tmp_path: Path, link: str) -> None:
    place, other = bare(tmp_path / "place"), bare(tmp_path / "other")
    if link == "commondir":
        (place / link).write_text(str(other))
    else:
        at(origin, tmp_path / "another").create("first", b"1")
        shutil.rmtree(place / link)
        (place / link).symlink_to(other / link)
    before = sorted(other.rglob("*"))
    at(origin, place).create("key", b"1")
    assert at(origin, place).read("key").data == b"1"
    assert sorted(other.rglob("*")) == before


def test_a_folder_that_only_the_vcs_knows_runs_nothing(origin: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for hook in ("pre-receive", "update", "reference-transaction", "post-receive", "post-update", "push-to-checkout"):
        refuse(origin, hook, f"touch {canary}; false")
    git(origin, "config", "core.hooksPath", str(origin / "hooks"))
    git(origin, "config", "core.alternateRefsCommand", f"touch {canary};")
    bare(tmp_path / "alternate")
    (origin / "objects/info/alternates").write_text(f"{tmp_path}/alternate/objects\n")
    for url in (origin, f"file://{origin}", os.path.relpath(origin)):
        storage = at(url, tmp_path / "place", programs=False)
        storage.create(str(len(str(url))), b"1")
        assert not canary.exists()
    with pytest.raises(StorageError):
        at(origin, tmp_path / "other").create("another", b"1")
    assert canary.exists()


def test_no_file_is_written_that_a_copied_repository_names(tmp_path: Path) -> None:
    bare(tmp_path / "served" / "origin.git")
    jar, config = tmp_path / "jar", tmp_path / "config"
    token = base64.b64encode(b"ci:token").decode()
    with servers.http(tmp_path / "served", "ci", "token") as url:
        config.write_text(
            f"[http]\n\tcookieFile = {jar}\n\tsaveCookies = true\n\textraHeader = Authorization: Basic {token}\n"
            f'[http "{url}"]\n\tcookieFile = {jar}\n\tsaveCookies = true\n'
        )
        at(f"{url}/origin.git", tmp_path / "place", config=str(config)).create("key", b"1")
    assert not jar.exists()


def test_a_copied_repository_puts_no_folder_in_the_place_of_a_server(origin: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    for folder in (origin, f"file://{origin}"):
        config.write_text(f'[url "{folder}"]\n\tinsteadOf = http://127.0.0.1:9/x\n')
        with pytest.raises(StorageError, match="cannot reach"):
            at("http://127.0.0.1:9/x", tmp_path / "place", config=str(config)).create("key", b"1")


def test_a_protocol_that_git_does_not_know_is_named(tmp_path: Path) -> None:
    """The last line of git proposes a similar program."""
    with pytest.raises(StorageError, match="cannot reach s4://bucket/x: git: 'remote-s4' is not a git command"):
        at("s4://bucket/x", tmp_path / "place").read("key")


def test_a_copy_that_was_removed_is_fetched_again(storage: GitStorage, origin: Path) -> None:
    storage.create("key", b"1")
    shutil.rmtree(storage.place)
    again = at(origin, storage.place)
    assert again.read("key").data == b"1"


def test_a_damaged_copy_says_what_to_do(storage: GitStorage, origin: Path) -> None:
    storage.create("key", b"1" * 100)
    for path in (storage.place / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"")
    with pytest.raises(StorageError) as raised:
        at(origin, storage.place).read("key")
    assert str(storage.place) in f"{raised.value} {raised.value.hint}"


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with a repository, `copy`, and no room. Needs the right to mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "perfcore-test", str(disk)]
    mounted = shutil.which("mount") is not None and not subprocess.run(words, capture_output=True).returncode
    if not mounted:
        pytest.skip("only root on Linux can mount a file system")
    bare(disk / "copy")
    with (disk / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    yield disk / "copy"
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_told_of_on_the_side_where_it_is(origin: Path, full_disk: Path, tmp_path: Path) -> None:
    at(origin, tmp_path / "other").create("key", b"1" * 10_000)
    for act in (lambda: list(at(origin, full_disk).list("")), lambda: at(origin, full_disk).create("new", b"1")):
        with pytest.raises(StorageError, match=r"cannot write to .*copy, the copy of .*origin") as raised:
            act()
        assert "make room there" in str(raised.value.hint)
    with pytest.raises(StorageError, match=r"cannot write to .*disk/copy: ") as raised:
        at(full_disk, tmp_path / "third").create("key", b"1" * 10_000)
    assert "ls-remote" in str(raised.value.hint)
