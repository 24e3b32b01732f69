"""The page as people use it, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_view_topology import TopologySettings, TopologyView

from perfcore.model import Profile

Opener = Callable[..., str]

CANARY = "window.hacked = true"
HOSTILE = (
    *hostile.NAMES,
    f"</script><script>{CANARY}</script>",
    f'<img src=x onerror="{CANARY}">',
    f"\"'><svg/onload='{CANARY}'>",
    f"javascript:{CANARY}",
    "{{data}} {{title}} \\u003c \u2028\u2029",
    "__proto__",
    "constructor",
)


@pytest.fixture
def opened(window: Any, tmp_path: Path) -> Opener:
    """Writes a page and opens it; gives its address."""

    def opened(*found: Profile, fragment: str = "", names: tuple[str, ...] | None = None, **settings: Any) -> str:
        path = tmp_path / "page.html"
        output = FakeOutput(path=path)
        TopologyView(TopologySettings(**settings)).render(profiles.subject(*found, names=names), output)
        window.open(path.as_uri() + fragment)
        return path.as_uri()

    return opened


def text(window: Any, name: str) -> str:
    return str(window.run(f"document.getElementById('{name}').textContent"))


def tiles(window: Any) -> list[str]:
    """What the threads say, in the order of the picture."""
    found: list[str] = window.run("Array.from(document.querySelectorAll('.tile'), (tile) => tile.textContent)")
    return found


def color(window: Any, number: int) -> str:
    """The colour of a thread of the picture; nothing where it has no value."""
    return str(window.run(f"document.querySelectorAll('.tile')[{number}].style.backgroundColor"))


def place(window: Any, what: str, number: int = 0) -> tuple[float, float]:
    """The middle of something in the picture, its top left corner for a part."""
    node = f"document.querySelectorAll('{what}')[{number}].getBoundingClientRect()"
    left, top, width, height = (window.run(f"{node}.{side}") for side in ("left", "top", "width", "height"))
    return (left + width / 2, top + height / 2) if "tile" in what else (left + 4, top + 4)


def rows(window: Any, table: str = "table") -> list[list[str]]:
    """A table as it is shown."""
    texts = "Array.from(row.cells, (cell) => cell.textContent)"
    found: list[list[str]] = window.run(f"Array.from(document.querySelectorAll('#{table} tbody tr'), (row) => {texts})")
    return found


def test_it_opens_from_a_file_and_asks_for_nothing_else(window: Any, opened: Opener) -> None:
    address = opened(profiles.counted(), metric="task-clock")
    assert [one for one in window.requests if one != "about:blank"] == [address]
    assert window.problems == []
    assert len(tiles(window)) == 9
    assert rows(window)[1] == [
        "1",
        "package 0 · NUMA 0 · L3 #0 · core 1",
        *("34.7k", "23.1k", "11.6 µs", "1.5", "5.6 %"),
    ]


def test_a_foreign_script_does_not_run(window: Any, opened: Opener) -> None:
    opened(profiles.counted())
    window.run(
        f"document.body.append(Object.assign(document.createElement('script'), {{ textContent: '{CANARY}' }}));"
        "document.body.append(Object.assign(new Image(), { src: 'http://example.com/x.png' }));"
    )
    window.frames()
    assert window.run("window.hacked") is None
    assert len([problem for problem in window.problems if "Content Security Policy" in problem]) == 2


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(window: Any, opened: Opener, machines: Any, name: str) -> None:
    cpus = [type(cpu)(cpu=cpu.cpu, core=cpu.core, l3=name, kind=name) for cpu in machines.regular(cores=3)]
    plain = machines.counted(cpus, [0, 1], command=name, elsewhere=[None])
    resources = plain.tables["resources"]
    renamed = [
        attrs.evolve(column, spec=attrs.evolve(column.spec, name=name, unit=name))
        if column.name == "task-clock"
        else column
        for column in resources.columns
    ]
    profile = plain.replace_tables(resources=type(resources)("resources", tuple(renamed), resources.rows))
    opened(profile, profile, names=(name, name), title=name)
    window.mouse("mouseMoved", *place(window, ".tile"))
    window.press("m", "m", "c", "m")
    assert window.run("window.hacked") is None
    assert window.run("document.querySelectorAll('img, svg, main script, #tip script').length") == 0
    assert window.problems == []


def test_the_colour_says_how_much(window: Any, opened: Opener, machines: Any) -> None:
    opened(machines.counted(machines.regular(cores=4), [0, 1], absent=[3]), metric="task-clock")
    first, second, idle, absent = (color(window, number) for number in range(4))
    assert len({first, second, idle, absent}) == 4
    assert absent == ""
    assert window.run("document.querySelectorAll('.tile')[3].classList.contains('absent')")
    assert [tile[:5] for tile in tiles(window)] == ["CPU 0", "CPU 1", "CPU 2", "CPU 3"]
    assert tiles(window)[2:] == ["CPU 20 ns", "CPU 3no value"]
    assert text(window, "legend").startswith("task-clock0 ns")
    assert "no value" in text(window, "legend")


def test_the_metric_is_chosen_in_the_page_and_kept_in_its_address(window: Any, opened: Opener) -> None:
    opened(profiles.counted())
    assert text(window, "legend").startswith("PAPI_TOT_INS0")
    choose = "Object.assign(document.getElementById('metric'), { value: '3' }).dispatchEvent(new Event('change'))"
    window.run(choose)
    window.frames()
    assert text(window, "legend").startswith("ipc (instructions per cycle)0")
    assert window.run("location.hash") == "#metric=ipc"
    window.reload()
    assert text(window, "legend").startswith("ipc")
    window.press("m")
    assert text(window, "legend").startswith("PAPI_TOT_INS")
    assert window.run("location.hash") == ""


def test_the_tip_has_the_numbers(window: Any, opened: Opener) -> None:
    opened(profiles.counted(), metric="task-clock")
    window.mouse("mouseMoved", *place(window, ".tile"))
    tip = text(window, "tip")
    assert tip.startswith("CPU 0package 0 · NUMA 0 · L3 #0 · core 0")
    assert "task-clock57.5 ns (55 ns … 60 ns in 2 runs), 0.0 % of all" in tip
    assert "ipc1.5 (1.5 … 1.5 in 2 runs)" in tip
    window.mouse("mouseMoved", *place(window, ".box"))
    assert text(window, "tip").startswith("package 0 · NUMA 0 · L3 #0CPU 0-1,4-5")
    window.mouse("mouseMoved", 5, 5)
    assert window.run("document.getElementById('tip').hidden") is True


def test_two_profiles_show_what_changed_where(window: Any, opened: Opener, machines: Any) -> None:
    cpus = machines.regular(packages=2, cores=2)
    opened(machines.counted(cpus, [0, 1]), machines.counted(cpus, [1, 2], seed=2), metric="task-clock")
    assert len(tiles(window)) == 8
    window.mouse("mouseMoved", *place(window, ".tile", 6))
    assert window.run("document.querySelectorAll('.tile.pointed').length") == 2
    assert "task-clock0 ns" in text(window, "tip")
    assert "new" in text(window, "line")
    moved = rows(window, "moved")
    assert moved[0][0].startswith("packages: ")
    assert moved[1][:2] == ["package 0", "100 %"]
    assert moved[2][:2] == ["package 1", "0 %"]
    table = rows(window)
    assert [row[0] for row in table] == ["0", "1", "2", "3"]
    assert [table[at][-1] for at in (0, 2, 3)] == ["gone", "new", "same"]
    window.press("c")
    assert len(tiles(window)) == 4
    assert text(window, "legend").startswith("change of task-clock−")
    assert window.run("location.hash") == "#show=change"
    assert tiles(window)[0].startswith("CPU 0−")
    assert tiles(window)[3] == "CPU 3±0"


def test_two_machines_are_drawn_and_not_compared(window: Any, opened: Opener, machines: Any) -> None:
    opened(machines.counted(machines.regular()), machines.counted(machines.hybrid()))
    assert len(tiles(window)) == 2 + 16
    assert window.run("document.getElementById('show-label').hidden") is True
    window.press("c")
    assert len(tiles(window)) == 2 + 16
    assert {row[0] for row in rows(window)} == {"baseline", "target"}
    assert "the machines differ" in window.run("document.querySelector('.titles p').textContent")


def test_the_keyboard_reaches_threads_and_parts_and_tells(window: Any, opened: Opener, machines: Any) -> None:
    opened(machines.counted(machines.regular(packages=2, caches=2, cores=2, threads=2), [0]), metric="task-clock")
    window.press("Home")
    assert text(window, "live").startswith("CPU 0, package 0")
    window.press("ArrowRight")
    assert text(window, "live").startswith("CPU 8, ")
    window.press("ArrowRight")
    assert text(window, "live").startswith("CPU 1, ")
    window.press("Escape")
    assert text(window, "live").startswith("L2 #1 · L1 #1 · core 1, CPU 1,9")
    window.press("Escape")
    assert text(window, "live").startswith("L3 #0, CPU 0-1,8-9; task-clock: ")
    window.press("ArrowRight")
    assert text(window, "live").startswith("L3 #1, ")
    window.press("Backspace")
    assert text(window, "live").startswith("package 0 · NUMA 0, ")
    window.press("Enter", "Enter", "Enter")
    assert text(window, "live").startswith("CPU 0, ")
    window.press("End")
    assert text(window, "live").startswith("CPU 15, ")


def test_tab_reaches_the_picture_and_every_table(window: Any, opened: Opener) -> None:
    opened(profiles.counted())
    reached = []
    for _ in range(40):
        window.call("Input.dispatchKeyEvent", type="rawKeyDown", key="Tab", windowsVirtualKeyCode=9)
        window.call("Input.dispatchKeyEvent", type="keyUp", key="Tab", windowsVirtualKeyCode=9)
        reached.append(
            window.run("document.activeElement.id || document.activeElement.getAttribute('aria-label') || ''")
        )
    assert {"metric", "stage", "Table of hardware threads", "Table of parts"} <= set(reached)


def test_tables_are_sorted_by_their_headings(window: Any, opened: Opener) -> None:
    opened(profiles.counted(), metric="task-clock")
    assert [row[0] for row in rows(window)][-2:] == ["7", "no CPU known"]
    window.run("document.querySelectorAll('#table th button')[4].click()")
    assert [row[0] for row in rows(window)] == ["6", "5", "4", "2", "1", "0", "no CPU known", "3", "7"]
    assert window.run("document.querySelectorAll('#table th')[4].ariaSort") == "descending"
    window.run("document.querySelectorAll('#table th button')[4].click()")
    assert rows(window)[0][0] == "0"


def test_dark_is_as_the_user_wants_it(window: Any, opened: Opener) -> None:
    window.media(prefers_color_scheme="dark")
    opened(profiles.counted())
    theme = "document.documentElement.dataset.theme"
    assert window.run(theme) == "dark"
    before = color(window, 5)
    window.press("d")
    assert window.run(theme) == "light"
    assert color(window, 5) != before
    assert window.run("location.hash") == "#theme=light"


@pytest.mark.parametrize(("packages", "caches", "cores"), [(1, 1, 1), (1, 1, 8), (2, 8, 4), (4, 8, 16)])
@pytest.mark.parametrize("width", [1200, 480])
def test_pictures_of_every_size_fit_the_window(
    window: Any, opened: Opener, machines: Any, packages: int, caches: int, cores: int, width: int
) -> None:
    window.resize(width, 800)
    cpus = machines.regular(packages=packages, caches=caches, cores=cores, threads=2)
    opened(machines.counted(cpus, range(0, len(cpus), 3), runs=1))
    assert len(tiles(window)) == len(cpus)
    assert window.run("document.documentElement.scrollWidth") <= width
    assert (
        window.run("document.getElementById('stage').scrollWidth - document.getElementById('stage').clientWidth") <= 0
    )
    shown = window.run("document.querySelectorAll('#table tbody tr').length")
    assert shown == min(len(cpus), 200)
    if len(cpus) > 200:
        window.run("document.getElementById('more').click()")
        assert window.run("document.querySelectorAll('#table tbody tr').length") == 1000
    assert window.problems == []


def test_no_text_is_cut_in_the_sizes_that_have_some(window: Any, opened: Opener, machines: Any) -> None:
    opened(machines.counted(machines.regular(packages=2, caches=8, cores=4, threads=2), range(100)))
    cut = "Array.from(document.querySelectorAll('.tile')).filter((tile) => tile.scrollWidth > tile.clientWidth).length"
    assert window.run(cut) == 0
    window.press("-")
    assert window.run(cut) == 0
    window.press("+", "+")
    assert window.run(cut) == 0


def test_damaged_data_are_told(window: Any, opened: Opener, tmp_path: Path) -> None:
    opened(profiles.counted())
    path = tmp_path / "page.html"
    page = path.read_text(encoding="utf-8")
    path.write_text(page.replace('id="data">{', 'id="data">'), encoding="utf-8")
    window.open(path.as_uri())
    assert "JSON" in text(window, "problem")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1200, 800), (400, 700)])
def test_axe_finds_nothing(
    window: Any, opened: Opener, axe: str, machines: Any, scheme: str, size: tuple[int, int]
) -> None:
    window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    window.resize(*size)
    cpus = machines.regular(packages=2, cores=2, threads=2)
    pair = machines.counted(cpus, [0, 1], elsewhere=[None]), machines.counted(cpus, [1, 2, 6], absent=[3])
    for found in ([profiles.counted()], pair, [machines.counted(machines.hybrid(), range(10)), pair[0]]):
        opened(*found)
        window.run(axe)
        for keys in ((), ("m", "c", "ArrowDown", "Escape"), ("?",)):
            window.press(*keys)
            problems = window.run(
                "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map((n) => n.html)]))"
            )
            assert problems == []
        assert window.run("axe.run().then(({ passes }) => passes.length)") > 10
