"""What people do with the page beside zooming, in a real browser: order in time, sandwich, filters, versions, files."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from perfcore_diff_amounts import Amounts
from perfcore_sample_kit import SampleRecorder
from perfcore_testing import profiles
from perfcore_testing.output import FakeOutput
from perfcore_view_flamegraph import FlamegraphSettings, FlamegraphView

from perfcore.model import Change, MinorVersion, PairSide, Profile, Tool, ViewData
from perfcore.profile.columns import ColumnSpec
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

Opener = Callable[..., str]
Stack = tuple[str, ...]

PROGRAM: dict[Stack, int] = {
    ("main", "parse", "read"): 30,
    ("main", "parse"): 10,
    ("main", "write", "read"): 50,
    ("start",): 10,
}
SOURCE = "import os\n\ndef read(path):\n    with open(path) as file:\n        return file.read()\n"


def of(stacks: dict[Stack, int], places: dict[str, str] | None = None) -> Profile:
    builder = StackBuilder()
    files = places or {}
    rows = [builder.add(Frame(name, files.get(name, f"{name}.py"), 4, 3) for name in stack) for stack in stacks]
    resources = table("resources", [column("stack", rows), column("samples", list(stacks.values()), role="value")])
    return profiles.sampled().replace_tables(resources=resources, **builder.tables())


def in_time(*samples: tuple[str, str, int]) -> Profile:
    """Samples of one each: the thread, the innermost function below main, and the amount."""
    recorder = SampleRecorder([ColumnSpec("samples", "i64", "", "value")])
    for time, (thread, name, amount) in enumerate(samples):
        stack = recorder.stacks.add([Frame("main", "main.py"), Frame(name, f"{name}.py")])
        recorder.add(stack, (amount,), time=time, thread=thread)
    return recorder.profile(Tool(name="test"), created=0, name="program")


TIMES = in_time(("a", "x", 1), ("a", "y", 5), ("a", "x", 4), ("b", "z", 10))


def version(number: int) -> MinorVersion:
    parents = (f"{number - 1:040x}",) if number else ()
    return MinorVersion(id=f"{number:040x}", parents=parents, date=number, subject=f"Change {number}")


def history(shares: Sequence[int]) -> ViewData:
    """Versions in which `read` takes these shares of 100."""
    every = [of({("main", "read"): share, ("main",): 100 - share}) for share in shares]
    return ViewData(
        profiles=tuple(every),
        names=tuple(f"{number}@i" for number in range(len(every))),
        versions=tuple(map(version, range(len(every)))),
        changes=(change(version(2).id),),
        source=lambda version, path: SOURCE.encode() if path == "read.py" else None,
    )


def change(target: str) -> Change:
    return Change(id="c", kind="degradation", metric="samples", target=target[:40], baseline=version(1).id)


def difference(replicates: int = 3) -> ViewData:
    """Twice as much of `read`; `write` differs by noise, where there are replicates."""
    sides = [
        [of({("main", "read"): amount + at, ("main", "write"): 50 + (-1) ** at * at}) for at in range(replicates)]
        for amount in (50, 100)
    ]
    pair = sides[0][0], of({("main", "read"): 100, ("main", "write"): 52})
    return ViewData(
        profiles=(Amounts().diff(*pair),),
        names=("1@i -> 2@i",),
        versions=(None,),
        pair=pair,
        sides=(
            PairSide(version="a" * 40, replicates=tuple(sides[0]), paths={"read.py": "old.py"}),
            PairSide(version="b" * 40, replicates=tuple(sides[1])),
        ),
        source=lambda version, path: _source(version, path),
    )


def _source(version: str, path: str) -> bytes | None:
    if path == ("old.py" if version == "a" * 40 else "read.py"):
        return SOURCE.replace("read()", "readlines()" if version == "b" * 40 else "read()").encode()
    return None


@pytest.fixture
def opened(window: Any, tmp_path: Path) -> Opener:
    """Writes a page and opens it; gives its address."""

    def opened(subject: Profile | ViewData, fragment: str = "", **settings: Any) -> str:
        data = subject if isinstance(subject, ViewData) else profiles.subject(subject, names=("0@p",))
        path = tmp_path / "page.html"
        FlamegraphView(FlamegraphSettings(**settings)).render(data, FakeOutput(path=path))
        window.open(path.as_uri() + fragment)
        return path.as_uri()

    return opened


def text(window: Any, name: str) -> str:
    return str(window.run(f"document.getElementById('{name}').innerText"))


def live(window: Any) -> str:
    return str(window.run("document.getElementById('live').textContent"))


def walked(window: Any, count: int) -> list[str]:
    """The names of the first children of the first child of the root, from the left."""
    window.press("Home", "ArrowDown", "ArrowDown")
    names = [live(window).split(",")[0]]
    for _ in range(count - 1):
        window.press("ArrowRight")
        names.append(live(window).split(",")[0])
    return names


def test_samples_stand_in_the_order_of_time(window: Any, opened: Opener) -> None:
    opened(TIMES, "#thread=0")
    assert walked(window, 2) == ["x", "y"]
    window.press("o", "o")
    assert window.run("document.getElementById('order').value") == "time"
    assert walked(window, 3) == ["x", "y", "x"]
    assert "total 4 (40 %)" in text(window, "line")
    assert window.run("location.hash") == "#thread=0&order=time"
    window.reload()
    assert walked(window, 3) == ["x", "y", "x"]


def test_a_profile_without_times_offers_no_order_in_time(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM), "#order=time")
    assert window.run("document.getElementById('order').value") == "value"
    window.press("o", "o")
    assert window.run("document.getElementById('order').value") == "value"
    assert window.run("document.querySelector('#order [value=time]').disabled") is True


def test_threads_can_be_chosen(window: Any, opened: Opener) -> None:
    opened(TIMES)
    assert text(window, "line").startswith("all · samples: own 0 (0 %), total 20 (100 %)")
    window.press("t", "t")
    assert text(window, "line").startswith("all · samples: own 0 (0 %), total 10 (100 %)")
    assert walked(window, 1) == ["z"]
    window.press("t")
    assert window.run("document.getElementById('thread').value") == "-1"


def test_a_sandwich_has_callers_above_and_callees_below(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.press("ArrowDown", "ArrowDown", "ArrowRight", "s")
    assert text(window, "filters") == "callers and callees of parse ✕"
    assert window.run("location.hash") == "#sandwich=2"
    window.press("ArrowDown")
    assert live(window).startswith("read, read.py:3, samples: own 30 (75 %), total 30 (75 %)")
    window.run("document.getElementById('callers').focus()")
    window.press("ArrowUp")
    assert live(window).startswith("main, main.py:3, samples: total 40 (100 %)")
    assert "1 of 1, 0 callers" in live(window)
    window.press("s")
    assert text(window, "filters") == "callers and callees of main ✕"
    window.press("Escape")
    assert window.run("document.getElementById('callers-stage').hidden") is True


def test_callers_of_a_recursive_function_count_once(window: Any, opened: Opener) -> None:
    opened(of({("main", "f", "g", "f"): 5, ("f",): 3}))
    window.run(
        "Array.from(document.querySelectorAll('#table tbody button')).find((b) => b.textContent === 'f').click()"
    )
    assert text(window, "line").startswith("f f.py:3 · samples: own 8 (100 %), total 8 (100 %)") or "total 8" in text(
        window, "line"
    )


def test_focus_hide_and_taking_back(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.press("ArrowDown", "ArrowDown", "h")
    assert text(window, "filters") == "without write ✕"
    assert walked(window, 2) == ["read", "parse"]
    window.press("ArrowRight", "c")
    assert text(window, "filters") == "only stacks with parse ✕\nwithout write ✕"
    assert text(window, "line").startswith("all · samples: own 0 (0 %), total 40 (100 %)")
    hash_before = window.run("location.hash")
    window.reload()
    assert window.run("location.hash") == hash_before
    window.press("u", "u")
    assert window.run("document.getElementById('filters').hidden") is True
    assert text(window, "line").startswith("all · samples: own 0 (0 %), total 100 (100 %)")


def test_recursion_libraries_and_imports_are_collapsed(window: Any, opened: Opener) -> None:
    files = {
        "decode": "/usr/lib/python3.11/json/decoder.py",
        "scan": "/usr/lib/python3.11/json/scanner.py",
        "_find_and_load": "<frozen importlib._bootstrap>",
        "exec_module": "<frozen importlib._bootstrap_external>",
    }
    stacks: dict[Stack, int] = {
        ("main", "f", "f", "f"): 10,
        ("main", "decode", "scan", "decode", "hook"): 20,
        ("main", "_find_and_load", "exec_module", "setup"): 30,
    }
    opened(of(stacks, files))
    window.press("r", "l", "p")
    assert walked(window, 3) == ["setup", "decode", "f"]
    assert "0 called" in live(window)
    window.press("ArrowLeft", "ArrowDown")
    assert live(window).startswith("hook")
    assert window.run("location.hash") == "#fold=rlp"
    assert window.run("document.getElementById('fold-l').ariaPressed") == "true"


def test_a_regular_expression_searches(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.press("e", "/")
    window.write("^(parse|start)\\b")
    assert text(window, "found") == "50 % of the whole (50) is in 2 matching functions"
    window.write("(")
    assert text(window, "found").startswith("not a regular expression:")
    assert window.problems == []


def test_the_callers_of_a_zoom_are_dimmed(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    pixel = "Array.from(document.getElementById('canvas').getContext('2d').getImageData(900, {}, 1, 1).data).join()"
    before = window.run(pixel.format(24))
    window.press("ArrowDown", "ArrowDown", "Enter")
    assert window.run(pixel.format(24)) == window.run(pixel.format(4)) != before
    assert window.run(pixel.format(64)) != window.run(pixel.format(24))


def test_the_map_moves_the_zoom(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    box = "document.getElementById('map').getBoundingClientRect()"
    left, top, width = (window.run(f"{box}.{side}") for side in ("left", "top", "width"))
    window.mouse("mousePressed", left + 0.95 * width, top + 5, button="left", buttons=1, clickCount=1)
    window.mouse("mouseReleased", left + 0.95 * width, top + 5, button="left", clickCount=1)
    window.settle("location.hash.includes('window=')")
    assert text(window, "line").startswith("all")


def test_the_status_line_is_always_to_be_seen(window: Any, opened: Opener) -> None:
    for subject in (of({("f",) * 80: 1}), difference(), history([3, 4, 9])):
        opened(subject)
        for size in ((1200, 800), (400, 700)):
            window.resize(*size)
            window.frames(2)
            bottom = window.run("document.getElementById('line').getBoundingClientRect().bottom")
            assert 0 < bottom <= size[1]


def test_the_picture_is_saved_as_svg_and_png(window: Any, opened: Opener) -> None:
    opened(of({("main", '<b>&"odd"'): 5}))
    window.run(
        "window.kept = []; URL.createObjectURL = (blob) => { window.kept.push(blob); return 'blob:x'; };"
        "URL.revokeObjectURL = () => {};"
        "HTMLAnchorElement.prototype.click = function () { window.named = this.download; };"
    )
    window.run("document.getElementById('svg').click()")
    svg = window.run("window.kept[0].text()")
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "&lt;b&gt;&amp;&quot;odd&quot;" in svg
    parsed = f"new DOMParser().parseFromString({json.dumps(svg)}, 'image/svg+xml')"
    assert window.run(f"{parsed}.querySelectorAll('g').length") == 3
    assert window.run("window.named") == "python-app.py.svg"
    window.run("document.getElementById('png').click()")
    window.settle("window.kept.length === 2")
    assert window.run("window.kept[1].type") == "image/png"
    assert window.problems == []


def test_the_path_is_a_tree_that_the_keyboard_walks(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    item = "document.querySelector('#path [tabindex=\"0\"]')"
    window.run(f"{item}.focus()")
    window.press("ArrowDown", "Enter")
    assert window.run("location.hash") == "#zoom=1"
    facts = window.run(
        "Array.from(document.querySelectorAll('#path [role=treeitem]'), "
        "(e) => [e.textContent.split(' ')[0], e.ariaLevel, e.ariaExpanded, e.ariaSelected])"
    )
    assert facts == [
        ["all", "1", "true", "false"],
        ["main", "2", "true", "true"],
        ["write", "3", None, "false"],
        ["parse", "3", None, "false"],
    ]
    assert window.run("document.activeElement.textContent").startswith("main")


def test_a_difference_names_scale_noise_and_renames(window: Any, opened: Opener) -> None:
    opened(difference())
    legend = text(window, "legend")
    assert "amounts: sums over all runs" in legend
    assert "grey: changes that 3 and 3 profiles of the two versions do not tell from noise" in legend
    assert "renamed: old.py → read.py" in legend
    window.press("ArrowDown", "ArrowDown")
    assert live(window).startswith("read, read.py:3, samples: +100 %: 50 → 100 (+50)")
    assert "within the noise" not in live(window)
    window.press("ArrowRight")
    assert "within the noise" in live(window)


def test_counting_is_the_noise_where_there_are_no_replicates(window: Any, opened: Opener) -> None:
    opened(difference(replicates=1))
    assert "grey: changes within the noise of counting samples" in text(window, "legend")
    window.press("ArrowDown", "ArrowDown", "ArrowRight")
    assert "within the noise" in live(window)


def test_both_sides_can_have_one_total(window: Any, opened: Opener) -> None:
    opened(difference())
    window.run("document.getElementById('scale').value = 'total'")
    window.run("document.getElementById('scale').dispatchEvent(new Event('change'))")
    assert "amounts: 2@i scaled to the total of 1@i" in text(window, "legend")
    assert text(window, "line").startswith("all · samples: ±0: 100 → 100 (±0)")
    assert window.run("location.hash") == "#scale=total"


def test_the_source_of_both_versions_stands_beside_the_cost(window: Any, opened: Opener) -> None:
    opened(difference())
    window.press("ArrowDown", "ArrowDown")
    assert text(window, "source-title").startswith("read at read.py, 1@i (aaaaaaaaaa) and 2@i (bbbbbbbbbb)")
    texts = "Array.from(row.cells, (cell) => cell.textContent)"
    lines = window.run(f"Array.from(document.querySelectorAll('#source tbody tr'), (row) => {texts})")
    assert ["", "4", "50", "100", "    with open(path) as file:"] in lines
    assert [row[0] for row in lines] == ["", "", "−", "+"]
    window.press("ArrowRight")
    assert window.run("document.getElementById('source').hidden") is True


def test_no_source_is_in_a_page_that_shall_have_none(window: Any, opened: Opener, tmp_path: Path) -> None:
    opened(difference(), source=False)
    window.press("ArrowDown", "ArrowDown")
    assert window.run("document.getElementById('source').hidden") is True


def test_versions_are_walked_with_a_slider(window: Any, opened: Opener) -> None:
    opened(history([3, 4, 9, 20]))
    window.press("ArrowDown", "ArrowDown")
    assert text(window, "share") == "read: 20 % in 0000000000; first above 5 % in 0000000000 (9 %)."
    assert window.run("document.getElementById('version').ariaValueText") == "0000000000 Change 3"
    window.press("V", "V", "V", "ArrowDown", "ArrowDown")
    assert text(window, "share").startswith("read: 3 % in")
    assert window.run("location.hash") == "#version=0"
    rows = "Array.from(document.querySelectorAll('#shares tbody tr'), (row) => row.cells[2].textContent)"
    assert window.run(rows) == ["3 %", "4 %", "9 %", "20 %"]
    assert window.run("document.querySelectorAll('#chart .change').length") == 1
    window.run("document.getElementById('limit').value = '30'")
    window.run("document.getElementById('limit').dispatchEvent(new Event('input'))")
    assert text(window, "share").endswith("never above 30 %.")


def test_two_versions_of_a_history_are_compared(window: Any, opened: Opener) -> None:
    opened(history([3, 4, 9, 20]), "#base=0")
    window.press("ArrowDown", "ArrowDown", "ArrowRight")
    assert live(window).startswith("read, read.py:3, samples: +567 %: 3 → 20 (+17)") or "3 → 20" in live(window)
    assert text(window, "legend").startswith("gone")


def test_an_address_of_another_page_breaks_nothing(window: Any, opened: Opener) -> None:
    for subject in (of(PROGRAM), TIMES, difference(), history([1, 2, 3])):
        opened(
            subject,
            "#thread=9&version=7&base=99&scale=x&focus=999&hide=1.x.99&fold=zr&sandwich=4444&regex=true&search=(",
        )
        assert window.problems == []
        assert text(window, "line")


STATES: dict[str, tuple[Callable[[], Profile | ViewData], tuple[str, ...]]] = {
    "time": (lambda: TIMES, ("t", "o", "o", "ArrowDown")),
    "sandwich": (lambda: of(PROGRAM), ("ArrowDown", "ArrowDown", "s", "ArrowDown")),
    "filters": (lambda: of(PROGRAM), ("ArrowDown", "ArrowDown", "h", "ArrowRight", "c", "r", "l", "p")),
    "difference": (difference, ("ArrowDown", "ArrowDown", "Enter")),
    "history": (lambda: history([3, 4, 9, 20]), ("V", "ArrowDown", "ArrowDown")),
    "compared": (lambda: history([3, 4, 9, 20]), ("ArrowDown", "ArrowDown", "e")),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("scheme", ["light", "dark", "forced"])
def test_axe_finds_nothing_in_any_state(window: Any, opened: Opener, axe: str, scheme: str, state: str) -> None:
    if scheme == "forced":
        window.media(forced_colors="active", prefers_reduced_motion="reduce")
    else:
        window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    make, keys = STATES[state]
    for size in ((1200, 800), (400, 700)):
        window.resize(*size)
        opened(make(), "#base=0" if state == "compared" else "")
        window.run(axe)
        window.press(*keys)
        found = window.run(
            "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map((n) => n.html)]))"
        )
        assert found == []
        assert window.run("document.documentElement.scrollWidth") <= size[0]
    assert window.problems == []


def test_the_text_of_the_data_is_what_python_decodes() -> None:
    """The digits of the page are those of base 85, three of them others."""
    page = FakeOutput()
    FlamegraphView().render(profiles.subject(of(PROGRAM)), page)
    digits = page.text.split('const DIGITS = "')[1].split('"')[0]
    assert len(set(digits)) == len(digits) == 85
    alphabet = base64.b85encode(bytes(range(256)) * 40).translate(bytes.maketrans(b"&<>", b".,/")).decode()
    assert set(alphabet) <= set(digits)
