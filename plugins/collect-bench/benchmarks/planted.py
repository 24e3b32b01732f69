"""A suite over the commits of a project, of which one commit makes one function slower: what do the checks say?

    python plugins/collect-bench/benchmarks/planted.py --functions 12 --commits 10 --slower 0.1 --busy 2
    python plugins/collect-bench/benchmarks/planted.py --functions 50 --commits 40 --slower 0.05 --repeat 5 --bisect

Makes a git project of functions that compute for 50 us to 1 ms, clones it, measures all commits in turn with
`perf collect bench`, optionally beside busy processes, and prints what `perf check all` reports, how long every command
took, and with `--bisect` which commit `perf bisect` names.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

LONGEST = 20  # times as long as the shortest function
STEPS = 1_000  # of the shortest function: about 50 us

FUNCTION = """
def compute{number}():
    total = 0
    for index in range({steps}):
        total += index * index % 7
    return total
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--functions", type=int, default=12)
    parser.add_argument("--commits", type=int, default=10)
    parser.add_argument("--slower", type=float, default=0.1)
    parser.add_argument(
        "--seed", type=int, help="choose the function and the commit by it; without, those in the middle"
    )
    parser.add_argument("--repeat", type=int, default=6)
    parser.add_argument("--busy", type=int, default=0, help="processes that compute beside")
    parser.add_argument("--bisect", action="store_true")
    parser.add_argument("--keep", type=Path, help="the folder of the project, which stays")
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        function, commit = args.functions // 2, args.commits // 2
        if args.seed is not None:
            dice = random.Random(args.seed)
            # A change needs some versions on either side, as a history needs to show it.
            function, commit = dice.randrange(args.functions), dice.randrange(args.commits // 5, args.commits * 4 // 5)
        planted, project = make_project(folder, args.functions, args.commits, args.slower, function, commit)
        name = f"bench_project.time_{function}"
        print(f"{name} is {args.slower:.0%} slower since {planted[:10]}")
        with busy(args.busy):
            run(project, "init")
            run(project, *f"collect bench --all --add --repeat {args.repeat} -- benchmarks".split())
        checked = json.loads(run(project, "check", "all", "--fail-on", "never", "--json"))
        for change in checked["changes"]:
            print(*(change[field] for field in ("kind", "metric", "resource", "target", "ratio", "primary")))
        if args.bisect:
            first = git(project, "rev-list", "--max-parents=0", "HEAD")
            words = ["bisect", first, "HEAD", "--collector", "bench", "--benchmark", name, "--", "benchmarks"]
            print(run(project, *words))


def make_project(
    folder: Path, functions: int, commits: int, slower: float, function: int, slower_since: int
) -> tuple[str, Path]:
    """The commit that makes a function slower, and a fresh clone of the project."""
    origin, clone = folder / "origin", folder / "clone"
    (origin / "benchmarks").mkdir(parents=True)
    suite = ["import project", *(f"def time_{n}(): project.compute{n}()" for n in range(functions))]
    (origin / "benchmarks" / "bench_project.py").write_text("\n".join(suite) + "\n")
    git(origin, "init", "-q")
    steps = [round(STEPS * LONGEST ** (n / max(1, functions - 1))) for n in range(functions)]
    planted = ""
    for commit in range(commits):
        if commit == slower_since:
            steps[function] = round(steps[function] * (1 + slower))
        text = "".join(FUNCTION.format(number=n, steps=steps[n]) for n in range(functions))
        (origin / "project.py").write_text(f'VERSION = "{commit}"\n{text}')
        git(origin, "add", ".")
        git(origin, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", f"Commit {commit}")
        if commit == slower_since:
            planted = git(origin, "rev-parse", "HEAD")
    git(folder, "clone", "-q", str(origin), str(clone))
    return planted, clone


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def run(folder: Path, *words: str) -> str:
    """What a command of perf prints; its notes, and how long it took, go to the standard error."""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "perfcore", *words], cwd=folder, stdout=subprocess.PIPE, text=True)
    seconds = time.monotonic() - started
    print(f"perf {' '.join(words[:2])}: {seconds:.1f} s, exit code {done.returncode}", file=sys.stderr)
    return done.stdout


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that compute beside, for some seconds each time, so that they disturb whole runs."""
    text = (
        "import random, time\nwhile True:\n until = time.monotonic() + random.uniform(1, 6)\n"
        " while time.monotonic() < until: pass\n time.sleep(random.uniform(1, 6))"
    )
    processes: Sequence[subprocess.Popen[bytes]] = [
        subprocess.Popen([sys.executable, "-c", text]) for _ in range(count)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
