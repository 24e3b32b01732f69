"""The page as people use it, in a real browser."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from perfcore_diff_amounts import Amounts
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_view_flamegraph import FlamegraphSettings, FlamegraphView

from perfcore.model import Profile
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

Stack = tuple[str, ...]
Opener = Callable[..., str]

PROGRAM: dict[Stack, int] = {
    ("main", "parse", "read"): 30,
    ("main", "parse"): 10,
    ("main", "write", "read"): 50,
    ("start",): 10,
}
CANARY = "window.hacked = true"
HOSTILE = (
    *hostile.NAMES,
    f"</script><script>{CANARY}</script>",
    f'<img src=x onerror="{CANARY}">',
    f"\"'><svg/onload='{CANARY}'>",
    f"javascript:{CANARY}",
    "{{data}} {{title}} \\u003c \u2028\u2029",
    b"caf\xe9".decode("utf-8", "surrogateescape"),
)


def of(stacks: dict[Stack, int], name: str = "samples", **more: list[int]) -> Profile:
    builder = StackBuilder()
    rows = [builder.add(Frame(name, f"{name}.py", 3, 1) for name in stack) for stack in stacks]
    values = [column(name, list(stacks.values()), role="value")]
    values += [column(key, amounts, unit="B", role="value") for key, amounts in more.items()]
    resources = table("resources", [column("stack", rows), *values])
    return profiles.sampled().replace_tables(resources=resources, **builder.tables())


@pytest.fixture
def opened(window: Any, tmp_path: Path) -> Opener:
    """Writes a page and opens it; gives its address."""

    def opened(profile: Profile, name: str = "0@p", **settings: Any) -> str:
        path = tmp_path / "page.html"
        output = FakeOutput(path=path)
        FlamegraphView(FlamegraphSettings(**settings)).render(profiles.subject(profile, names=(name,)), output)
        window.open(path.as_uri())
        return path.as_uri()

    return opened


def text(window: Any, name: str) -> str:
    return str(window.run(f"document.getElementById('{name}').textContent"))


def place(window: Any, level: int, share: float) -> tuple[float, float]:
    """A point on the picture: so many levels below the root, at this share of the width."""
    box = "document.getElementById('canvas').getBoundingClientRect()"
    left, top, width = (window.run(f"{box}.{side}") for side in ("left", "top", "width"))
    return left + share * width, top + 20 * level + 9


def color(window: Any, level: int, share: float) -> str:
    """What is painted there, as #rrggbb."""
    return str(
        window.run(
            f"""(() => {{
                const canvas = document.getElementById('canvas'), dense = devicePixelRatio;
                const x = {share} * canvas.width, y = ({level} * 20 + 4) * dense;
                const [r, g, b] = canvas.getContext('2d').getImageData(x, y, 1, 1).data;
                return '#' + [r, g, b].map((part) => part.toString(16).padStart(2, '0')).join('');
            }})()"""
        )
    )


def rows(window: Any) -> list[list[str]]:
    """The table as it is shown."""
    texts = "Array.from(row.cells, (cell) => cell.textContent)"
    found: list[list[str]] = window.run(f"Array.from(document.querySelectorAll('#table tbody tr'), (row) => {texts})")
    return found


def test_it_opens_from_a_file_and_asks_for_nothing_else(window: Any, opened: Opener) -> None:
    address = opened(of(PROGRAM))
    assert [one for one in window.requests if one != "about:blank"] == [address]
    assert window.problems == []
    assert rows(window)[0] == ["read", "read.py:1", "80", "80 %", "80", "80 %"]


def test_paper_shows_the_graph_in_its_width_and_light_colours(window: Any, opened: Opener) -> None:
    window.media(prefers_color_scheme="dark")
    opened(of({("main", *["visit"] * 300): 10, ("main", "leaf"): 5}))
    window.settle("document.documentElement.dataset.theme === 'dark'")
    window.run("""matchMedia('print').addEventListener('change', ({ matches }) => {
        if (!matches) return;
        const canvas = document.getElementById('canvas'), last = canvas.height - 10, pixel = (x, y) => [
            ...canvas.getContext('2d').getImageData(x, y, 1, 1).data.slice(0, 3)].join();
        window.paper = { over: canvas.clientWidth - canvas.closest('.stage').clientWidth, tall: canvas.clientHeight,
            room: canvas.parentElement.clientHeight, right: pixel(canvas.width - 9, last), left: pixel(9, last) };
    })""")
    window.call("Page.printToPDF")
    paper = window.run("paper")
    assert paper["over"] == 0
    assert paper["tall"] == paper["room"] > 500
    assert paper["right"] == "255,255,255" != paper["left"]
    assert window.run("document.documentElement.dataset.theme") == "dark"


