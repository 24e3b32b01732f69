"""Run by test_state.py: goes through a story in forked processes that kill themselves at one step after another,
and prints what another process finds after each.

    killed_everywhere.py ROOT FIRST STEP VERSION...

A step is something that changes files or starts a process. The first victim dies at the step FIRST, the next at
FIRST + STEP, and so on until one lives to the end. Every second time the one that restores is killed once, too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import git  # noqa: F401  (so that it is not imported anew in every process)
from perfcore_testing.vcs import content
from perfcore_vcs_git import Git

CHANGES = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "shutil.copyfile",
    "subprocess.Popen",
}


def snapshot(root: Path) -> dict[str, object]:
    """Everything that a user could notice."""
    found: dict[str, object] = {"files": content(root, (".git",))}
    for words in (
        ("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignored"),
        ("ls-files", "--stage", "-v", "-z"),
        ("ls-files", "--resolve-undo", "-z"),
        ("for-each-ref",),
    ):
        done = subprocess.run(["git", "--no-optional-locks", *words], cwd=root, capture_output=True, check=False)
        found[" ".join(words)] = done.stdout
    found["HEAD"] = (root / ".git/HEAD").read_bytes()
    # A journal that was never put in its place is not told of, and the next one replaces it.
    left = {path.name for path in (root / ".git").iterdir() if "perfcore" in path.name or path.suffix == ".lock"}
    found["in git"] = sorted(left - {"perfcore-state.new"})
    return found


def die_at(step: int) -> None:
    """Have this process killed at that step."""
    left = [step]

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if event in CHANGES or writes:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def story(root: Path, versions: list[str]) -> None:
    driver = Git(root)
    state = driver.save_state()
    for version in versions:
        driver.checkout(version)
    (root / "file").write_bytes(b"written by what was measured")
    driver.restore_state(state)


def restore(root: Path) -> None:
    driver = Git(root)
    state = driver.saved_state()
    if state is not None:
        driver.restore_state(state)


def in_a_fork(step: int | None, action: object, *arguments: object) -> bool:
    """Whether it came to its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if step is not None:
                die_at(step)
            action(*arguments)  # type: ignore[operator]
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "it failed"
    return not os.WIFSIGNALED(status)


def main() -> None:
    root, first, stride, versions = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    in_a_fork(None, story, root, versions)  # makes the lock files, which stay
    wanted, step, found = snapshot(root), first, 0
    while not in_a_fork(step, story, root, versions):
        found += Git(root).saved_state() is not None
        if step % 2:
            in_a_fork(step % 23, restore, root)
        in_a_fork(None, restore, root)
        now = snapshot(root)
        assert now == wanted, (step, {key: (wanted[key], now[key]) for key in wanted if wanted[key] != now[key]})
        step += stride
    print(step, found)


main()
