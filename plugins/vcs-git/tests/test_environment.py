"""Whatever the environment and the configuration say, the repository is the one around the files, git's answers are
read right, and nothing of the user's is run."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from perfcore_vcs_git import Git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from perfcore_vcs_git.contract import GitScript

    Python = Callable[..., subprocess.CompletedProcess[str]]

posix = pytest.mark.skipif(sys.platform == "win32", reason="hooks are shell scripts here")


def answers(driver: Git, ids: list[str]) -> list[object]:
    """What a driver says of a repository of these versions, with a change in it."""
    return [
        driver.is_dirty(),
        driver.get_minor_head(),
        driver.get_head_major_version(),
        list(driver.walk_major_versions()),
        list(driver.walk_minor_versions(ids[-1])),
        [driver.get_minor_version_info(id) for id in ids],
        driver.massage_parameter("main~1"),
        driver.read_file(ids[0], "žluť\n file"),
        driver.changed_files(ids[0], ids[-1]),
    ]


@pytest.fixture
def ids(script: GitScript) -> list[str]:
    ids = [script.version(f"Version {n} žluť", {"žluť\n file": b"%d" % n, f"file {n}": b"x"}) for n in range(3)]
    script.write({"file 0": b"changed"})
    return ids


@pytest.mark.parametrize(
    "variables",
    [
        {"GIT_DIR": "{other}/.git"},
        {"GIT_DIR": "{other}/.git", "GIT_WORK_TREE": "{other}"},
        {"GIT_DIR": "", "GIT_WORK_TREE": "", "GIT_INDEX_FILE": ""},
        {"GIT_WORK_TREE": "/not/there"},
        {"GIT_INDEX_FILE": "/not/there/index", "GIT_PREFIX": "sub/"},
        {"GIT_OBJECT_DIRECTORY": "/not/there", "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nor/there"},
        {"GIT_COMMON_DIR": "/not/there", "GIT_NAMESPACE": "other"},
        {"GIT_LITERAL_PATHSPECS": "0", "GIT_ICASE_PATHSPECS": "1"},
        {"GIT_EXTERNAL_DIFF": "false", "GIT_DIFF_OPTS": "-u0"},
        {"GIT_PAGER": "false", "PAGER": "false", "GIT_EDITOR": "false"},
        {"GIT_TRACE": "1", "GIT_TRACE_PACK_ACCESS": "2", "GIT_TRACE_SETUP": "1", "GIT_TRACE2_EVENT": "1"},
        {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "LANG": "de_DE.UTF-8"},
        {"GIT_CONFIG": "/not/there", "GIT_FLUSH": "1", "GIT_OPTIONAL_LOCKS": "1"},
        {"GIT_CEILING_DIRECTORIES": "{root}", "GIT_DISCOVERY_ACROSS_FILESYSTEM": "0"},
        {"GIT_SHALLOW_FILE": "/not/there", "GIT_GRAFT_FILE": "/not/there", "GIT_ATTR_SOURCE": "nope"},
    ],
    ids=lambda variables: "+".join(variables)[:60],
)
def test_variables_that_mean_another_repository_mean_nothing(
    script: GitScript,
    ids: list[str],
    repository: Callable[..., GitScript],
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
) -> None:
    wanted = answers(Git(script.root), ids)
    other = repository("other")
    other.grow(1)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(other=other.root, root=script.root))
    before = dict(os.environ)
    assert answers(Git(script.root), ids) == wanted
    assert dict(os.environ) == before


def test_configuration_does_not_change_what_is_read(script: GitScript, ids: list[str]) -> None:
    wanted = answers(Git(script.root), ids)
    for setting in (
        "color.ui=always",
        "core.quotePath=true",
        "core.pager=false",
        "log.showSignature=true",
        "log.decorate=full",
        "log.date=relative",
        "log.abbrevCommit=true",
        "log.follow=true",
        "log.mailmap=true",
        "log.diffMerges=first-parent",
        "i18n.logOutputEncoding=UTF-16",
        "i18n.commitEncoding=ISO-8859-1",
        "format.pretty=oneline",
        "diff.renames=copies",
        "diff.external=false",
        "diff.orderFile=/dev/null",
        "diff.relative=true",
        "diff.noprefix=true",
        "diff.ignoreSubmodules=all",
        "status.renames=copies",
        "status.showUntrackedFiles=all",
        "status.relativePaths=true",
        "status.branch=true",
        "status.showStash=true",
        "core.abbrev=4",
        "core.warnAmbiguousRefs=true",
        "commit.gpgSign=true",
        "tag.gpgSign=true",
        "core.fsmonitor=false-command-that-is-not-there",
        "core.untrackedCache=true",
        "feature.manyFiles=true",
        "pager.log=true",
        "alias.log=status",
        "submodule.recurse=true",
        "core.commentChar=x",
        "grep.lineNumber=true",
    ):
        name, value = setting.split("=", 1)
        script.git("config", name, value)
    (script.root / ".mailmap").write_text("Somebody Else <else@example.org> <tester@example.org>\n")
    assert answers(Git(script.root), ids) == wanted


def test_an_attribute_of_the_users_does_not_change_what_is_read(script: GitScript, ids: list[str]) -> None:
    wanted = answers(Git(script.root), ids)
    script.git("config", "diff.odd.textconv", "false")
    script.git("config", "filter.odd.smudge", "false")
    (script.root / ".git/info").mkdir(exist_ok=True)
    (script.root / ".git/info/attributes").write_text("* diff=odd\n")
    assert answers(Git(script.root), ids) == wanted


@posix
def test_no_hook_of_the_users_runs(script: GitScript, ids: list[str], tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "post-merge", "pre-auto-gc", "monitor"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {shlex.quote(str(tmp_path / 'ran'))}\n")
        (hooks / name).chmod(0o755)
    script.git("config", "core.hooksPath", str(hooks))
    script.git("config", "core.fsmonitor", str(hooks / "monitor"))
    driver = Git(script.root)
    answers(driver, ids)
    driver.export(ids[0], tmp_path / "exported")
    driver.worktree(ids[0], tmp_path / "linked")
    driver.remove_worktree(tmp_path / "linked")
    state = driver.save_state()
    driver.checkout(ids[0])
    driver.restore_state(state)
    assert not (tmp_path / "ran").exists()
    script.git("checkout", "-q", "--detach")
    assert "post-checkout" in (tmp_path / "ran").read_text(), "these hooks do run for the user"


IN_A_HOOK = """
root = Git.detect(Path.cwd())
driver = Git(root)
head = driver.get_minor_head()
told = [name for name in ("GIT_DIR", "GIT_WORK_TREE") if name in os.environ]
versions = [driver.get_minor_version_info(v.id).subject for v in driver.walk_minor_versions(head)]
print(root, versions, driver.massage_parameter("HEAD") == head, driver.read_file(head, "a"), told, file=sys.stderr)
driver.worktree(head, Path(sys.argv[1]))
print(sorted(p.name for p in Path(sys.argv[1]).iterdir()), Git(Path(sys.argv[1])).is_dirty(), file=sys.stderr)
driver.remove_worktree(Path(sys.argv[1]))
state = driver.save_state() if len(sys.argv) > 2 else None
if state:
    driver.checkout(versions and driver.massage_parameter("HEAD~1"))
    driver.restore_state(state)
