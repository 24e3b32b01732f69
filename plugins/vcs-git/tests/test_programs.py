"""What the configuration of a repository makes git run, it does not run for perfcore: a canary tells."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from perfcore_vcs_git import Git, GitSettings

from perfcore.errors import PerfError, VersionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from perfcore_vcs_git.contract import GitScript

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the canary is a shell script")

FILTERS = ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process")
OTHERS = (
    *("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.pager", "core.editor"),
    *("core.alternateRefsCommand", "credential.helper", "diff.external", "diff.evil.command", "diff.evil.textconv"),
    *("merge.evil.driver", "gpg.program", "gpg.ssh.program", "sequence.editor", "pager.log", "pager.status"),
    *("alias.log", "alias.status", "submodule.sub.update", "uploadpack.packObjectsHook", "trailer.x.command"),
)
HOOKS = ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman")


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that is there once the bait ran."""
    return tmp_path / "canary"


@pytest.fixture
def bait(tmp_path: Path, canary: Path) -> str:
    """A command that leaves the canary and does nothing else to what it reads."""
    path = tmp_path / "bait"
    path.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(canary))}\nexec cat\n")
    path.chmod(0o755)
    return str(path)


def look(driver: Git, ids: list[str]) -> None:
    """Ask all that verbs ask which only look."""
    driver.is_dirty()
    list(driver.walk_minor_versions(ids[-1]))
    list(driver.walk_major_versions())
    driver.get_minor_version_info(ids[0])
    driver.massage_parameter("HEAD~1")
    driver.read_file(ids[0], "a.txt")
    driver.changed_files(ids[0], ids[-1])
    driver.last_release(ids[-1])
    driver.author()


def touch_all(root: Path) -> None:
    """Make git look into files to know whether they changed."""
    for path in root.rglob("*.txt"):
        os.utime(path, (1_000_000_000, 1_000_000_000))


@pytest.fixture
def ids(script: GitScript) -> list[str]:
    attributes = {".gitattributes": b"*.txt filter=evil diff=evil merge=evil\n"}
    return [script.version(f"Version {n}", {**attributes, "a.txt": b"%d\n" % n}) for n in range(3)]


def measure(driver: Git, ids: list[str], folder: Path) -> None:
    driver.export(ids[0], folder / "exported")
    driver.worktree(ids[0], folder / "linked")
    driver.remove_worktree(folder / "linked")
    state = driver.save_state()
    driver.checkout(ids[0])
    driver.restore_state(state)


@pytest.mark.parametrize("key", OTHERS)
def test_no_program_of_the_configuration_runs(
    script: GitScript, ids: list[str], canary: Path, bait: str, key: str, tmp_path: Path
) -> None:
    script.git("config", key, f"!{bait}" if key.startswith("alias.") else bait)
    touch_all(script.root)
    look(Git(script.root), ids)
    measure(Git(script.root), ids, tmp_path)
    assert not canary.exists()


def test_no_hook_runs(script: GitScript, ids: list[str], canary: Path, bait: str, tmp_path: Path) -> None:
    for name in HOOKS:
        (script.root / ".git/hooks").mkdir(exist_ok=True)
        (script.root / ".git/hooks" / name).symlink_to(bait)
    look(Git(script.root), ids)
    measure(Git(script.root), ids, tmp_path)
    assert not canary.exists()


@pytest.mark.parametrize("key", FILTERS)
@pytest.mark.parametrize("included", [False, True])
def test_a_filter_of_the_repository_does_not_run(
    script: GitScript, ids: list[str], canary: Path, bait: str, key: str, included: bool, tmp_path: Path
) -> None:
    if included:
        script.git("config", "--file", str(script.root / "theirs"), key, bait)
        script.git("config", "include.path", "../theirs")
    else:
        script.git("config", key, bait)
    touch_all(script.root)
    driver = Git(script.root)
    look(driver, ids)
    for make in (driver.export, driver.worktree):
        with pytest.raises(VersionError, match="the filter evil is set in the repository's own") as caught:
            make(ids[0], tmp_path / make.__name__)
        assert "vcs.git.filters '[evil]'" in str(caught.value.hint)
    assert not canary.exists()


def test_a_filter_whose_name_cannot_be_switched_off_is_refused(
    script: GitScript, ids: list[str], canary: Path, bait: str
) -> None:
    script.git("config", "filter.a=b.clean", bait)
    script.write({".gitattributes": b"*.txt filter=a=b\n"})
    touch_all(script.root)
    with pytest.raises(VersionError, match="a filter of an odd name: a=b"):
        Git(script.root).is_dirty()
    assert not canary.exists()


