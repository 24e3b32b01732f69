"""Kills pushes and pulls of two clones at random instants, and looks whether anything was lost or doubled.

    python sharing.py KILLS [folder|git|bucket] [SEED]

In a round each clone registers, tags and removes profiles, and both tag one that both have; then both push and pull at
once over one remote, and move their objects into packs with `gc`, each to be killed by SIGKILL at an instant of its own
within the time that the slowest of its kind has taken so far. Every few rounds nothing is killed, but garbage is
collected meanwhile. (Not both: whoever collects what is a moment old may take what a killed command had just begun to
refer to, which is what `gc.grace` is for.) After every round nothing is damaged on any side, and what a clone did
itself holds; in the end of some, both clones have the same, which is what was done on both. Over a bucket, each pull is
besides compared with one that lists all keys, and the environment names the bucket's server. Prints what was done, as
JSON.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
from perfcore_command_store.examination import examine
from perfcore_storage_local import LocalStorage
from world import World, warm

from perfcore.plugins import Plugins
from perfcore.store.store import Store

LEARNING = 3
JOINED_EVERY = 5
FEWEST = 3  # files that `gc` moves into a pack, so that every round has packs


@attrs.define
class Sharing:
    """`there` is what has to be registered on both sides in the end: the tags of every profile by its number."""

    clones: tuple[World, World]
    remote: str
    seed: int
    there: dict[int, set[str]] = attrs.field(factory=dict)
    contested: set[int] = attrs.field(factory=set)
    next: int = 0
    rounds: int = 0
    longest: dict[str, float] = attrs.field(factory=dict)
    kills: Counter[str] = attrs.field(factory=Counter)
    completed: Counter[str] = attrs.field(factory=Counter)
    random: random.Random = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def go(self, kills: int) -> None:
        self._changed(self.clones[0])
        _succeed(self.clones[0], "push", "shared")  # makes the store: without one a pull is an error
        for _ in range(LEARNING):
            self._round(killing=False)
        while self.kills.total() < kills:
            self._round(killing=self.rounds % JOINED_EVERY != 0)
        self._join()

    def _round(self, *, killing: bool) -> None:
        done = [self._changed(world) for world in self.clones]
        self._tag_by_both()
        self._transfers(killing=killing)
        for world, (added, removed) in zip(self.clones, done, strict=True):
            state = world.state()
            assert state.registered.keys() >= added, (added, state)
            assert not state.registered.keys() & removed, (removed, state)
            assert not world.wrongs(), world.wrongs()
        self._check_remote()
        self.rounds += 1
        if self.rounds % JOINED_EVERY == 0:
            self._join()

    def _changed(self, world: World) -> tuple[set[int], set[int]]:
        """What a clone registers and removes; no profile is removed or registered by both clones in one round."""
        own = self.clones.index(world)
        state = world.state().registered
        mine = [number for number in sorted(state) if number % 2 == own and number in self.there]
        added = set()
        for _ in range(self.random.randint(1, 3)):
            number = 2 * self.next + own
            self.next += 1
            _succeed(world, "add", world.add_pending(number))
            self.there[number] = set()
            added.add(number)
        removable = [number for number in mine if number not in self.contested]
        removed = set(self.random.sample(removable, 1)) if len(removable) > 4 else set()
        for number in removed:
            _succeed(world, "rm", self._id(world, number))
            del self.there[number]
        if kept := sorted(set(mine) - removed):
            number, tag = self.random.choice(kept), f"t{self.random.randrange(1_000_000)}"
            _succeed(world, "tag", tag, self._id(world, number))
            self.there[number].add(tag)
        return added, removed

    def _tag_by_both(self) -> None:
        """Each clone gives a tag of its own to a profile that both have: in the end it has both tags. Until then
        neither removes it: a profile that is tagged by one clone while the other removes it comes back."""
        common = self.there.keys() & self.clones[0].state().registered.keys() & self.clones[1].state().registered.keys()
        for number in self.random.sample(sorted(common), min(1, len(common))):
            self.contested.add(number)
            for own, world in enumerate(self.clones):
                tag = f"c{own}-{self.random.randrange(1_000_000)}"
                _succeed(world, "tag", tag, self._id(world, number))
                self.there[number].add(tag)

    @property
    def _is_bucket(self) -> bool:
        return self.remote.startswith("s3://")

    def _id(self, world: World, number: int) -> str:
        entries = world.repository.entries(world.head)
        return next(e.profile for e in entries if e.cmd == "work" and e.args == str(number))

    def _transfers(self, *, killing: bool) -> None:
        commands: list[tuple[World, tuple[str, ...]]] = [
            (world, (verb, "shared")) for world in self.clones for verb in ("push", "pull")
        ]
        if self._is_bucket:
            commands.append((self.random.choice(self.clones), ("remote", "gc", "shared")))
        if killing:
            commands += [(world, ("gc",)) for world in self.clones]
        else:
            commands.append((self.random.choice(self.clones), ("gc", "--grace", "0s")))
        self.random.shuffle(commands)
        starts, running = [], []
        for world, words in commands:
            running.append(world.start(*words))
            starts.append(time.monotonic())
        ends = [
            start + self.random.uniform(0, self.longest.get(words[0], 1.0)) if killing else float("inf")
            for start, (_, words) in zip(starts, commands, strict=True)
        ]
        waiting = set(range(len(commands)))
        while waiting:
            for i in sorted(waiting):
                kind, now = commands[i][1][0], time.monotonic()
                ended = running[i].poll()
                if ended is None and now >= ends[i]:
                    running[i].kill()
                    ended = running[i].wait()
                if ended is None:
                    continue
                waiting.discard(i)
                assert ended.code in (0, -9), ended
                (self.kills if ended.code else self.completed)[kind] += 1
                if not killing:
                    self.longest[kind] = max(self.longest.get(kind, 0.0), now - starts[i])
            time.sleep(0.0005)
        for world in self.clones:
            left = world.settle()
            assert not left, f"these processes go on: {left}"

    def _join(self) -> None:
        """Everything comes to its end: both clones have what was done on both."""
        first, second = self.clones
        for world, verb in ((first, "push"), (second, "pull"), (second, "push"), (first, "pull")):
            _succeed(world, verb, "shared")
        for world in self.clones:
            registered = {number: set(tags) for number, tags in world.state().registered.items()}
            assert registered == self.there, _differences(registered, self.there)
            self.contested.clear()
            for words in (("gc", "--grace", "0s"), ("fsck",)):
                _succeed(world, *words)
        for world, verb in ((first, "push"), (second, "pull")):
            assert "nothing to be" in _succeed(world, verb, "shared").err
        self._check_remote()

    def _check_remote(self) -> None:
        path = Path(self.remote)
        if self._is_bucket:
            for world in self.clones:
                _succeed(world, "pull", "shared")
                assert "nothing to be" in _succeed(world, "pull", "shared", "--full").err
        elif (path / "HEAD").exists():
            subprocess.run(["git", "fsck", "--strict"], cwd=path, check=True, capture_output=True)
        elif path.exists():
            _, driver = Plugins().make("storage", "local", {}, place=path)
            found = [finding for finding in examine(Store(driver)) if finding.level == "error"]
            assert not found, found


def _succeed(world: World, *words: str) -> Any:
    done = world.run(*words)
    assert done.code == 0, done
    return done


def _packs(perf: Path) -> int:
    return len(list((perf / "packs" / "objects").glob("*.pack")))


def _differences(found: dict[int, set[str]], wanted: dict[int, set[str]]) -> dict[int, Any]:
    every = {*found, *wanted}
    return {n: (found.get(n), wanted.get(n)) for n in sorted(every) if found.get(n) != wanted.get(n)}


def _clones(base: Path) -> tuple[World, World]:
    first = World.make(base / "first")
    second = World(base / "second")
    second.home.mkdir(parents=True)
    shutil.copytree(first.path / ".git", second.path / ".git")
    second.git("reset", "--quiet", "--hard")
    _succeed(second, "init")
    return first, second


def main() -> None:
    kills, kind = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "folder"
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    warm()
    assert LocalStorage.pack.__kwdefaults__
    LocalStorage.pack.__kwdefaults__["least"] = FEWEST  # of the children, too, which are forked
    with tempfile.TemporaryDirectory() as folder:
        remote = str(Path(folder, "remote"))
        (Path(folder) / "first").mkdir()
        if kind == "git":
            subprocess.run(["git", "init", "--quiet", "--bare", remote], check=True)
        elif kind == "bucket":
            remote = f"s3://store/{uuid.uuid4().hex}"
        sharing = Sharing(_clones(Path(folder)), remote, seed)
        for world in sharing.clones:
            _succeed(world, "remote", "add", "shared", remote)
        sharing.go(kills)
        print(
            json.dumps(
                {
                    "kills": dict(sharing.kills),
                    "completed": dict(sharing.completed),
                    "rounds": sharing.rounds,
                    "registered": len(sharing.there),
                    "packs": [_packs(world.perf) for world in sharing.clones],
                }
            )
        )


if __name__ == "__main__":
    main()
