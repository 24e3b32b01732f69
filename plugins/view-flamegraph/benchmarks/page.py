"""How large the page of a million samples is, what it costs to make, and how soon it is drawn, beside a page of the
same tree by d3-flame-graph, which comes from npm.

    python benchmarks/page.py [--stacks 20000]

A page counts as drawn two frames after its boxes are there, by the clock of Chromium, the best of three times.
d3-flame-graph draws what is at least one pixel wide, its remedy for large profiles. Then the wheel zooms in and out for
three seconds, and thirty versions of the profile become one page.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfcore_testing import browser, profiles
from perfcore_testing.output import FakeOutput
from perfcore_view_flamegraph import FlamegraphView
from perfcore_view_flamegraph.graph import Graph, graph

from perfcore.model import Profile

HERE = Path(__file__).parent
STACKS = HERE.parents[2] / "benchmarks" / "stacks.py"
TIMES = 3
WATCH = """
  const there = () => document.querySelector('#table tbody tr, svg.d3-flame-graph rect');
  const drawn = () => { window.drawn = performance.now(); };
  const look = () => requestAnimationFrame(there() ? () => requestAnimationFrame(drawn) : look);
  look();
"""
ZOOM = """(async () => {
  const canvas = document.getElementById("canvas"), { left, top, width } = canvas.getBoundingClientRect();
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const at = { ctrlKey: true, clientX: left + 0.4 * width, clientY: top + 40, bubbles: true, cancelable: true };
  const start = performance.now();
  let count = 0;
  for (; performance.now() - start < 3000; count++) {
    canvas.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: Math.floor(count / 40) % 2 ? 30 : -30 }));
    await frame();
  }
  return (1000 * count) / (performance.now() - start);
})()"""
VERSIONS = 30
PEER_PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>{style}</style><div id="chart"></div>
<script>{d3}</script><script>{chart}</script><script>
d3.select("#chart").datum({data}).call(flamegraph.default().width(1160).minFrameSize(1));
</script>"""


def module(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def million(count: int) -> Profile:
    """A million samples in so many stacks."""
    stacks = module("stacks", STACKS)
    program = stacks.Program(count)
    program.version()
    profile: Profile = stacks.profile(program, 0)
    return profile


def versions(count: int) -> list[Profile]:
    """Versions of the same program, each with a hundredth of its stacks replaced."""
    stacks = module("stacks", STACKS)
    program = stacks.Program(count)
    made = []
    for number in range(VERSIONS):
        program.version()
        made.append(stacks.profile(program, number))
    return made


def ours(*several: Profile) -> bytes:
    output = FakeOutput()
    FlamegraphView().render(profiles.subject(*several), output)
    return output.data


def nested(found: Graph) -> str:
    """The tree as objects within objects."""
    total = found.totals(found.metrics[0].own)
    nodes: list[dict[str, Any]] = [
        {"name": found.frames[frame].name, "value": value, "children": []}
        for frame, value in zip(found.frame, total, strict=True)
    ]
    for node in range(1, len(nodes)):
        nodes[found.parent[node]]["children"].append(nodes[node])
    return json.dumps(nodes[0], separators=(",", ":"))


def peer(folder: Path) -> Callable[[Profile], bytes]:
    """Makes a page of d3-flame-graph."""
    packages = ("d3@7", "d3-flame-graph@5")
    command = [shutil.which("npm") or "npm", "install", "--silent", "--ignore-scripts", "--prefix"]
    subprocess.run([*command, folder, *packages], check=True, capture_output=True)
    modules = folder / "node_modules"
    texts = {
        "d3": (modules / "d3/dist/d3.min.js").read_text(),
        "chart": (modules / "d3-flame-graph/dist/d3-flamegraph.umd.min.js").read_text(),
        "style": (modules / "d3-flame-graph/dist/d3-flamegraph.css").read_text(),
    }

    def made(profile: Profile) -> bytes:
        page = PEER_PAGE.replace("{data}", nested(graph(profile)))
        for name, text in texts.items():
            page = page.replace(f"{{{name}}}", text)
        return page.encode()

    return made


def spent(make: Callable[..., bytes], profile: Profile) -> tuple[bytes, float]:
    """What it gives, and the CPU time it took."""
    start = time.process_time()
    output = make(profile)
    return output, time.process_time() - start


def opening(window: Any, path: Path) -> float:
    """Milliseconds from the start of the navigation until the picture is there."""
    times = []
    for _ in range(TIMES):
        window.call("Page.navigate", url="about:blank")
        window.call("Page.navigate", url=path.as_uri())
        window.settle("!!window.drawn")
        times.append(window.run("window.drawn"))
    return float(min(times))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--stacks", type=int, default=20_000)
    count = arguments.parse_args().stacks
    large = million(count)
    print(f"{large.tables['stacks'].rows:,} nodes in the profile, {len(graph(large)):,} boxes in the picture")
    results = {}
    with tempfile.TemporaryDirectory() as name, browser.window(Path(name, "chromium")) as window:
        window.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        makers = {"small": (ours, profiles.sampled()), "ours": (ours, large), "d3": (peer(Path(name)), large)}
        for maker, (make, profile) in makers.items():
            data, cpu = spent(make, profile)
            path = Path(name, f"{maker}.html")
            path.write_bytes(data)
            results[maker] = (len(data), cpu, opening(window, path))
            if maker == "ours":
                print(f"ours: {window.run(ZOOM):.0f} frames a second while the wheel zooms")
    start = time.process_time()
    history = len(ours(*versions(count)))
    spent_cpu = time.process_time() - start
    print(f"{VERSIONS} versions: {history / 1e6:.2f} MB, {spent_cpu:.1f} s of CPU with making them up")
    size, cpu, frames = results["ours"]
    print(f"ours: {size / 1e6:.2f} MB; until drawn / of a profile of 7 boxes: {frames / results['small'][2]:.1f}")
    ratios = [theirs / mine for theirs, mine in zip(results["d3"], results["ours"], strict=True)]
    print("d3-flame-graph / ours: size {:.0f}, CPU time of making {:.1f}, until drawn {:.1f}".format(*ratios))
    print(f"(ours: {results['ours'][1]:.2f} s of CPU, drawn after {results['ours'][2]:.0f} ms)", file=sys.stderr)


if __name__ == "__main__":
    main()