"""


def hook(script: GitScript, name: str, code: str, *arguments: object) -> None:
    preamble = "import os, sys\nfrom pathlib import Path\nfrom perfcore_vcs_git import Git\n"
    words = [sys.executable, "-W", "error", "-c", preamble + code, *map(str, arguments)]
    path = script.root / (".git/hooks" if (script.root / ".git").is_dir() else "hooks") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
    path.chmod(0o755)


@posix
@pytest.mark.parametrize("how", ["plainly", "named by the user"])
def test_in_a_hook_after_a_commit(script: GitScript, tmp_path: Path, how: str) -> None:
    script.version("one", {"a": b"1", "folder/b": b"1"})
    hook(script, "post-commit", IN_A_HOOK, tmp_path / "tree", "in place")
    script.write({"a": b"2"})
    options = ["--git-dir=.git", "--work-tree=."] if how != "plainly" else []
    done = subprocess.run(
        ["git", *options, "commit", "-qam", "two"], cwd=script.root, capture_output=True, text=True, check=True
    )
    first, second = done.stderr.splitlines()
    told = [] if how == "plainly" else ["GIT_DIR", "GIT_WORK_TREE"]
    assert first == f"{script.root} ['two', 'one'] True b'2' {told}"
    assert second == "['.git', 'a', 'folder'] False"
    assert script.git("status", "--porcelain") == ""
    assert script.git("symbolic-ref", "HEAD") == "refs/heads/main"


@posix
def test_in_a_hook_of_a_linked_tree(script: GitScript, tmp_path: Path) -> None:
    script.version("one", {"a": b"1"})
    linked = tmp_path / "linked"
    script.git("worktree", "add", "-q", "-b", "side", str(linked))
    hook(script, "post-commit", IN_A_HOOK, tmp_path / "tree", "in place")
    (linked / "a").write_bytes(b"2")
    done = subprocess.run(["git", "commit", "-qam", "two"], cwd=linked, capture_output=True, text=True, check=True)
    assert done.stderr.startswith(f"{linked} ['two', 'one'] True b'2' ['GIT_DIR']"), "git sets it for this hook"


@posix
def test_before_a_push_is_accepted_what_was_pushed_can_be_measured(
    script: GitScript, repository: Callable[..., GitScript], tmp_path: Path
) -> None:
    bare = repository("server.git", "--bare")
    hook(
        bare,
        "pre-receive",
        """
