"""How soon the chart is drawn and zoomed, beside uPlot, which comes from npm, with the same data in the same browser.

    python benchmarks/chart.py [--versions 10000] [--lines 6]

Drawn: from before the first call to the second frame after it. Zoomed: from a turn of the wheel to the second frame
after it, 40 turns in and out. CPU is that of the browser's process that draws the page, by its own account
(Performance.getMetrics, TaskDuration), for the drawing with the opening of the page and for the 40 turns. Both draw
lines with a band in a canvas of 300 pixels. The peer is drawn without marks of changes.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from perfcore_testing import browser
from perfcore_view_kit import chart
from perfcore_view_kit.chart import ChartData, Line
from perfcore_view_kit.page import page

TURNS = 40
ROUNDS = 3
PEER = """<!DOCTYPE html><meta charset="utf-8"><style>{style}</style><div id="chart"></div><script>{script}</script>
<script type="application/json" id="data">{data}</script><script>
const data = JSON.parse(document.getElementById("data").textContent);
const lines = (data.length - 1) / 3;
const series = [{{}}], bands = [];
for (let at = 0; at < lines; at++) {{
  const stroke = `hsl(${{60 * at}} 80% 40%)`;
  series.push({{ stroke }}, {{ stroke: "transparent" }}, {{ stroke: "transparent" }});
  bands.push({{ series: [3 * at + 3, 3 * at + 2], fill: `hsl(${{60 * at}} 80% 40% / 20%)` }});
}}
const place = document.getElementById("chart"), begin = performance.now();
const options = {{ width: 1100, height: 300, series, bands, scales: {{ x: {{ time: false }} }} }};
const plot = new uPlot(options, data, place);
const frame = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
frame(() => {{ window.drew = performance.now() - begin; place.dataset.drawn = "true"; }});
const size = data[0].length;
let range = [0, size - 1];
window.turn = (factor) => {{
  const middle = size / 2, half = ((range[1] - range[0]) / 2) * factor;
  range = [Math.max(0, middle - half), Math.min(size - 1, middle + half)];
  plot.setScale("x", {{ min: range[0], max: range[1] }});
}};
</script>"""
OURS = """const plain = window.chart;
window.chart = (figure, data) => {
  const begin = performance.now();
  plain(figure, data);
  requestAnimationFrame(() => requestAnimationFrame(() => { window.drew = performance.now() - begin; }));
};
window.turn = (factor) => {
  const canvas = document.querySelector("canvas.plot"), box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: 240 * Math.log(factor), ctrlKey: true,
    clientX: box.left + 600, clientY: box.top + 90, bubbles: true, cancelable: true }));
};"""
ZOOM = f"""(async () => {{
  const times = [];
  for (let at = 0; at < {TURNS}; at++) {{
    const begin = performance.now();
    window.turn(at < {TURNS // 2} ? 0.8 : 1.25);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    times.push(performance.now() - begin);
  }}
  return times;
}})()"""


def series(versions: int, lines: int) -> list[list[float]]:
    chance = random.Random(1)
    return [[1e7 * (line + 1) * chance.gauss(1, 0.01) for _ in range(versions)] for line in range(lines)]


def ours(values: list[list[float]]) -> str:
    data = ChartData(
        title="chart",
        finding="",
        unit="ns",
        labels=[f"{at:010x}" for at in range(len(values[0]))],
        lines=[
            Line(name=f"line {at}", values=line, low=[v * 0.985 for v in line], high=[v * 1.015 for v in line])
            for at, line in enumerate(values)
        ],
    )
    return page("Chart", f"<main>{chart.chart(data)}</main>", [*chart.scripts(), OURS], styles=chart.styles())


def peer(values: list[list[float]], folder: Path) -> str | None:
    npm = shutil.which("npm")
    if npm is None:
        return None
    done = subprocess.run(
        [npm, "install", "--prefix", folder, "--ignore-scripts", "uplot@1"], capture_output=True, check=False
    )
    if done.returncode:
        return None
    dist = folder / "node_modules" / "uplot" / "dist"
    columns: list[Any] = [list(range(len(values[0])))]
    for line in values:
        columns += [[round(v) for v in line], [round(v * 0.985) for v in line], [round(v * 1.015) for v in line]]
    script, style = (dist / "uPlot.iife.min.js").read_text(), (dist / "uPlot.min.css").read_text()
    return PEER.format(style=style, script=script, data=json.dumps(columns))


def cpu(window: Any) -> float:
    metrics = {each["name"]: each["value"] for each in window.call("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def measured(window: Any, address: str) -> tuple[float, float, list[float], float]:
    """CPU seconds until it is drawn, milliseconds of the drawing and of each turn, CPU seconds of all turns."""
    window.call("Performance.enable")
    window.call("Page.navigate", url="about:blank")
    begin = cpu(window)
    window.open(address, "[data-drawn]")
    window.settle("window.drew !== undefined")
    drawn = float(window.run("window.drew"))
    opened = cpu(window)
    times: list[float] = window.run(ZOOM)
    return opened - begin, drawn, times, cpu(window) - opened


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", type=int, default=10_000)
    parser.add_argument("--lines", type=int, default=6)
    arguments = parser.parse_args()
    if browser.PROGRAM is None:
        print("chromium is not installed")
        return 1
    values = series(arguments.versions, arguments.lines)
    with tempfile.TemporaryDirectory() as name, browser.window(Path(name) / "chromium") as window:
        folder = Path(name)
        pages = {"chart": ours(values), "uplot": peer(values, folder)}
        load = Path("/proc/loadavg").read_text().split()[0]
        print(f"{arguments.versions:,} versions, {arguments.lines} lines, load {load}")
        opened: dict[str, list[float]] = {}
        turned: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for kind, text in pages.items():
                if text is None:
                    continue
                path = folder / f"{kind}.html"
                path.write_text(text, encoding="utf-8")
                cost, drawn, times, spent = measured(window, path.as_uri())
                opened.setdefault(kind, []).append(cost)
                turned.setdefault(kind, []).append(spent)
                middle, worst, each = statistics.median(times), max(times), 1000 * spent / TURNS
                print(f"  {kind:6} {len(text) / 1000:6.0f} kB  opened {1000 * cost:5.0f} ms CPU", end="")
                print(f", drawn in {drawn:4.0f} ms", end="")
                print(f"; turn median {middle:4.0f} ms, worst {worst:4.0f} ms, {each:5.1f} ms CPU")
        if "uplot" in opened:
            for words, costs in (("opening and drawing", opened), ("a turn of the wheel", turned)):
                ratios = [mine / theirs for mine, theirs in zip(costs["chart"], costs["uplot"], strict=True)]
                print(f"  {words}: {min(ratios):.2f} to {max(ratios):.2f} times the CPU of uPlot, {ROUNDS} rounds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