def test_the_graph_is_drawn_for_paper_where_the_page_is_still_as_wide_as_the_window(
    window: Any, opened: Opener
) -> None:
    """So Firefox says that a page is to be printed."""
    opened(of({("main", f"visit {number}"): 10 for number in range(80)}))
    before = window.run("document.getElementById('canvas').width")
    window.call("Emulation.setEmulatedMedia", media="print")
    window.frames(4)
    assert window.run("document.getElementById('canvas').width") == 718
    assert window.run("document.getElementById('map').width") == 718
    assert window.run("document.getElementById('more').offsetParent") is None
    window.call("Emulation.setEmulatedMedia", media="")
    window.frames()
    assert window.run("document.getElementById('canvas').width") == before


def test_a_foreign_script_does_not_run(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.run(
        f"document.body.append(Object.assign(document.createElement('script'), {{ textContent: '{CANARY}' }}));"
        "document.body.append(Object.assign(new Image(), { src: 'http://example.com/x.png' }));"
    )
    window.frames()
    assert window.run("window.hacked") is None
    assert len([problem for problem in window.problems if "Content Security Policy" in problem]) == 2


def test_hostile_names_stay_text(window: Any, opened: Opener) -> None:
    profile = of(
        dict.fromkeys(((name,) for name in HOSTILE), 5), name="<b>samples</b>", **{"<i>more</i>": [1] * len(HOSTILE)}
    )
    opened(profile, name=HOSTILE[-2], title=f"</title><script>{CANARY}</script>")
    for at in range(len(HOSTILE)):
        window.mouse("mouseMoved", *place(window, 1, (at + 0.5) / len(HOSTILE)))
    window.press("m", "i", "/")
    window.write("<img")
    assert window.run("window.hacked") is None
    assert window.run("document.querySelectorAll('img, b:not(#tip b), i:not(#legend i), svg:not(#chart)').length") == 0
    assert window.problems == []
    assert [row[0] for row in rows(window)] == [name for name in HOSTILE if "<img" in name]
    assert window.run("document.title") == f"</title><script>{CANARY}</script>"


def test_search_lights_up_matches_and_says_their_share(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    before = color(window, 2, 0.1)
    window.press("/")
    window.write("WRIT")
    assert text(window, "found") == "50 % of the whole (50) is in 1 matching function"
    assert color(window, 2, 0.1) == "#ffd23e" != before
    assert color(window, 2, 0.7) != "#ffd23e"
    assert [row[0] for row in rows(window)] == ["write"]
    window.press("Enter")
    assert text(window, "line").startswith("write")
    window.press("Escape")
    assert text(window, "found") == ""


def test_a_match_below_a_match_counts_once(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.press("Control+f")
    window.write("e")
    assert text(window, "found").startswith("90 % of the whole")


def test_the_mouse_zooms_in_and_escape_goes_back(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.click(*place(window, 2, 0.7))
    assert "parse" in text(window, "line")
    assert "40 % of what is shown" not in text(window, "line")
    assert "100 % of what is shown" in text(window, "line")
    window.mouse("mouseMoved", *place(window, 3, 0.5))
    assert text(window, "line").startswith("read")
    assert "75 % of what is shown" in text(window, "line")
    assert window.run("location.hash") == "#zoom=1.2"
    window.press("Escape")
    assert window.run("location.hash") == ""
    window.mouse("mouseMoved", *place(window, 3, 0.2))
    assert "total 50 (50 %)" in text(window, "line")


def test_the_tip_says_what_is_below_the_pointer(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.mouse("mouseMoved", *place(window, 2, 0.7))
    assert text(window, "tip") == "parseparse.py:1samples: own 10 (10 %), total 40 (40 %)"
    window.mouse("mouseMoved", 5, 5)
    assert window.run("document.getElementById('tip').hidden") is True


def test_the_wheel_zooms_around_the_pointer_and_drags_move(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    x, y = place(window, 2, 0.2)
    window.mouse("mouseMoved", x, y)
    for _ in range(3):
        window.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200, modifiers=2)
    assert text(window, "line").startswith("write")
    window.settle("location.hash.includes('window=')")
    held = window.run("location.hash")
    window.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    window.mouse("mouseMoved", x - 150, y, button="left", buttons=1)
    window.mouse("mouseReleased", x - 150, y, button="left", clickCount=1)
    window.settle(f"location.hash !== '{held}'")
    for _ in range(9):
        window.mouse("mouseWheel", x, y, deltaX=0, deltaY=200, modifiers=2)
    window.settle("location.hash === ''")


def test_the_keyboard_reaches_every_frame_and_tells_where_it_is(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.press("ArrowDown", "ArrowDown")
    assert text(window, "live").startswith(
        "write, write.py:1, samples: own 0 (0 %), total 50 (50 %), level 3, 1 of 2, 1 called"
    )
    window.press("ArrowRight")
    assert text(window, "live").startswith("parse,")
    window.press("Enter")
    assert window.run("location.hash") == "#zoom=1.2"
    window.press("ArrowDown")
    assert text(window, "live").startswith("read,")
    window.press("ArrowUp", "ArrowUp", "ArrowRight")
    assert text(window, "live").startswith("start,")
    window.press("Home")
    assert text(window, "live").startswith("all,")
    assert window.run("location.hash") == ""
    window.press("?")
    assert window.run("document.getElementById('help').open") is True
    window.press("Escape")
    assert window.run("document.getElementById('help').open") is False


def test_flipped_the_root_is_at_the_bottom_and_arrows_follow_the_eye(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    root = color(window, 0, 0.5)
    window.press("f")
    assert color(window, 3, 0.5) == root != color(window, 0, 0.5)
    window.press("ArrowUp")
    assert text(window, "live").startswith("main,")


def test_what_is_too_thin_to_be_drawn_is_counted_in_one_box(window: Any, opened: Opener) -> None:
    opened(of({("big",): 100_000, **{(f"f{number}",): 10 for number in range(5_000)}}))
    assert color(window, 1, 0.9) == "#e6e8ec" != color(window, 1, 0.5)
    window.mouse("mouseMoved", *place(window, 1, 0.9))
    assert text(window, "line").startswith("all")
    for _ in range(4):
        window.mouse("mouseWheel", *place(window, 1, 0.7), deltaX=0, deltaY=-200, modifiers=2)
    window.mouse("mouseMoved", *place(window, 1, 0.8))
    assert text(window, "line").startswith("f")


def test_inverted_callers_stand_below_the_functions_they_call(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.press("i", "ArrowDown")
    assert text(window, "live") == "read, read.py:1, samples: total 80 (80 %), level 2, 1 of 3, 2 callers"
    window.press("ArrowDown", "ArrowRight")
    assert text(window, "live").startswith("parse, parse.py:1, samples: total 30 (30 %)")
    window.press("Enter")
    window.press("/")
    window.write("main")
    assert text(window, "found").startswith("100 % of what is shown (30)")


def test_the_order_is_by_amount_or_by_name(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.press("o")
    window.mouse("mouseMoved", *place(window, 2, 0.1))
    assert text(window, "line").startswith("parse")


def test_metrics_can_be_switched(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM, memory=[2048, 0, 1024, 1024]))
    assert window.run("document.getElementById('metric-label').hidden") is False
    window.press("m")
    assert rows(window)[0][0] == "read"
    assert rows(window)[0][2:] == ["3 KiB", "75 %", "3 KiB", "75 %"]
    window.mouse("mouseMoved", *place(window, 2, 0.1))
    assert "parse" in text(window, "line")
    assert "memory: own 0 B (0 %), total 2 KiB (50 %)" in text(window, "line")


def test_the_table_sorts_by_a_click_on_a_heading(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))

    def sort(column: int) -> list[str]:
        window.run(f"document.querySelectorAll('#table th button')[{column}].click()")
        return [row[0] for row in rows(window)]

    assert sort(4) == ["main", "read", "write", "parse", "start"]
    assert window.run("document.querySelectorAll('#table th')[4].ariaSort") == "descending"
    assert sort(4) == ["start", "parse", "write", "read", "main"]
    assert sort(0) == ["main", "parse", "read", "start", "write"]


def test_long_tables_show_more_when_asked(window: Any, opened: Opener) -> None:
    opened(of({(f"f{number}",): 1 for number in range(120)}))
    assert (len(rows(window)), text(window, "rows")) == (50, "samples: 50 of 120 functions")
    window.run("document.getElementById('more').click()")
    assert len(rows(window)) == 120
    assert window.run("document.getElementById('more').hidden") is True


def test_a_name_in_the_table_shows_its_callers_and_callees(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.run("document.querySelector('#table tbody button').click()")
    assert text(window, "filters") == "callers and callees of read ✕"


def test_a_function_that_calls_itself_counts_once(window: Any, opened: Opener) -> None:
    opened(of({("f", "g", "f"): 5, ("f",): 3}))
    assert {row[0]: (row[2], row[4]) for row in rows(window)} == {"f": ("8", "8"), "g": ("0", "5")}


def test_dark_is_what_the_user_prefers_or_chooses(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    light = color(window, 1, 0.5)
    window.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
    dark = color(window, 1, 0.5)
    assert dark != light
    window.press("d")
    assert color(window, 1, 0.5) == light
    assert window.run("location.hash") == "#theme=light"


def test_what_is_shown_is_in_the_address_and_comes_back(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM, memory=[2048, 10, 1024, 1024]))
    window.press("m", "o", "f", "d", "i", "ArrowUp", "Enter", "/")
    window.write("main")

    def shown() -> list[str]:
        return [window.run("location.hash"), text(window, "found"), text(window, "line"), color(window, 2, 0.5)]

    before = shown()
    assert before[0] == "#metric=memory&search=main&zoom=2&order=name&inverted=true&flame=true&theme=dark"
    window.reload()
    assert shown() == before
    window.run("location.hash = ''")
    window.settle("document.getElementById('search').value === ''")
    assert text(window, "line").startswith("all")


def test_an_address_that_leads_nowhere_shows_the_whole(window: Any, opened: Opener) -> None:
    address = opened(of(PROGRAM))
    window.open(address + "#zoom=1.99.5*x&metric=nothing&order=constructor&window=2~-1&theme=pink&inverted=maybe")
    assert window.problems == []
    assert text(window, "line").startswith("main")


def test_a_difference_is_said_in_signs_and_words(window: Any, opened: Opener) -> None:
    target = {**PROGRAM, ("main", "write", "read"): 25, ("main", "cache"): 20}
    del target[("start",)]
    opened(Amounts().diff(of(PROGRAM), of(target)), name="0@p -> 1@p")
    assert "baseline 0@p, target 1@p; samples: 100 → 85, −15.0 %" in window.run(
        "document.querySelector('header').textContent"
    )
    assert text(window, "legend").startswith("gonelessthe samemorenewfrom 0@p to 1@p")
    assert {row[0]: row[2:] for row in rows(window)} == {
        "read": ["−25", "−25", "80", "55", "−31.3 %"],
        "cache": ["+20", "+20", "0", "20", "new"],
        "start": ["−10", "−10", "10", "0", "gone"],
        "parse": ["±0", "±0", "40", "40", "±0"],
        "write": ["±0", "−25", "50", "25", "−50 %"],
        "main": ["±0", "−5", "90", "85", "−5.56 %"],
    }
    window.press("ArrowDown", "ArrowDown")
    assert text(window, "live").startswith("write, write.py:1, samples: −50 %: 50 → 25 (−25)")
    kinds = {color(window, 2, share) for share in (0.2, 0.6, 0.85)}  # less, the same, new
    assert len(kinds) == 3


def tab_to(window: Any, selector: str) -> None:
    """Press Tab until the focus is there. It has to be seen: in the window, and not below the status line."""
    for _ in range(60):
        window.press("Tab")
        if window.run(f"document.activeElement.matches({selector!r})"):
            break
    else:
        raise AssertionError(f"the Tab key does not reach {selector}")
    window.frames()
    seen = window.run(
        "(({left, right, top, height}) => document.activeElement.contains("
        "document.elementFromPoint((left + right) / 2, top + Math.min(height / 2, 20))))"
        "(document.activeElement.getBoundingClientRect())"
    )
    assert seen is True, f"the focus on {selector} is not seen"


def test_a_difference_is_explored_by_keys_alone_on_a_small_dark_screen(window: Any, opened: Opener) -> None:
    window.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
    window.resize(400, 800)
    target = {**PROGRAM, ("main", "write", "read"): 25, ("main", "cache"): 20}
    opened(Amounts().diff(of(PROGRAM), of(target)), name="0@p -> 1@p")
    assert window.run("document.documentElement.dataset.theme") == "dark"
    assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
    tab_to(window, "#search")
    window.press(*"cache")
    window.settle("document.getElementById('line').textContent.includes('cache') || location.hash.includes('cache')")
    tab_to(window, "#canvas")
    window.press("ArrowDown", "ArrowDown")
    assert text(window, "live").startswith("write, write.py:1, samples: −50 %: 50 → 25 (−25)")
    window.press("Enter")
    assert text(window, "line").startswith("write")
    assert "zoom=" in window.run("location.hash")
    window.press("Escape")
    assert "zoom=" not in window.run("location.hash")
    tab_to(window, "#table tbody button")
    name = window.run("document.activeElement.textContent")
    window.press("Enter")
    window.frames()
    assert text(window, "line").startswith(name) or name in text(window, "live")
    assert window.run("document.documentElement.scrollWidth <= innerWidth") is True
    assert window.problems == []


@pytest.mark.parametrize("compared", [False, True])
def test_a_telephone_shows_the_amounts_that_sort_the_table(window: Any, opened: Opener, compared: bool) -> None:
    window.resize(400, 800)
    profile = of({("a_function_of_a_long_name_in_some_library_or_other",): 3, ("main", "write"): 5})
    opened(Amounts().diff(profile, of(PROGRAM)) if compared else profile)
    assert (
        200 < window.run("document.querySelector('#table tbody td:nth-child(3)').getBoundingClientRect().right") <= 400
    )


def test_a_difference_may_stand_beside_another_metric(window: Any, opened: Opener) -> None:
    memory: dict[str, Any]
    memory = {"memory": [1, 2, 3, 4], "baseline memory": [2, 2, 0, 4], "target memory": [3, 4, 3, 8]}
    opened(of(PROGRAM, **memory), name="1@p -> 2@p")
    assert window.run("document.getElementById('legend').hidden") is True
    window.press("m")
    assert text(window, "legend").endswith(
        "from 1@p to 2@p; a box is as wide as the larger of bothamounts: sums over all runs"
    )
    assert rows(window)[0][:3] == ["read", "read.py:1", "+4 B"]
    assert window.problems == []


def test_a_window_of_another_size_or_density_is_filled(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.resize(400, 700, 2)
    window.settle("document.getElementById('canvas').width === 2 * document.getElementById('stage').clientWidth")
    assert window.run("document.documentElement.scrollWidth") <= 400
    window.mouse("mouseMoved", *place(window, 2, 0.7))
    assert text(window, "line").startswith("parse")


def test_a_picture_that_scrolls_leaves_room_for_its_scroll_bar(window: Any, opened: Opener) -> None:
    window.resize(400, 500)
    opened(of({("f",) * 60: 1}))
    assert window.run("document.getElementById('stage').scrollHeight") >= 61 * 20
    widths = [window.run(f"document.getElementById('{name}').clientWidth") for name in ("canvas", "stage")]
    assert widths[0] == widths[1]
    window.press(*["ArrowDown"] * 50)
    assert window.run("document.getElementById('stage').scrollTop") > 0
    assert "level 51" in text(window, "live")


def test_forced_colours_are_kept(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.media(forced_colors="active", prefers_reduced_motion="reduce")
    window.press("/")
    window.write("write")
    assert color(window, 2, 0.7) != "#ffd23e"
    assert color(window, 2, 0.1) != color(window, 2, 0.7)
    assert window.problems == []


def shares(window: Any, name: str) -> dict[str, float]:
    """How much of a canvas is nearest to each of the colours that a user forces upon a page."""
    script = """(() => {
        const names = ['Canvas', 'CanvasText', 'GrayText'], canvas = document.getElementById(%r);
        const probe = document.createElement('canvas').getContext('2d');
        const colors = names.map((name) => {
            probe.fillStyle = name;
            probe.fillRect(0, 0, 1, 1);
            return probe.getImageData(0, 0, 1, 1).data;
        });
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height), counts = [0, 0, 0];
        for (let at = 0; at < data.length; at += 4) {
            const far = colors.map((color) => Math.hypot(...[0, 1, 2].map((part) => data[at + part] - color[part])));
            counts[far.indexOf(Math.min(...far))] += 4 / data.length;
        }
        return Object.fromEntries(names.map((name, number) => [name, counts[number]]));
    })()"""
    found: dict[str, float] = window.run(script % name)
    return found


def test_many_thin_boxes_are_no_black_band_in_forced_colours(window: Any, opened: Opener) -> None:
    window.media(forced_colors="active", prefers_reduced_motion="reduce")
    opened(of({("main", f"handle {number}", "read"): 1 for number in range(500)}))
    picture, overview = shares(window, "canvas"), shares(window, "map")
    assert picture["CanvasText"] < 0.15
    assert picture["GrayText"] > 0.3
    assert overview["CanvasText"] < 0.01
    assert overview["GrayText"] > 0.2


def test_a_saved_picture_has_colours_of_its_own_where_they_are_forced(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.run(
        "URL.createObjectURL = (blob) => { window.kept = blob; return 'blob:x'; };"
        "HTMLAnchorElement.prototype.click = function () {};"
    )
    window.run("document.getElementById('svg').click()")
    plain = window.run("window.kept.text()")
    window.media(forced_colors="active", prefers_reduced_motion="reduce")
    window.run("document.getElementById('svg').click()")
    assert window.run("window.kept.text()") == plain
    assert "Canvas" not in plain


def test_motion_ends_where_it_would_without(window: Any, opened: Opener) -> None:
    opened(of(PROGRAM))
    window.media(prefers_reduced_motion="no-preference")
    window.press("ArrowDown", "ArrowDown", "ArrowRight", "Enter")
    window.frames(30)
    window.mouse("mouseMoved", *place(window, 3, 0.7))
    assert text(window, "line").startswith("read")


def test_a_browser_that_is_too_old_is_told(window: Any, opened: Opener) -> None:
    script = window.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")
    opened(of(PROGRAM))
    window.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    assert "has no DecompressionStream" in text(window, "problem")


def test_ten_thousand_calls_deep_is_shown(window: Any, opened: Opener) -> None:
    opened(of({("f",) * 10_000: 2, ("f", "g"): 1}))
    window.press("i", "f", "Home", "f", "i", "ArrowDown", "Enter")
    window.run("location.hash = 'zoom=0*9999'")
    window.settle("document.getElementById('line').textContent.includes('total 2 (66.7 %)')")
    window.press("ArrowDown")
    assert "level 10001" in text(window, "live")
    assert window.problems == []


def test_two_hundred_thousand_nodes_open_and_can_be_explored(window: Any, opened: Opener) -> None:
    opened(_large())
    window.press("ArrowDown", "Enter", "i", "ArrowDown", "Enter", "o", "f", "/")
    window.write("Module7")
    assert "% of what is shown" in text(window, "found")
    assert window.problems == []
    assert window.run("document.querySelectorAll('*').length") < 1000


def _large() -> Profile:
    """20,000 stacks, which are about 200,000 nodes."""
    chance = random.Random(1)
    paths: list[Stack] = [("main",)]
    while len(paths) < 20_000:
        known = chance.choice(paths)
        kept = known[: chance.randint(1, len(known))]
        new = (chance.randrange(4_000) for _ in range(chance.randint(5, 15)))
        paths.append((*kept, *(f"Module{number % 300}.function_{number}" for number in new)))
    return of({path: int(chance.paretovariate(1.2) * 10) for path in paths})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1200, 800), (400, 700)])
def test_axe_finds_nothing(window: Any, opened: Opener, axe: str, scheme: str, size: tuple[int, int]) -> None:
    window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    window.resize(*size)
    for profile in (of(PROGRAM, memory=[1, 2, 3, 4]), Amounts().diff(of(PROGRAM), of({("main", "new"): 5}))):
        opened(profile)
        window.run(axe)
        for keys in ((), ("i", "ArrowDown", "Enter"), ("?",)):
            window.press(*keys)
            found = window.run(
                "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map((n) => n.html)]))"
            )
            assert found == []
        assert window.run("axe.run().then(({ passes }) => passes.length)") > 10