driver = Git(Git.detect(Path.cwd()))
new = sys.stdin.read().split()[1]
print("pushed:", [v.subject for v in driver.walk_minor_versions(new)], driver.read_file(new, "a"))
driver.export(new, Path(sys.argv[1]))
""",
        tmp_path / "tree",
    )
    script.version("one", {"a": b"pushed"})
    done = subprocess.run(
        ["git", "push", str(bare.root), "main"], cwd=script.root, capture_output=True, text=True, check=True
    )
    assert "pushed: ['one'] b'pushed'" in done.stderr
    assert (tmp_path / "tree/a").read_bytes() == b"pushed"


def test_looking_does_not_write_to_git(script: GitScript, ids: list[str]) -> None:
    os.utime(script.root / "file 1", (1_000_000_000, 1_000_000_000))
    index = (script.root / ".git/index").read_bytes()
    assert Git(script.root).is_dirty()
    assert (script.root / ".git/index").read_bytes() == index
    script.git("status")
    assert (script.root / ".git/index").read_bytes() != index, "git itself notes it down"


def test_another_git_that_holds_the_index_is_no_hindrance_to_looking(script: GitScript, ids: list[str]) -> None:
    (script.root / ".git/index.lock").write_bytes(b"")
    answers(Git(script.root), ids)


def test_warnings_as_errors_find_nothing(script: GitScript, ids: list[str], python: Python, tmp_path: Path) -> None:
    done = python(
        """
import gc
driver = Git(Path(sys.argv[1]))
walk = driver.walk_minor_versions(sys.argv[2])
next(walk)
driver.massage_parameter("main")
try:
    driver.massage_parameter("nope")
except VersionError:
    pass
driver.read_file(sys.argv[2], "file 0")
driver.export(sys.argv[2], Path(sys.argv[3]))
state = driver.save_state()
driver.restore_state(state)
del walk, driver
gc.collect()
print("done")
""",
        script.root,
        ids[-1],
        tmp_path / "exported",
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_the_author_is_the_one_that_git_would_write(driver: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Žofie \x1b[31m")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "zofie@example.org")
    assert driver.author() == "Žofie \\x1b[31m <zofie@example.org>"


def test_an_author_whom_nobody_named_is_none(driver: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    subprocess.run(["git", "config", "user.useConfigOnly", "true"], cwd=driver.root, check=True)
    assert driver.author() == ""


def test_remotes_have_the_urls_that_git_pushes_to(driver: Git) -> None:
    for words in (
        ("remote", "add", "origin", "../elsewhere"),
        ("remote", "add", "hub", "https://example.org/x.git"),
        ("remote", "set-url", "--push", "hub", "hub:y.git"),
        ("config", "url.ssh://git@example.org/.insteadOf", "hub:"),
        ("config", "remote.half.fetch", "+refs/heads/*:refs/remotes/half/*"),
    ):
        subprocess.run(["git", *words], cwd=driver.root, check=True)
    found = driver.remotes()
    assert (found["origin"], found["hub"]) == ("../elsewhere", "ssh://git@example.org/y.git")
