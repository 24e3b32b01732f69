"""A version control system of twelve methods keeps every law of its kind, and every command works with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from perfcore_testing.distributions import Site
from perfcore_testing.project import Project
from perfcore_testing.vcs import VcsContract, content
from perfcore_vcs_git.contract import GitScript, forget_configuration
from perfcore_vcs_kit.completed import completed
from perfcore_vcs_kit.private_copy import PrivateCopy

from perfcore import hookspecs
from perfcore.errors import VersionError

sys.path.insert(0, HERE := str(Path(__file__).parent))  # so that processes of the contract import it by this name, too

if TYPE_CHECKING:
    from .twelve_methods import PAUSE, TwelveMethods
else:
    from twelve_methods import PAUSE, TwelveMethods

DRIVER: Any = TwelveMethods  # Vcs names the optional methods too, which it does not have
COST = "import time; time.sleep(float(open('cost').read()))"


class TestContract(VcsContract):
    private = (".git",)
    has_worktree = has_trigger = False

    @pytest.fixture(autouse=True)
    def surroundings(self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
        forget_configuration(monkeypatch, tmp_path_factory.mktemp("home"))
        monkeypatch.setenv("PYTHONPATH", HERE)

    @pytest.fixture
    def script(self, tmp_path: Path) -> GitScript:
        return GitScript(tmp_path / 'it\'s $HOME ~ "žluťoučký" 日本')

    @pytest.fixture
    def driver(self, script: GitScript) -> TwelveMethods:
        return TwelveMethods(script.root)


def test_the_required_methods_are_the_twelve_and_detect() -> None:
    methods = {name for name in vars(TwelveMethods) if not name.startswith("_")}
    assert set(hookspecs.VCS.required) == methods
    assert len(methods) == 13


class TestPrivateCopy:
    @pytest.fixture(autouse=True)
    def surroundings(self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
        forget_configuration(monkeypatch, tmp_path_factory.mktemp("home"))

    @pytest.fixture
    def script(self, tmp_path: Path) -> GitScript:
        return GitScript(tmp_path / "project")

    def copy(self, script: GitScript, tmp_path: Path, notes: list[str] | None = None) -> PrivateCopy:
        notes = [] if notes is None else notes
        return PrivateCopy(script.root, DRIVER, tmp_path / "copies", notes.append)

    def test_a_version_that_came_later_is_checked_out(self, script: GitScript, tmp_path: Path) -> None:
        copy = self.copy(script, tmp_path)
        first = script.version("first", {"file": b"1"})
        assert content(copy.checked_out(first), (".git",)) == {"file": ("file", b"1", False)}
        second = script.version("second", {"file": b"2"})
        assert content(copy.checked_out(second), (".git",)) == {"file": ("file", b"2", False)}
        copy.close()

    def test_a_link_that_leads_out_becomes_a_copy(self, script: GitScript, tmp_path: Path) -> None:
        id = script.version("first", {"file": b"1"})
        shared = tmp_path / "shared objects"
        (script.root / ".git/objects").rename(shared)
        (script.root / ".git/objects").symlink_to(shared)
        (script.root / ".git/loop").symlink_to("..", target_is_directory=True)
        copy = self.copy(script, tmp_path)
        tree = copy.checked_out(id)
        assert (tree / "file").read_bytes() == b"1"
        assert not (tree / ".git/objects").is_symlink()
        copy.close()

    def test_pipes_and_sockets_are_left_out(self, script: GitScript, tmp_path: Path) -> None:
        id = script.version("first", {"file": b"1"})
        os.mkfifo(script.root / ".git/pipe")
        copy = self.copy(script, tmp_path)
        assert not (copy.checked_out(id) / ".git/pipe").exists()
        copy.close()

    def test_a_linked_tree_is_refused_with_the_remedy(self, script: GitScript, tmp_path: Path) -> None:
        id = script.version("first", {"file": b"1"})
        script.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
        copy = PrivateCopy(tmp_path / "linked", DRIVER, tmp_path / "copies", print)
        with pytest.raises(VersionError, match="points to a repository elsewhere") as caught:
            copy.checked_out(id)
        assert "export" in str(caught.value.hint)
        copy.close()

    def test_untracked_files_are_in_no_tree(self, script: GitScript, tmp_path: Path) -> None:
        id = script.version("first", {"file": b"1"})
        script.write({"untracked": b"x", "file": b"changed"})
        complete = completed(DRIVER(script.root), script.root, DRIVER, tmp_path / "copies")
        (tmp_path / "tree").mkdir()
        complete.export(id, tmp_path / "tree")
        assert content(tmp_path / "tree") == {"file": ("file", b"1", False)}

    def test_a_large_repository_is_announced(self, script: GitScript, tmp_path: Path) -> None:
        id = script.version("first", {"file": b"1"})
        many = script.root / ".git/many"
        many.mkdir()
        for number in range(10_001):
            (many / str(number)).touch()
        notes: list[str] = []
        copy = self.copy(script, tmp_path, notes)
        copy.checked_out(id)
        copy.close()
        assert len(notes) == 1
        assert "takes a while" in notes[0]


@pytest.fixture
def twelve(empty_project: Project, site: Site) -> Project:
    """A project of three versions, the last of which is slower, with changes that are not committed."""
    site.install(
        "acme-twelve",
        points={"perfcore.vcs": ["twelve = twelve_methods:TwelveMethods"]},
        twelve_methods=Path(HERE, "twelve_methods.py").read_text(encoding="utf-8"),
    )
    project = empty_project
    project.env.update(site.env)
    project.always_processes = True
    project.git("init", "--quiet", "--initial-branch=main")
    for subject, cost in (("First", "0.01"), ("Second", "0.0101"), ("Slower", "0.06")):
        project.commit(subject, cost=cost)
    project.perf("init", "--vcs", "twelve")
    project.write("cost", "5")
    project.write("notes", "mine")
    return project


def state(project: Project) -> tuple[object, ...]:
    words = (("status", "--porcelain=v2", "--branch"), ("stash", "list"), ("for-each-ref",), ("ls-files", "--stage"))
    return (content(project.path, (".perf", ".git")), *(project.git(*each).out for each in words))


def copies(project: Project) -> list[Path]:
    return [path for path in project.home.rglob("vcs-???") if path.is_dir()]


def test_every_command_works_with_twelve_methods(twelve: Project) -> None:
    before = state(twelve)
    command = (sys.executable, "-c", COST)
    twelve.perf("collect", "time", "--all", "--add", "--repeat", "5", "--warmup", "0", "--", *command)
    log = [json.loads(line) for line in twelve.perf("log", "--json").lines]
    assert [line["version"] for line in log] == twelve.git("rev-list", "HEAD").lines
    assert "Slower" in twelve.perf("log").out
    checked = twelve.perf("check", "--json", code=None)
    assert checked.code in (0, 1), checked
    search = twelve.perf("bisect", "--metric", "wall", "--json", "HEAD~2", "HEAD", "--", *command, code=None)
    assert search.code in (0, 8), search  # 8: the machine was too noisy to decide
    assert state(twelve) == before
    assert copies(twelve) == []


def test_a_killed_command_leaves_tree_and_stash_as_they_were(twelve: Project, tmp_path: Path) -> None:
    before = state(twelve)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = ("collect", "time", "--all", "--add", "--repeat", "1", "--warmup", "0", "--", sys.executable, "-c", COST)
    process = subprocess.Popen(
        [sys.executable, "-m", "perfcore", *words], cwd=twelve.path, env={**twelve.env, PAUSE: str(pipe)}
    )
    try:
        assert pipe.read_text() == "checked out\n"  # waits for the checkout in the private copy
        assert len(copies(twelve)) == 1
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert state(twelve) == before
    twelve.perf(*words)
    assert state(twelve) == before
    assert copies(twelve) == []
