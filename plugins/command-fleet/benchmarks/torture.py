"""Two ingesters on one store, with shuffled and repeated files, beginnings of files before the files, packs, and kills
at random moments: afterwards every total is right.

    python torture.py [--rounds 200] [--seed 1]

Prints the rounds, the kills, and how many rounds were wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import attrs
import made_fleet
from perfcore_command_fleet import library, questions
from perfcore_command_fleet.files import candidates
from perfcore_fleet_kit.query import Query

from perfcore.errors import NotFoundError
from perfcore.repository.repository import Repository

_LIMIT = 60  # attempts of an ingester before it is let finish


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    kills = 0
    wrong = []
    for number in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            round_kills, problems = one_round(Path(folder), arguments.seed * 1_000_003 + number)
        kills += round_kills
        wrong += [number] if problems else []
        for problem in problems:
            print(f"round {number}: {problem}", flush=True)
    print(f"{arguments.rounds} rounds, {kills} kills, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


def one_round(folder: Path, seed: int) -> tuple[int, list[str]]:
    """(kills, what is wrong)"""
    numbers = random.Random(seed)
    totals = made_fleet.make(folder / "traces", samples=24, boxes=3, seed=seed)
    _repository(folder / "project")
    beginnings = list(_beginnings(folder / "beginnings", totals.files, numbers))
    kills = 0
    running: dict[int, tuple[str, int]] = {}
    attempts = dict.fromkeys(("example", "web.example"), 0)
    finished: set[str] = set()
    while len(finished) < len(attempts) or running:
        for shard in attempts.keys() - finished - {shard for shard, _ in running.values()}:
            attempts[shard] += 1
            running[_start(folder, totals.files, beginnings, shard, numbers.random())] = (shard, attempts[shard])
        pid = numbers.choice(sorted(running))
        shard, attempt = running[pid]
        if attempt <= min(_LIMIT, 1 + seed % 5):
            time.sleep(numbers.random() * 0.12)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        del running[pid]
        if os.WIFSIGNALED(status):
            kills += 1
        elif os.WEXITSTATUS(status) == 0:
            finished.add(shard)
        else:
            return kills, [f"the ingester {shard} failed"]
    return kills, list(_problems(folder, totals))


def _repository(path: Path) -> None:
    from perfcore.plugins.registry import Plugins

    path.mkdir()
    (path / "app.pl").write_text("1;\n")
    git = ["git", "-C", str(path), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Release"], ["tag", "R1"]):
        subprocess.run([*git, *words], check=True)
    Repository.init(path, plugins=Plugins())


def _beginnings(folder: Path, files: list[Path], numbers: random.Random) -> Iterator[Path]:
    """Files as they were before they were whole."""
    for path in numbers.sample(files, len(files) // 2):
        target = folder / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        target.write_bytes(data[: numbers.randrange(len(data) // 2, len(data))])
        os.utime(target, (path.stat().st_mtime,) * 2)
        yield target


def _start(folder: Path, files: list[Path], beginnings: list[Path], shard: str, seed: float) -> int:
    pid = os.fork()
    if pid == 0:
        _run(lambda: _ingest(folder, files, beginnings, shard, random.Random(seed)))
    return pid


def _run(work: Callable[[], None]) -> None:
    """In a child: it ends without what the parent does at its end."""
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def _ingest(folder: Path, files: list[Path], beginnings: list[Path], shard: str, numbers: random.Random) -> None:
    from perfcore.plugins.registry import Plugins

    repository = Repository.open(folder / "project", plugins=Plugins())
    ingester = library.ingester(repository, shard=shard)
    mixed = [*beginnings, *numbers.choices(files, k=len(files) // 2)]
    numbers.shuffle(mixed)
    last = numbers.sample(files, len(files))
    paths = [*mixed, *last]
    while paths:
        some = paths[: numbers.randint(1, 6)]
        del paths[: len(some)]
        files_of_turn = [attrs.evolve(file, host=file.path.parent.name) for file in candidates(some)]
        ingester.ingest(files_of_turn)
        if numbers.random() < 0.3:
            ingester.forget()
        if numbers.random() < 0.2:
            with contextlib.suppress(NotFoundError):  # nothing was readable so far
                library.pack(repository, "R1")


def _problems(folder: Path, totals: made_fleet.Totals) -> Iterator[str]:
    from perfcore.plugins.registry import Plugins

    repository = Repository.open(folder / "project", plugins=Plugins())
    _, _, counted = questions.counts(repository, "R1", Query())
    counts = counted.counts
    if counted.problems:
        yield str(counted.problems)
    if counts.total != totals.total:
        yield f"{counts.total} samples instead of {totals.total}"
    for name, amount in totals.exclusive.items():
        if counts.functions[name].exclusive != amount:
            yield f"{counts.functions[name].exclusive} samples in {name} instead of {amount}"
    labels = questions.labels(repository, "R1")
    if labels["action"] != dict(totals.by_action):
        yield f"{labels['action']} by action instead of {dict(totals.by_action)}"
    if labels["host"] != dict(totals.by_host):
        yield f"{labels['host']} by host instead of {dict(totals.by_host)}"
    from perfcore_command_store.examination import examine

    for finding in examine(repository.store):
        if finding.level == "error":
            yield f"{finding.key}: {finding.text}"


if __name__ == "__main__":
    main()
