"""Files as speedscope itself shows them, and files of other tools."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from perfcore_format_speedscope import SpeedscopeFormat
from perfcore_format_speedscope.driver import SpeedscopeSettings
from perfcore_sample_kit import SampleRecorder, Samples
from perfcore_table_kit.functions import by_function
from perfcore_testing import npm, profiles
from perfcore_testing.processes import PATIENCE
from perfcore_testing.project import Project

from perfcore.errors import FormatError
from perfcore.model import Profile, Tool
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import Frame, Stacks
from perfcore.profile.table import column

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
PROGRAM = "def inner(n):\n    return sum(range(n))\n\nfor _ in range(300):\n    inner(100_000)\n"


def document(*parts: dict[str, Any], frames: Any = ({"name": "main"}, {"name": "f", "file": "f.py", "line": 3})) -> Any:
    return {"$schema": SCHEMA, "shared": {"frames": list(frames)}, "profiles": list(parts)}


def sampled(samples: Any, weights: Any, unit: str = "none", name: str = "x") -> dict[str, Any]:
    return {
        "type": "sampled",
        "name": name,
        "unit": unit,
        "startValue": 0,
        "endValue": 1,
        "samples": samples,
        "weights": weights,
    }


def evented(*events: tuple[str, float, int], unit: str = "seconds") -> dict[str, Any]:
    rows = [{"type": kind, "at": at, "frame": frame} for kind, at, frame in events]
    return {"type": "evented", "name": "x", "unit": unit, "startValue": 0, "endValue": 9, "events": rows}


def read(tmp_path: Path, content: Any) -> Profile:
    path = tmp_path / "x.speedscope.json"
    path.write_text(json.dumps(content))
    assert SpeedscopeFormat().sniff(path.read_bytes()[:4096], path.name)
    return SpeedscopeFormat().read(path)


def in_time() -> Profile:
    """Two threads with samples and bytes at times."""
    recorder = SampleRecorder([ColumnSpec("samples", "i64", "", "value"), ColumnSpec("memory", "i64", "B", "value")])
    for at, (thread, name) in enumerate((("main", "parse"), ("worker", "read"), ("main", "write"), ("main", "parse"))):
        stack = recorder.stacks.add([Frame("run", "a.py", 7, 3), Frame(name, "b.py", 20 + at, 20)])
        recorder.add(stack, (1, 1024), time=at * 1_000_000, thread=thread)
    return recorder.profile(Tool(name="test"), created=1_750_000_000_000_000_000, name="program")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("websockets", reason="the package websockets is not installed, by which Chromium is driven")
    from perfcore_testing import browser as chromium

    if chromium.PROGRAM is None:
        pytest.skip("chromium is not installed")
    with chromium.window(tmp_path_factory.mktemp("chromium")) as window:
        yield window


@pytest.fixture(scope="session")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return npm.install(tmp_path_factory.mktemp("npm"), "speedscope@1.25.0") / "speedscope/dist/release/index.html"


def shown(window: Any, viewer: Path, path: Path, tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Total and self of each function in the table of the sandwich view."""
    data = base64.b64encode(path.read_bytes()).decode()
    script = tmp_path / "load.js"
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, {json.dumps(data)})")
    window.call("Page.navigate", url="about:blank")
    window.call("Page.navigate", url=f"{viewer.as_uri()}#localProfilePath={script}")
    window.settle("document.body && document.body.innerText.includes('Sandwich')")
    window.press("3")
    window.settle("document.querySelectorAll('table tr').length > 1")
    texts = "Array.from(row.cells, (cell) => cell.innerText.trim())"
    rows = window.run(f"Array.from(document.querySelectorAll('table tr'), (row) => {texts})")
    return {name: (total, own) for total, own, name, *_ in (row[:3] for row in rows[1:])}


def test_speedscope_shows_what_is_written(browser: Any, viewer: Path, tmp_path: Path) -> None:
    profile = profiles.sampled()
    SpeedscopeFormat().write(profile, tmp_path / "x.speedscope.json")
    rows = shown(browser, viewer, tmp_path / "x.speedscope.json", tmp_path)
    for function in by_function(profile.tables, "samples"):
        text = next(name for name in rows if name.startswith(function.name.split("\n")[0]))
        total, own = rows[text]
        assert (total.split()[0], own.split()[0]) == (f"{function.total:,}", f"{function.own:,}"), rows


def test_lines_that_ran_are_frames_where_asked(tmp_path: Path) -> None:
    paths = []
    for lines in (False, True):
        SpeedscopeFormat(SpeedscopeSettings(lines=lines)).write(profiles.sampled(), tmp_path / "x.json")
        frames = json.loads((tmp_path / "x.json").read_text())["shared"]["frames"]
        paths.append([frame.get("line") for frame in frames if frame["name"] == "Parser.parse"])
    assert paths == [[20], [31, 25]]


