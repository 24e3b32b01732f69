"""CPU time of `perf publish` beside that of `asv publish`, for the same history, in turn.

    python plugins/command-publish/benchmarks/against_asv.py --asv ASV [--versions 1000] [--benchmarks 20] [--rounds 5]

ASV is the program of an environment with asv (`uv venv e && uv pip install --python e/bin/python asv`: e/bin/asv).
Makes a repository, a suite of benchmarks with five runs for each version in the formats of both, four of which get
slower by 10 %. `cold` is without anything that perfcore remembers, `checked` after `perf check all`, `one more` after
one more version was measured, `again` with nothing new. asv remembers nothing; it publishes all of it each time.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from perfcore_testing import profiles

from perfcore.library import History, open_repository
from perfcore.model import Profile

RUNS, STEPS = 5, 4
PERF = Path(sys.executable).with_name("perf")
MACHINE = {"arch": "x86_64", "cpu": "cpu", "machine": "bench", "num_cpu": "2", "os": "Linux", "ram": "8"}
COLUMNS = (
    *("result", "params", "version", "started_at", "duration"),
    *(
        "stats_ci_99_a",
        "stats_ci_99_b",
        "stats_q_25",
        "stats_q_75",
        "stats_number",
        "stats_repeat",
        "samples",
        "profile",
    ),
)
Runs = Sequence[Sequence[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--asv", type=Path, required=True)
    parser.add_argument("--versions", type=int, default=1000)
    parser.add_argument("--benchmarks", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), options.asv.absolute(), options.versions, options.benchmarks, options.rounds)


def compare(folder: Path, asv: Path, count: int, benchmarks: int, rounds: int) -> None:
    repository, peer, site = folder / "repository", folder / "asv", folder / "site"
    measured = list(measurements(count + rounds, benchmarks))
    versions = make_repository(repository, count + rounds)
    git(repository, "checkout", "--quiet", versions[count - 1])
    history = open_repository(repository)
    for version, runs in zip(versions[:count], measured[:count], strict=True):
        history.register(history.save(profile(runs)), version)
    make_asv(peer, repository, versions[:count], measured[:count])
    publish = [str(PERF), "publish", str(site)]
    times: dict[str, list[float]] = {}

    def measure(name: str, argv: Sequence[str], cwd: Path, before: Callable[[], None] | None = None) -> None:
        if before is not None:
            before()
        times.setdefault(name, []).append(cpu_of(argv, cwd))

    for number in range(rounds):
        measure("asv", [str(asv), "publish"], peer, lambda: shutil.rmtree(peer / "html", ignore_errors=True))
        measure("cold", publish, repository, lambda: forget(repository, site))
        measure("checked", publish, repository, lambda: check(repository, site))
        measure("again", publish, repository)
        at = count + number
        measure(
            "one more", publish, repository, functools.partial(add, repository, history, versions[at], measured[at])
        )
    base = statistics.median(times["asv"])
    print(f"{count:,} versions x {benchmarks} benchmarks, median CPU of {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    cold = statistics.median(times["cold"])
    for name, seconds in times.items():
        ratios, median = [own / asv for own, asv in zip(seconds, times["asv"], strict=True)], statistics.median(seconds)
        spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{name:9}{median:7.2f} s  {median / base:5.2f} of asv {spread}  {median / cold:5.2f} of cold")
    for name, pages in (("perf", site), ("asv", peer / "html")):
        sizes = [path.stat().st_size for path in pages.rglob("*") if path.is_file()]
        print(f"{name:9}{len(sizes):,} files, {sum(sizes) / 1e6:.2f} MB")


def measurements(count: int, benchmarks: int) -> Iterator[Runs]:
    """The runs of every benchmark, version by version."""
    chance = random.Random(1)
    levels = [chance.uniform(0.01, 1) for _ in range(benchmarks)]
    steps = {chance.randrange(benchmarks): chance.randrange(count // 20, count - count // 20) for _ in range(STEPS)}
    for number in range(count):
        for benchmark in (benchmark for benchmark, at in steps.items() if at == number):
            levels[benchmark] *= 1.1
        yield [[level * (1 + chance.gauss(0, 0.01)) for _ in range(RUNS)] for level in levels]


def profile(runs: Runs) -> Profile:
    return profiles.suite({f"bench.time_{at}": values for at, values in enumerate(runs)}, unit="s")


def make_repository(folder: Path, count: int) -> list[str]:
    """A git repository with so many commits; gives their ids, oldest first."""
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", folder], check=True)
    lines = []
    for number in range(count):
        date = f"{1_600_000_000 + 3600 * number} +0000"
        subject = f"Change {number}"
        lines.append(
            f"commit refs/heads/main\ncommitter Bench <b@example.org> {date}\ndata {len(subject)}\n{subject}\n"
        )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input="".join(lines), text=True, check=True)
    subprocess.run([PERF, "init"], cwd=folder, check=True, capture_output=True)
    return subprocess.check_output(["git", "rev-list", "--reverse", "main"], cwd=folder, text=True).split()


def make_asv(folder: Path, repository: Path, versions: Sequence[str], measured: Sequence[Runs]) -> None:
    """The same as results of asv (format 2 of its results, as version 0.6 writes them)."""
    results = folder / "results" / "bench"
    results.mkdir(parents=True)
    write(
        folder / "asv.conf.json",
        {"version": 1, "project": "suite", "repo": str(repository), "branches": ["main"]}
        | {
            "project_url": "https://example.org/",
            "show_commit_url": "https://example.org/",
            "environment_type": "virtualenv",
            "results_dir": "results",
            "html_dir": "html",
        },
    )
    write(results / "machine.json", {**MACHINE, "version": 1})
    names = [f"bench.time_{at}" for at in range(len(measured[0]))]
    fixed = {"code": "", "min_run_count": 2, "number": 0, "param_names": [], "params": [], "repeat": RUNS, "rounds": 2}
    fixed |= {
        "sample_time": 0.01,
        "timeout": 60.0,
        "type": "time",
        "unit": "seconds",
        "version": "1",
        "warmup_time": -1,
    }
    write(folder / "results" / "benchmarks.json", {**{name: {**fixed, "name": name} for name in names}, "version": 2})
    for number, (version, runs) in enumerate(zip(versions, measured, strict=True)):
        date = 1_600_000_000_000 + 3_600_000 * number
        rows = {}
        for name, values in zip(names, runs, strict=True):
            low, below, middle, above, high = sorted(values)
            rows[name] = [[middle], [], "1", date, 1.0, [low], [high], [below], [above], [1], [RUNS]]
        document = {
            "commit_hash": version,
            "env_name": "virtualenv-py3.11",
            "date": date,
            "python": "3.11",
            "version": 2,
        }
        document |= {"params": {**MACHINE, "python": "3.11"}, "requirements": {}, "env_vars": {}, "durations": {}}
        write(
            results / f"{version[:8]}-virtualenv-py3.11.json", {**document, "result_columns": COLUMNS, "results": rows}
        )


def write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")


def forget(repository: Path, site: Path) -> None:
    shutil.rmtree(repository / ".perf" / "cache", ignore_errors=True)
    shutil.rmtree(site, ignore_errors=True)


def check(repository: Path, site: Path) -> None:
    forget(repository, site)
    subprocess.run([PERF, "check", "all", "--no-store"], cwd=repository, capture_output=True, check=False)


def add(repository: Path, history: History, version: str, runs: Runs) -> None:
    git(repository, "checkout", "--quiet", version)
    history.register(history.save(profile(runs)), version)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def cpu_of(argv: Sequence[str], cwd: Path) -> float:
    """Seconds that a process and its children worked."""
    process = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{argv} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
