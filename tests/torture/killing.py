"""Kills commands at random instants, four at a time, and looks after every round whether anything was lost.

    python killing.py KILLS [SEED]

A round starts four of `add`, `rm`, `tag`, `collect`, `run` and `gc` at once on one version, each to be killed by
SIGKILL at an instant of its own within the time that the slowest of its kind has taken so far; one that is faster
comes to its end. Every command is the whole of it in a forked child (see `world`); one in eight is a new interpreter.
Afterwards every profile is read, and compared with what each of the four may have done. Prints what was done, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
from world import Running, State, World, warm

WRITERS = 4
EVERY_REAL = 8
LEARNING = 4
FSCK_EVERY = 10
MEASURED = ("--repeat", "1", "--warmup", "0")
LONG = ("sh", "-c", "sleep 0.02; exec sleep 300")


@attrs.frozen(kw_only=True)
class Attempt:
    """A command and what it may have done: `effect` gives the state after it, `halfway` others that a killed one
    may leave. `number` is the profile that it is about; no two attempts of a round are about one."""

    kind: str
    words: tuple[str, ...]
    number: int | None = None
    tag: str = ""


class Killing:
    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.next = 0
        self.longest: dict[str, float] = {}
        self.kills: Counter[str] = Counter()
        self.completed: Counter[str] = Counter()
        self.late: dict[str, list[float]] = {}
        self.rounds = 0

    def learn(self) -> None:
        """How long each kind of command takes beside three others; the first round only warms up."""
        for _ in range(LEARNING):
            self._round(killing=False)
            if self.rounds == 0:
                self.longest.clear()
            self.rounds += 1
        self.rounds = 0

    def go(self, kills: int) -> None:
        while self.kills.total() < kills:
            self._round(killing=True)
            self.rounds += 1

    def _round(self, *, killing: bool) -> None:
        before = self._prepared()
        attempts = self._attempts(before)
        ended = self._killed(attempts) if killing else self._timed(attempts)
        left = self.world.settle()
        assert not left, f"these processes go on: {left}"
        after = self.world.state()
        for attempt, done in zip(attempts, ended, strict=True):
            _check(attempt, done, before, after)
        _check_others(attempts, before, after)
        wrong = self.world.wrongs()
        assert not wrong, (attempts, wrong)
        if self.rounds % FSCK_EVERY == 0:
            for words in (("fsck",), ("status",), ("log",)):
                done = self.world.run(*words)
                assert done.code == 0, done

    def _prepared(self) -> State:
        """Enough to add, remove and tag."""
        while len((state := self.world.state()).pending) < 3:
            self.world.add_pending(self.next)
            self.next += 1
        if len(state.registered) < 4:
            done = self.world.run("add", *self._names(state.pending[0]))
            assert done.code == 0, done
            return self._prepared()
        return state

    def _attempts(self, state: State) -> list[Attempt]:
        added = self.random.choice(state.pending)
        registered = self.random.sample(sorted(set(state.registered) - {added}), 2)
        entries = self.world.repository.entries(self.world.head)
        ids = {int(e.args): e.profile for e in entries if e.cmd == "work"}  # `N@i` moves when another takes one off
        tag = f"t{self.random.randrange(1_000_000)}"
        found = [
            Attempt(kind="add", words=("add", *self._names(added)), number=added),
            Attempt(kind="rm", words=("rm", ids[registered[0]]), number=registered[0]),
            Attempt(kind="tag", words=("tag", tag, ids[registered[1]]), number=registered[1], tag=tag),
            Attempt(kind="gc", words=("gc", "--grace", "0s")),
            Attempt(kind="collect", words=("collect", "time", *MEASURED, "--", "true")),
            Attempt(kind="run", words=("run", "job", "-v", "HEAD", "--add", "--command", "true", *MEASURED)),
        ]
        return self.random.sample(found, WRITERS)

    def _names(self, number: int) -> tuple[str, ...]:
        waiting = self.world.repository.pending()
        return (next(w.name for w in waiting if w.profile and w.profile.header.args == str(number)),)

    def _timed(self, attempts: list[Attempt]) -> list[Any]:
        started = time.monotonic()
        running = [self.world.start(*attempt.words) for attempt in attempts]
        return self._gathered(attempts, running, [started] * WRITERS, [float("inf")] * WRITERS)

    def _killed(self, attempts: list[Attempt]) -> list[Any]:
        running, starts, ends = [], [], []
        for attempt in attempts:
            real = self.random.randrange(EVERY_REAL) == 0
            running.append(self.world.start(*attempt.words, real=real))
            starts.append(time.monotonic())
            lasts = self.longest.get(attempt.kind, 0.1) + (0.5 if real else 0)
            ends.append(starts[-1] + self.random.uniform(0, lasts))
        return self._gathered(attempts, running, starts, ends)

    def _gathered(
        self, attempts: list[Attempt], running: list[Running], starts: list[float], ends: list[float]
    ) -> list[Any]:
        """The commands after they have ended or were killed, each at its instant."""
        done: dict[int, Any] = {}
        while len(done) < len(running):
            for i, command in enumerate(running):
                if i in done:
                    continue
                kind, now = attempts[i].kind, time.monotonic()
                ended = command.poll()
                if ended is None and now >= ends[i]:
                    command.kill()
                    ended = command.wait()
                if ended is None:
                    continue
                done[i] = ended
                if ended.code < 0:
                    self.kills[kind] += 1
                    self.late.setdefault(kind, []).append((now - starts[i]) / self.longest.get(kind, 0.1))
                else:
                    self.completed[kind] += 1
                    if ends[i] == float("inf"):
                        self.longest[kind] = max(self.longest.get(kind, 0.0), now - starts[i])
            time.sleep(0.0005)
        return [done[i] for i in range(len(running))]


def _check(attempt: Attempt, done: Any, before: State, after: State) -> None:
    """What became of one command's profile."""
    assert done.code in (0, -9), done
    ended, number = done.code == 0, attempt.number
    if number is None:
        return
    was, now = before.registered.get(number), after.registered.get(number)
    waits, waited = number in after.pending, number in before.pending
    what = (done, was, now, waits)
    if attempt.kind == "add":  # one that was killed at the end of it may have left the profile in both places
        assert now == (was or ()) or (now is None and was is None and not ended), what
        assert waits or now is not None, what
        assert not (waits and ended), what
        return
    assert waits == waited, what
    if attempt.kind == "rm":
        assert now is None or (now == was and not ended), what
    else:
        assert was is not None
        assert now == (*was, attempt.tag) or (now == was and not ended), what


