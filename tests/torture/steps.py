"""Lets commands die, or meet an error, at one file operation after another.

    python steps.py kill|error [--every-error] [VERB...]

A step is an operation on a file of `.perf` that changes something: opening it for writing, writing (half of it is
written first), syncing, linking, renaming, removing, changing its time, making a folder; for errors also reading and
listing. `kill`: the process ends at that step as by `kill -9`. `error`: the system refuses the step because of
permissions, a full disk, or a disk that fails: in turn, or every step for each of them. The store is the same before
every attempt. After each, everything is read, `fsck` has to find nothing, and the same command has to do its work
without repair. Prints the number of attempts for every verb, as JSON.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import attrs
from world import INTERNAL, Ended, State, World, profile, warm

from perfcore.cli.outcome import finished

CHANGES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.utime", "os.truncate", "os.symlink")
READS = ("os.listdir", "os.scandir")
ERRORS = (errno.EACCES, errno.ENOSPC, errno.EIO)
DEGRADATION = 1


@attrs.frozen(kw_only=True)
class Scene:
    """A command on the store of `prepared`. `done` is the state that it makes, `between` those that it may leave
    when it does not come to its end, besides the state before."""

    words: tuple[str, ...]
    done: State
    between: tuple[State, ...] = ()


def prepared(world: World) -> State:
    """1, 2 and 3 are registered, 2 with a tag; 4 and 5 wait; and there is garbage."""
    for number in range(1, 7):
        world.add_pending(number)
    for words in (("add", "0@p-3@p"), ("tag", "old", "1@i"), ("rm", "3@i"), ("rm", "1@p")):
        done = world.run(*words)
        assert done.code == 0, done
    world.add_pending(6)
    return world.state()


def scenes(world: World, state: State) -> dict[str, Scene]:
    """By verb. `save` is what `collect` and `run` do when they have measured."""
    one, two = state.pending
    added = {**state.registered, one: ()}
    return {
        "add": Scene(
            words=("add", "0@p"),
            done=attrs.evolve(state, registered=added, pending=(two,)),
            between=(attrs.evolve(state, registered=added),),
        ),
        "add --keep": Scene(words=("add", "--keep", "0@p"), done=attrs.evolve(state, registered=added)),
        "rm": Scene(
            words=("rm", "1@i"),
            done=attrs.evolve(state, registered={n: t for n, t in state.registered.items() if n != 2}),
        ),
        "rm pending": Scene(words=("rm", "1@p"), done=attrs.evolve(state, pending=(one,))),
        "tag": Scene(
            words=("tag", "new", "0@i"), done=attrs.evolve(state, registered={**state.registered, 1: ("new",)})
        ),
        "gc": Scene(words=("gc", "--grace", "0s"), done=state),
        "save": Scene(words=("save", "7"), done=attrs.evolve(state, pending=(*state.pending, 7))),
    }


class Steps:
    """Counts the steps of the process it is made in, and calls `act` at one of them."""

    def __init__(self, place: Path, at: int, act: Callable[[], None], *, reads: bool) -> None:
        self.place = str(place)
        self.left = at
        self.act = act
        self.reads = reads
        self._busy = False
        sys.addaudithook(self._heard)
        for name in ("write", "fsync"):
            setattr(os, name, self._counted(getattr(os, name)))

    def step(self) -> None:
        self.left -= 1
        if self.left == -1:
            self.act()

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._busy or not self._is_step(event, arguments):
            return
        self.step()

    def _is_step(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "open":
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            wanted = self.reads or flags & (os.O_WRONLY | os.O_RDWR)
        else:
            wanted = event in CHANGES or (self.reads and event in READS)
        return bool(wanted) and self._is_ours(arguments[0])

    def _is_ours(self, path: object) -> bool:
        if isinstance(path, int):
            return self._is_ours(os.readlink(f"/proc/self/fd/{path}"))
        return isinstance(path, (str, Path)) and os.path.abspath(path).startswith(self.place)

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(fd: int, *rest: Any) -> Any:
            if not self._is_ours(fd):
                return call(fd, *rest)
            if self.left == 0 and rest and not self.reads:  # killed in the middle of writing
                call(fd, bytes(rest[0])[: len(rest[0]) // 2])
            self.step()
            return call(fd, *rest)

        return counted


class Torture:
    def __init__(self, world: World, *, every_error: bool) -> None:
        self.world = world
        self.every_error = every_error
        self.before = prepared(world)
        self.tree = world.tree()
        world.keep()

    def go(self, scene: Scene, *, killing: bool) -> int:
        """Every step of a command; gives how many attempts there were."""
        rounds = range(len(ERRORS) if self.every_error else 1)
        return sum(self._sweep(scene, first, killing=killing) for first in rounds)

    def _sweep(self, scene: Scene, first: int, *, killing: bool) -> int:
        step = 0
        while self._attempt(scene, step, ERRORS[(first + step) % len(ERRORS)], killing=killing):
            step += 1
        return step

    def _attempt(self, scene: Scene, step: int, number: int, *, killing: bool) -> bool:
        """Whether there was such a step."""
        self.world.restore()
        mark = self.world.base / "reached"

        def die() -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        def refuse() -> None:
            mark.touch()
            raise OSError(number, os.strerror(number))

        def first() -> None:
            Steps(self.world.perf, step, die if killing else refuse, reads=not killing)

        done = self._run(scene, first)
        reached: bool = done.code == -signal.SIGKILL or mark.exists()
        mark.unlink(missing_ok=True)
        after = self.world.state()
        what = (scene.words, step, killing or errno.errorcode[number], done, after)
        assert reached or (done.code == 0 and after == scene.done), what
        if killing:
            assert after in (self.before, scene.done, *scene.between), what
        else:
            self._check_refusal(scene, done, after, what)
        assert not self.world.wrongs(), (what, self.world.wrongs())
        if reached:
            self._check_next(scene, after, what)
        return reached

    def _check_refusal(self, scene: Scene, done: Ended, after: State, what: object) -> None:
        """An error that says something, or the work is done all the same."""
        assert done.code in (0, *range(DEGRADATION + 1, INTERNAL)), what
        assert "Traceback" not in done.err, what
        if done.code:
            assert done.err.startswith("perf: ") or "\nperf: " in done.err, what
            assert after in (self.before, scene.done, *scene.between), what
        else:
            allowed = scene.between if "warning: " in done.err else ()
            assert after in (scene.done, *allowed), what

    def _check_next(self, scene: Scene, after: State, what: object) -> None:
        """The same command again, without repair. What it did already may be an error that says so."""
        again = self._run(scene, lambda: None) if after == self.before else self.world.run("add", "--all")
        assert again.code == 0, (what, again)
        now = self.world.state()
        if after == self.before:
            assert now == scene.done, (what, again, now)
        else:
            assert now == State(registered=_all_added(after), pending=()), (what, again, now)
        assert not self.world.wrongs(), (what, again)

    def _run(self, scene: Scene, first: Callable[[], object]) -> Ended:
        if scene.words[0] != "save":
            return self.world.run(*scene.words, first=first)

        def save() -> NoReturn:
            first()
            _save(self.world, int(scene.words[1]))

        return self.world.run("status", first=save)


def _save(world: World, number: int) -> NoReturn:
    """What follows a measurement, with the errors told as a command does; ends the process."""

    def save() -> int:
        repository = world.repository
        repository.save(profile(number, repository.version()))
        return 0

    code = finished(save)
    sys.stderr.flush()
    os._exit(code)


def _all_added(state: State) -> dict[int, tuple[str, ...]]:
    return {**dict.fromkeys(state.pending, ()), **state.registered}


def main() -> None:
    killing, verbs = sys.argv[1] == "kill", [word for word in sys.argv[2:] if not word.startswith("--")]
    warm()
    with tempfile.TemporaryDirectory() as folder:
        world = World.make(Path(folder))
        torture = Torture(world, every_error="--every-error" in sys.argv)
        chosen = scenes(world, torture.before)
        steps = {verb: torture.go(chosen[verb], killing=killing) for verb in verbs or chosen}
        world.restore()
        assert world.tree() == torture.tree
        assert not world.settle()
        print(json.dumps(steps))


if __name__ == "__main__":
    main()
