"""Visitors of a served history at once: how long pages take, how large they are, how soon the first is there.

    python plugins/serve-web/benchmarks/visitors.py REPOSITORY [--visitors 4] [--pages 240]

Each page of a visitor is another one, so that the cache of the server helps only where two meet; a second round asks
for the same pages again. Prints a row for each kind of page with the times that the visitors waited, beside that of a
request which is refused, and the time that the processors worked for a page: the machine's load moves the first ones.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path

PERF = Path(sys.executable).with_name("perf")
TICK = os.sysconf("SC_CLK_TCK")


class Visitor:
    """A connection with the cookie of the server."""

    def __init__(self, port: int, cookie: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self._cookie = cookie

    def get(self, address: str) -> tuple[int, bytes, float]:
        started = time.perf_counter()
        self._connection.request("GET", f"/{address}", headers={"Cookie": self._cookie})
        response = self._connection.getresponse()
        body = response.read()
        return response.status, body, time.perf_counter() - started


@contextlib.contextmanager
def serving(repository: Path) -> Iterator[tuple[int, int, str]]:
    """(port, process, token) of a server."""
    command = [str(PERF), "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        address = urllib.parse.urlsplit(process.stdout.readline().strip())
        try:
            yield address.port or 0, process.pid, address.query
        finally:
            os.kill(process.pid, signal.SIGINT)


def cookie_of(port: int, query: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", f"/?{query}")
    return (connection.getresponse().getheader("Set-Cookie") or "").partition(";")[0]


def cpu(process: int) -> float:
    """Seconds that a process has worked."""
    columns = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(columns[11]) + int(columns[12])) / TICK


def addresses(visitor: Visitor, count: int, chance: random.Random, repository: Path) -> list[str]:
    """Pages of all kinds, most of them series, ranges and versions, as people open them."""
    overview = visitor.get("")[1].decode()
    series = re.findall(r'href="(series/[^"]*)"', overview)
    changes = re.findall(r'href="(change/[^"]*)"', overview)
    log = subprocess.check_output(["git", "log", "--format=%H"], cwd=repository, text=True).split()
    pairs = [f"compare/{before}..{after}" for after, before in itertools.pairwise(log)]
    ranges = [
        f"range/{number}/{at.removeprefix('series/')}" for at in series for number in range(1, len(log) // 1000 + 1)
    ]
    kinds = [["", "changes", "measure", "plugins", "contracts", "live"], series, changes or series, ranges or series]
    kinds += [[f"version/{version}" for version in log], [f"search?q={version[:3]}" for version in log], pairs]
    return [chance.choice(kinds[number % len(kinds)]) for number in range(count)]


def visit(port: int, cookie: str, pages: Sequence[str], rows: list[tuple[str, int, int, float]]) -> None:
    visitor = Visitor(port, cookie)
    for address in pages:
        status, body, seconds = visitor.get(address)
        rows.append((re.split(r"[/?]", address)[0] or "overview", status, len(body), seconds))


def round_of(port: int, cookie: str, pages: Sequence[str], visitors: int) -> list[tuple[str, int, int, float]]:
    rows: list[tuple[str, int, int, float]] = []
    threads = [threading.Thread(target=visit, args=(port, cookie, pages[at::visitors], rows)) for at in range(visitors)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--visitors", type=int, default=4)
    parser.add_argument("--pages", type=int, default=240)
    options = parser.parse_args()
    started = time.perf_counter()
    with serving(options.repository) as (port, process, query):
        cookie = cookie_of(port, query)
        visitor = Visitor(port, cookie)
        status, body, _ = visitor.get("")
        print(f"cold start to the first page: {time.perf_counter() - started:.2f} s, status {status}, ", end="")
        while status == 503:  # the page that says how far the first comparison is
            time.sleep(0.2)
            status, body, _ = visitor.get("")
        print(f"to the overview: {time.perf_counter() - started:.2f} s, {cpu(process):.2f} s CPU, ", end="")
        print(f"{len(body):,} bytes, load {os.getloadavg()[0]:.1f}")
        pages = addresses(visitor, options.pages, random.Random(1), options.repository)
        refused = [Visitor(port, "").get("")[2] for _ in range(50)]
        print(f"a refused request: median {1000 * statistics.median(refused):.1f} ms")
        for name in ("first", "again"):
            before, began = cpu(process), time.perf_counter()
            rows = round_of(port, cookie, pages, options.visitors)
            worked = 1000 * (cpu(process) - before) / len(rows)
            report(f"{name}, load {os.getloadavg()[0]:.1f}, {worked:.1f} ms CPU a page", rows)
            print(f"  {len(rows) / (time.perf_counter() - began):.0f} pages/s")
        memory = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{process}/status").read_text())
        print(f"peak memory {int(memory[1]) / 1024 if memory else 0:.0f} MB")


def report(title: str, rows: Sequence[tuple[str, int, int, float]]) -> None:
    print(f"{title}\n  {'page':10} {'count':>5} {'median ms':>9} {'p95 ms':>7} {'kB max':>7}  status")
    for kind in [*sorted({row[0] for row in rows}), "all"]:
        members = [row for row in rows if kind in ("all", row[0])]
        times = sorted(1000 * row[3] for row in members)
        p95 = times[min(len(times) - 1, int(0.95 * len(times)))]
        statuses = ",".join(map(str, sorted({row[1] for row in members})))
        largest = max(row[2] for row in members) / 1000
        print(f"  {kind:10} {len(members):5} {statistics.median(times):9.1f} {p95:7.1f} {largest:7.0f}  {statuses}")


if __name__ == "__main__":
    main()
