"""What a machine that is slower for a while does to comparisons: `python machine_speed.py FOLDER [--programs 12]
[--versions 15]`.

Collects unchanged programs of 15 to 30 ms in turn, a session for each of their versions, into repositories in the
folder, which takes some five minutes; the load beside it is yours to make. What is there already is compared only. Each
version is compared with the one before, as it was measured and with changes planted in its times; in brackets with what
the collector says of the machine's speed left out. Needs git and the collector `time`.
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace
from perfcore_check_kit import series, slow_sessions
from perfcore_check_kit.series import ConfigHistory
from perfcore_check_pair import PairCheck, PairSettings

from perfcore.library import open_repository
from perfcore.model import EMPTY, Pairing, Profile, Sample, Series
from perfcore.profile.table import column, table
from perfcore.repository.repository import Repository

SUM = "x = 0\nfor i in range({count}): x += i * i % 7"
SORT = (
    "import random\nr = random.Random(1)\nd = [r.random() for _ in range({count} // 4)]\nd.sort()\n"
    "e = {{x: str(x) for x in d[:5000]}}"
)
COUNTS = (60_000, 110_000, 160_000, 210_000)
RUNS = 10
PLANTED = (1.0, 1.3, 1.6, 2.0)


def collect(folder: Path, programs: int, versions: int) -> None:
    """A repository for each program, with a version after the other measured when its turn comes."""
    repositories = [folder / f"h{number}" for number in range(1, programs + 1)]
    for number, path in enumerate(repositories, 1):
        path.mkdir(parents=True)
        text = (SORT if number % 2 else SUM).format(count=COUNTS[number % len(COUNTS)])
        (path / "program.py").write_text(text)
        for words in (("git", "init", "--quiet"), ("git", "add", "."), _commit("begin"), _perf("init")):
            subprocess.run(words, cwd=path, check=True, stdout=subprocess.DEVNULL)
    for version in range(versions):
        for path in repositories:
            if version:
                subprocess.run(_commit(f"version {version}"), cwd=path, check=True)
            words = _perf("collect", "time", "--add", "--repeat", str(RUNS), "--", sys.executable, "-S", "program.py")
            subprocess.run(words, cwd=path, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print(f"version {version + 1} of {versions}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)


def _commit(message: str) -> tuple[str, ...]:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return "git", *author, "commit", "--quiet", "--allow-empty", "-m", message


def _perf(*words: str) -> tuple[str, ...]:
    return sys.executable, "-m", "perfcore", *words


def compared(repository: Repository, line: ConfigHistory, known: bool) -> Counter[tuple[float, str]]:
    """The verdicts on CPU time, by what was planted."""
    verdicts = Counter[tuple[float, str]]()
    profiles = [repository.store.load(measured.profiles[-1]) for measured in line.versions]
    for last in range(1, len(profiles)):
        history = functools.cache(functools.partial(_history, repository, line, last, known))
        for factor in PLANTED:
            sides = (_times(profiles[last - 1], 1.0, known), _times(profiles[last], factor, known))
            baseline, target = (
                Sample(version=line.versions[index].version.id, profiles=(profile,))
                for index, profile in zip((last - 1, last), sides, strict=True)
            )
            pairing = Pairing(baseline=baseline, target=target, config_id=line.config_id, history=history)
            verdicts[factor, next(iter(PairCheck(PairSettings()).compare(pairing))).kind] += 1
    return verdicts


def _history(repository: Repository, line: ConfigHistory, last: int, known: bool) -> Sequence[Series]:
    before = replace(line, versions=line.versions[: last + 1])
    every = series.metrics(repository, slow_sessions.calm(repository, before) if known else before)
    return [of_metric for of_metric in every if of_metric.metric == "cpu"]


def _times(profile: Profile, factor: float, known: bool) -> Profile:
    resources = profile.table("resources")
    assert resources is not None, "a collector wrote it"
    amounts = [int(factor * amount) for amount in resources["cpu"] if isinstance(amount, int)]
    columns = [column("run", list(resources["run"]), role="order"), column("cpu", amounts, unit="ns", role="value")]
    profile = profile.replace_tables(resources=table("resources", columns))
    if known:
        return profile
    return replace(profile, collector=replace(profile.collector, sampling=EMPTY))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--programs", type=int, default=12)
    parser.add_argument("--versions", type=int, default=15)
    given = parser.parse_args()
    if not given.folder.is_dir():
        collect(given.folder, given.programs, given.versions)
    totals = {known: Counter[tuple[float, str]]() for known in (True, False)}
    for path in sorted(given.folder.glob("h*")):
        repository = open_repository(path).repository
        for line in series.config_histories(repository):
            for known, total in totals.items():
                total.update(compared(repository, line, known))
    for factor in PLANTED:
        changed, before = (
            sum(totals[known][factor, kind] for kind in ("degradation", "optimization")) for known in (True, False)
        )
        count = sum(number for (planted, _), number in totals[True].items() if planted == factor)
        print(f"{factor - 1:+.0%}: {changed} ({before}) of {count} called different")


if __name__ == "__main__":
    main()