def test_a_file_that_ends_in_gz_is_compressed(tmp_path: Path) -> None:
    path = tmp_path / "x.speedscope.json.gz"
    SpeedscopeFormat().write(in_time(), path)
    assert path.read_bytes().startswith(b"\x1f\x8b")
    assert SpeedscopeFormat().sniff(path.read_bytes()[:4096], path.name)
    assert SpeedscopeFormat().read(path).tables["resources"].rows == 8


def test_threads_metrics_and_times_come_back(tmp_path: Path) -> None:
    SpeedscopeFormat().write(in_time(), tmp_path / "x.speedscope.json")
    samples = Samples.of(SpeedscopeFormat().read(tmp_path / "x.speedscope.json"))
    assert [(metric.name, metric.unit, sum(metric)) for metric in samples.metrics] == [  # type: ignore[arg-type]
        ("samples", "", 4),
        ("memory", "B", 4096),
    ]
    tracks = {track.thread: [samples.frame(samples.rows[row]).name for row in track.rows] for track in samples.tracks()}
    assert tracks["worker"] == ["read", "read"]
    assert samples.time is not None


def test_the_time_between_two_events_is_a_sample(tmp_path: Path) -> None:
    profile = read(
        tmp_path, document(evented(("O", 1, 0), ("O", 2.5, 1), ("C", 4, 1), ("C", 4, 0), ("O", 7, 0), ("C", 9, 0)))
    )
    resources = profile.tables["resources"]
    assert [list(resources[name]) for name in ("stack", "time", "wall")] == [
        [0, 1, 0],
        [1_000_000_000, 2_500_000_000, 7_000_000_000],
        [1.5, 1.5, 2.0],
    ]
    assert resources["wall"].unit == "s"


def test_profiles_of_one_unit_are_threads(tmp_path: Path) -> None:
    parts = sampled([[0, 1], [0]], [2, 3], name="one"), sampled([[0]], [4], name="two"), sampled([[0]], [9], "bytes")
    resources = read(tmp_path, document(*parts)).tables["resources"]
    assert list(resources["thread"]) == ["one", "one", "two", ""]
    assert [(each.name, list(each)) for each in resources.values()] == [
        ("samples", [2, 3, 4, 0]),
        ("bytes", [0, 0, 0, 9]),
    ]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (sampled([[0, 7]], [1]), "frame 7 is not among the 2"),
        (sampled([[0, -1]], [1]), "frame -1"),
        (sampled([[0]], []), "1 samples and 0 weights"),
        (sampled([[0]], ["x"]), "no file of speedscope"),
        (evented(("O", 1, 0)), "not closed"),
        (evented(("O", 1, 0), ("C", 2, 1)), "not the innermost"),
        (evented(("O", 3, 0), ("C", 2, 0)), "follows one at 3"),
        (evented(("C", 3, 0)), "not the innermost"),
        ({"type": "other"}, "no file of speedscope"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, part: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, document(part))


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf")])
def test_amounts_without_a_width_are_refused(tmp_path: Path, amount: float) -> None:
    profile = profiles.sampled()
    odd = profile.tables["resources"].with_columns(column("samples", [amount] * 6, role="value"))
    with pytest.raises(FormatError, match="cannot show"):
        SpeedscopeFormat().write(profile.replace_tables(resources=odd), tmp_path / "x.speedscope.json")


def test_what_py_spy_writes_is_read(tmp_path: Path) -> None:
    tool = shutil.which("py-spy", path=str(Path(sys.executable).parent))
    assert tool, "py-spy is installed with the tests"
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [tool, "record", "--format", "speedscope", "--rate", "200", "--output", "out.json", "--"]
    done = subprocess.run([*command, sys.executable, "program.py"], cwd=tmp_path, capture_output=True, timeout=PATIENCE)
    assert (tmp_path / "out.json").exists(), done.stderr.decode()
    with (tmp_path / "out.json").open("rb") as file:
        assert SpeedscopeFormat().sniff(file.read(4096), "out.json")
    profile = SpeedscopeFormat().read(tmp_path / "out.json")
    stacks = Stacks.of(profile.tables)
    assert "inner" in stacks.names
    assert profile.tables["resources"].values()[0].unit == "s"


def test_the_command_line_imports_and_exports(project: Project, tmp_path: Path) -> None:
    SpeedscopeFormat().write(in_time(), tmp_path / "in.speedscope.json")
    project.perf("import", str(tmp_path / "in.speedscope.json"))
    project.perf("export", "0@p", "--format", "speedscope", "-o", str(tmp_path / "out.speedscope.json"))
    documents = [json.loads((tmp_path / f"{name}.speedscope.json").read_text()) for name in ("in", "out")]
    totals = [{part["perfcore"]["metric"]: 0 for part in each["profiles"]} for each in documents]
    for each, sums in zip(documents, totals, strict=True):
        for part in each["profiles"]:
            sums[part["perfcore"]["metric"]] += sum(part["weights"])
    assert totals[0] == totals[1] == {"samples": 4, "memory": 4096}