def _check_others(attempts: list[Attempt], before: State, after: State) -> None:
    """Nothing else may have changed, and what was measured never becomes less."""
    touched = {attempt.number for attempt in attempts}
    for number in {*before.registered, *after.registered} - touched:
        assert before.registered.get(number) == after.registered.get(number), number
    assert set(before.pending) - touched == set(after.pending) - touched
    assert after.measured >= before.measured
    assert after.waiting >= before.waiting
    kinds = Counter(attempt.kind for attempt in attempts)
    assert after.measured - before.measured <= kinds["run"]
    assert after.waiting - before.waiting <= kinds["run"] + kinds["collect"]


def while_measuring(world: World) -> int:
    """Kill `collect` and `run` while what they measure would go on for minutes: it must end with them. Gives how
    many were killed."""
    before = world.state()
    for words in (
        ("collect", "time", *MEASURED, "--", *LONG),
        ("run", "job", *MEASURED, "-v", "HEAD", "-c", "sleep 300"),
    ):
        running = world.start(*words)
        _until(lambda: any("sleep 300" in text and text.startswith("sleep") for text in world.processes()))
        running.kill()
        running.wait()
        left = world.settle()
        assert not left, left
    assert world.state() == before
    return 2


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline, "it never came so far"
        time.sleep(0.005)


def main() -> None:
    kills, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    warm()
    with tempfile.TemporaryDirectory() as folder:
        world = World.make(Path(folder))
        tree = world.tree()
        killing = Killing(world, seed)
        killing.learn()
        killing.go(max(0, kills - 2))
        killing.kills["while measuring"] = while_measuring(world)
        for words in (("run", "job", "-v", "HEAD", "--command", "true", *MEASURED), ("gc", "--grace", "0s"), ("fsck",)):
            done = world.run(*words, real=True)
            assert done.code == 0, done
        assert world.tree() == tree
        trees = [p.name for p in (world.home / "cache").rglob("*-???") if p.is_dir()]
        assert not trees, f"left behind: {trees}"
        worktrees = world.git("worktree", "list").splitlines()
        assert len(worktrees) == 1, worktrees
        state = world.state()
        print(
            json.dumps(
                {
                    "kills": dict(killing.kills),
                    "completed": dict(killing.completed),
                    "rounds": killing.rounds,
                    "registered": len(state.registered) + state.measured,
                    "spread": {kind: _quarters(places) for kind, places in killing.late.items()},
                }
            )
        )


def _quarters(places: list[float]) -> list[int]:
    """How many kills fell into each quarter of the longest time."""
    counts = Counter(min(3, int(place * 4)) for place in places)
    return [counts[quarter] for quarter in range(4)]


if __name__ == "__main__":
    main()
