"""How soon a page opens in Chromium beside the same profile in speedscope, which comes from npm, by its samples.

    python benchmarks/opening.py [--rounds 7] [--samples 10000 100000 1000000]

Both are opened in turns. A page counts as drawn two frames after its boxes are there. CPU time is that of all processes
of the browser until then; it depends less on what else the machine does than the clock. speedscope gets what
`format-speedscope` writes: each stack once with its weight, which is its fastest way. There is a stack for fifty
samples.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from page import STACKS, module, ours
from perfcore_format_speedscope import SpeedscopeFormat
from perfcore_testing import browser, npm

from perfcore.model import Profile

SAMPLES_OF_A_STACK = 50
WATCH = """
  const isPeer = location.hash.startsWith("#localProfilePath");
  const hasButtons = () => document.body && document.body.innerText.includes("Sandwich");
  const there = () => isPeer ? hasButtons() : document.querySelector("#table tbody tr");
  const drawn = () => { window.drawn = performance.now(); };
  const look = () => requestAnimationFrame(there() ? () => requestAnimationFrame(drawn) : look);
  look();
"""

Times = tuple[float, float]  # milliseconds until drawn, seconds of CPU


def sampled(samples: int) -> Profile:
    """A made-up profile of so many samples."""
    stacks = module("stacks", STACKS)
    stacks.SAMPLES = samples
    program = stacks.Program(samples // SAMPLES_OF_A_STACK)
    program.version()
    profile: Profile = stacks.profile(program, 0)
    return profile


def peer_address(profile: Profile, viewer: Path, folder: Path) -> str:
    """What the command `speedscope FILE` opens."""
    path, script = folder / "profile.speedscope.json", folder / "load.js"
    SpeedscopeFormat().write(profile, path)
    content = base64.b64encode(path.read_bytes()).decode()
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, {json.dumps(content)})")
    return f"{viewer.as_uri()}#localProfilePath={script}"


def cpu_times(folder: Path) -> dict[str, float]:
    """Seconds of CPU of each process of the browser whose profile is in this folder, by its id."""
    times = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() not in (process / "cmdline").read_bytes():
                continue
            fields = (process / "stat").read_text().rpartition(") ")[2].split()
        except OSError:  # it has ended
            continue
        times[process.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return times


def opening(window: Any, address: str, cpu: Callable[[], dict[str, float]]) -> Times:
    window.call("Page.navigate", url="about:blank")
    time.sleep(0.5)  # what the page before leaves to do is not of this one
    before = cpu()
    window.call("Page.navigate", url=address)
    window.settle("!!window.drawn")
    spent = sum(seconds - before.get(process, 0.0) for process, seconds in cpu().items())
    return float(window.run("window.drawn")), spent


def row(name: str, mine: Sequence[Times], theirs: Sequence[Times]) -> str:
    texts = [name]
    for at, unit in ((0, "ms"), (1, "s of CPU")):
        ratios = [other[at] / own[at] for own, other in zip(mine, theirs, strict=True)]
        own, other = (statistics.median(times[at] for times in side) for side in (mine, theirs))
        middle, least, most = statistics.median(ratios), min(ratios), max(ratios)
        texts.append(f"{middle:.1f} ({least:.1f} to {most:.1f}) times, {other:.4g} / {own:.4g} {unit}")
    return "; ".join(texts)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--samples", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        viewer = npm.install(folder / "npm", "speedscope@1.25.0") / "speedscope/dist/release/index.html"
        with browser.window(folder / "chromium") as window:
            window.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
            for samples in given.samples:
                profile = sampled(samples)
                page = folder / "page.html"
                page.write_bytes(ours(profile))
                addresses = (page.as_uri(), peer_address(profile, viewer, folder))
                rounds = [
                    [opening(window, address, lambda: cpu_times(folder / "chromium")) for address in addresses]
                    for _ in range(given.rounds)
                ]
                mine, theirs = zip(*rounds, strict=True)
                text = f"{samples:,} samples, {profile.tables['stacks'].rows:,} nodes: speedscope / ours"
                print(row(text, mine, theirs), f"(load {os.getloadavg()[0]:.0f})", flush=True)


if __name__ == "__main__":
    main()