def test_a_filter_that_the_user_allows_runs(
    script: GitScript, ids: list[str], canary: Path, bait: str, tmp_path: Path
) -> None:
    script.git("config", "filter.evil.smudge", bait)
    Git(script.root, GitSettings(filters=("evil",))).export(ids[0], tmp_path / "exported")
    assert canary.exists()


def test_a_filter_of_the_users_own_configuration_runs_as_the_user_wrote_it(
    script: GitScript, ids: list[str], canary: Path, bait: str, tmp_path: Path
) -> None:
    script.git("config", "--global", "filter.evil.smudge", "tr 0-9 a-j")
    script.git("config", "filter.evil.smudge", bait)
    Git(script.root).export(ids[0], tmp_path / "exported")
    assert (tmp_path / "exported/a.txt").read_bytes() == b"a\n"
    assert not canary.exists()


@pytest.mark.parametrize("key", FILTERS[::2])
def test_a_filter_of_a_submodule_does_not_run(
    script: GitScript, repository: Callable[..., GitScript], canary: Path, bait: str, key: str
) -> None:
    inner = repository("inner")
    inner.version("one", {".gitattributes": b"*.txt filter=evil\n", "a.txt": b"1"})
    script.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub")
    script.commit("with a submodule")
    script.git("-C", "sub", "config", key, bait)
    touch_all(script.root)
    Git(script.root).is_dirty()
    assert not canary.exists()


# --- partial clones


@pytest.fixture(params=["blob:none", "tree:0"])
def partial(script: GitScript, ids: list[str], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A clone that lacks what its history does not need."""
    script.git("config", "uploadpack.allowFilter", "true")
    root = tmp_path / "partial"
    source = f"file://{script.root}"
    script.git("clone", "--quiet", "--no-checkout", f"--filter={request.param}", source, str(root))
    return root


def hostile(root: Path, how: str, bait: str) -> None:
    """Have the clone run the bait when git fetches what it lacks."""
    settings = {
        "ext": [("remote.origin.url", f"ext::{bait}"), ("protocol.ext.allow", "always")],
        "ssh": [("remote.origin.url", "ssh://nowhere/x"), ("core.sshCommand", bait)],
        "uploadpack": [("remote.origin.uploadpack", bait)],
        "proxy": [("remote.origin.url", "git://localhost/x"), ("core.gitProxy", bait)],
    }
    for key, value in settings[how]:
        subprocess.run(["git", "-C", str(root), "config", key, value], check=True)


@pytest.mark.parametrize("how", ["ext", "ssh", "uploadpack", "proxy"])
@pytest.mark.parametrize("old_git", [False, True])
def test_a_partial_clone_runs_nothing_to_get_what_it_lacks(
    partial: Path,
    ids: list[str],
    canary: Path,
    bait: str,
    how: str,
    old_git: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if old_git:
        monkeypatch.setattr("perfcore_vcs_git.command._LOOKING", {"GIT_ALLOW_PROTOCOL": "none"})
    hostile(partial, how, bait)
    driver = Git(partial)
    list(driver.walk_minor_versions(ids[-1]))
    calls: list[Callable[[], object]] = [
        lambda: driver.read_file(ids[0], "a.txt"),
        lambda: driver.export(ids[0], tmp_path / "exported"),
        lambda: driver.worktree(ids[0], tmp_path / "linked"),
    ]
    for call in calls:
        with pytest.raises(PerfError, match="not available in this partial clone"):
            call()
    assert driver.get_minor_version_info(ids[0]).id == ids[0], "the next question is answered"
    assert not canary.exists()


def test_looking_at_a_partial_clone_fetches_nothing(partial: Path, ids: list[str]) -> None:
    driver = Git(partial)
    with pytest.raises(VersionError, match="not available in this partial clone") as caught:
        driver.read_file(ids[0], "a.txt")
    assert "git fetch --refetch --no-filter" in str(caught.value.hint)


def test_the_tree_of_a_version_is_fetched_for_a_partial_clone(partial: Path, ids: list[str], tmp_path: Path) -> None:
    Git(partial).export(ids[0], tmp_path / "exported")
    assert (tmp_path / "exported/a.txt").read_bytes() == b"0\n"
