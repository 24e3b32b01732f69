"""The chart as people use it, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from perfcore_testing import histories
from perfcore_testing.pages import violations
from perfcore_view_kit.chart import ChartData, ChartOptions, Rule, chart, scripts, styles
from perfcore_view_kit.form import quantity
from perfcore_view_kit.history_chart import history_chart
from perfcore_view_kit.page import page
from perfcore_view_kit.still import still
from perfcore_view_kit.svg import ticks

Opener = Callable[..., str]
CANARY = "window.hacked = true"


@pytest.fixture
def opened(window: Any, tmp_path: Path) -> Opener:
    """Writes a page with these charts and opens it; gives its address."""

    def opened(*data: ChartData, fragment: str = "", **options: Any) -> str:
        figures = "".join(chart(each, ChartOptions(id=f"c{number}", **options)) for number, each in enumerate(data, 1))
        theme = '<button type="button" id="theme" aria-pressed="false">Dark</button>'
        body = f"<header><h1>Charts</h1>{theme}</header><main>{figures}</main>"
        path = tmp_path / "page.html"
        path.write_text(page("Charts", body, scripts(), styles=styles()), encoding="utf-8")
        window.open(path.as_uri() + fragment, "figure[data-drawn]")
        window.run("document.querySelector('canvas.plot').focus()")
        return path.as_uri()

    return opened


def text(window: Any, selector: str) -> str:
    return str(window.run(f"document.querySelector('{selector}').textContent"))


def live(window: Any) -> str:
    return text(window, "#c1 [role=status]")


def fragment(window: Any) -> str:
    window.run("new Promise((done) => setTimeout(done, 250))")
    return str(window.run("decodeURIComponent(location.hash)"))


def box(window: Any, selector: str) -> tuple[float, float, float, float]:
    node = f"document.querySelector('{selector}').getBoundingClientRect()"
    left, top, width, height = (window.run(f"{node}.{side}") for side in ("left", "top", "width", "height"))
    return left, top, width, height


def colors(window: Any, share: float) -> set[str]:
    """The colours in the column of pixels of the plot at this share of its width."""
    return set(
        window.run(
            f"""(() => {{
                const canvas = document.querySelector('canvas.plot'), height = canvas.height;
                const x = Math.round((76 + {share} * (canvas.clientWidth - 90)) * devicePixelRatio);
                const {{ data }} = canvas.getContext('2d').getImageData(x, 0, 1, height);
                const made = [];
                for (let at = 0; at < data.length; at += 4) made.push([...data.slice(at, at + 3)].join());
                return [...new Set(made)];
            }})()"""
        )
    )


def test_it_opens_from_a_file_and_asks_for_nothing_else(window: Any, opened: Opener, charts: Any) -> None:
    address = opened(charts.changed(), charts.several())
    assert [url for url in window.requests if url != "about:blank"] == [address]
    assert window.problems == []
    assert window.run("document.querySelectorAll('.still').length") == 0


def test_arrows_move_between_points_and_say_them(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.changed())
    window.press("ArrowRight", "ArrowRight", "ArrowRight")
    assert live(window) == ("0202020202, 2025-06-17, Change 2; 10 ms, 9.9 ms to 10.1 ms, 5 runs, inconclusive; 3 of 20")
    assert text(window, "#c1 .at").startswith("0202020202, 2025-06-17")
    window.press("ArrowRight", "ArrowRight")
    assert "not measured" in live(window)
    window.press("End")
    assert live(window).endswith("20 of 20")
    window.press("ArrowRight", "Home", "ArrowLeft")
    assert live(window).endswith("1 of 20")


def test_the_name_of_a_release_at_the_end_is_not_cut_off(window: Any, opened: Opener, charts: Any) -> None:
    made = charts.changed()
    ends = [*made.rules, Rule(at=19, kind="release", text="v1.1")]
    opened(replace(made, rules=ends))
    window.run(
        "window.ends = {}; const fill = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (words, x, y) {"
        " window.ends[words] = x + this.measureText(words).width; return fill.call(this, words, x, y); }"
    )
    for width in (1000, 400):
        window.resize(width, 800)
        window.frames(4)
        _, _, wide, _ = box(window, "canvas.plot")
        assert 0 < window.run("window.ends['⚑ v1.1']") <= wide - 14
        window.run("window.ends = {}")


def test_arrows_up_and_down_move_between_changes(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.changed())
    seen = []
    for _ in range(4):
        window.press("ArrowDown")
        seen.append(live(window).rpartition("; ")[0].rpartition("; ")[2])
    assert seen == [
        "release v1.0",
        "slower +20.0 %",
        "machine another environment",
        "faster -1.0 % accepted: agreed <b>",
    ]
    window.press("ArrowDown")
    assert live(window) == "no later change"
    window.press("ArrowUp", "ArrowUp")
    assert "slower" in live(window)


def test_every_decision_is_said_at_its_change(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.decided())
    seen = []
    for _ in range(3):
        window.press("ArrowDown")
        seen.append(text(window, "#c1 .at").rpartition("; ")[2])
    assert seen == [
        "slower +20.0 %",
        "slower +20.0 % confirmed by Ann: seen again <b>",
        "slower +20.0 % false alarm by Bo: a backup ran",
    ]
    left, top, width, _ = box(window, "canvas.plot")
    window.mouse("mouseMoved", left + 76 + 9.5 / 20 * (width - 90), top + 100)
    assert text(window, "#c1 .tip").endswith("confirmed by Ann: seen again <b>")


def test_decisions_are_told_apart_without_colour(window: Any, opened: Opener, charts: Any) -> None:
    window.call("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
    opened(charts.decided())
    window.run("document.activeElement.blur()")
    window.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    inside, beside = (
        [painted(window, (number + 0.5) / 20, begin, end) for number in (3, 9, 15)] for begin, end in ((-1, 2), (9, 18))
    )
    assert [share == 1 for share in inside] == [True, True, False]
    assert [share > 0.05 for share in beside] == [False, True, True]


def painted(window: Any, share: float, begin: int, end: int) -> float:
    """How much is not of the colour of the surface above the plot, at this share of its width, from so many pixels
    beside it to so many, in three rows through the middle of the signs."""
    return float(
        window.run(
            f"""(() => {{
                const canvas = document.querySelector('canvas.plot'), dense = devicePixelRatio;
                const x = 76 + {share} * (canvas.clientWidth - 90);
                const box = [(x + {begin}) * dense, 9 * dense, {end - begin} * dense, 3 * dense].map(Math.round);
                const context = canvas.getContext('2d'), surface = context.getImageData(77, 1, 1, 1).data.join();
                const {{ data }} = context.getImageData(...box);
                let count = 0;
                for (let at = 0; at < data.length; at += 4) count += data.slice(at, at + 4).join() !== surface;
                return 4 * count / data.length;
            }})()"""
        )
    )


def test_plus_minus_and_escape_zoom_and_the_address_holds_the_view(window: Any, opened: Opener, charts: Any) -> None:
    address = opened(charts.changed())
    window.press("ArrowDown", "ArrowDown", "+", "+")
    shown = fragment(window)
    assert shown == "#c1=0808080808~0c0c0c0c0c&c1.at=0a0a0a0a0a"
    assert "Shown: 0808080808 to 0c0c0c0c0c, 5 of 20 versions." in text(window, "#c1 .note")
    window.press("Escape", "Home", "z")
    assert fragment(window) == "#c1.at=0000000000&c1.zero=true"
    assert "not at zero" not in text(window, "#c1 .note")
    window.open(address + shown, "figure[data-drawn]")
    assert "Shown: 0808080808 to 0c0c0c0c0c" in text(window, "#c1 .note")
    window.run("location.hash = ''")
    window.settle("!document.querySelector('#c1 .note').textContent.includes('Shown')")


def test_the_wheel_zooms_a_chart_that_is_chosen_and_scrolls_the_page_otherwise(
    window: Any, opened: Opener, charts: Any
) -> None:
    opened(charts.changed())
    left, top, width, _ = box(window, "canvas.plot")
    window.run("document.activeElement.blur()")
    window.mouse("mouseWheel", left + width / 2, top + 90, deltaX=0, deltaY=-200)
    assert "Shown" not in text(window, "#c1 .note")
    window.run("document.querySelector('canvas.plot').focus()")
    for _ in range(4):
        window.mouse("mouseWheel", left + width / 2, top + 90, deltaX=0, deltaY=-200)
    assert "Shown" in text(window, "#c1 .note")
    for _ in range(8):
        window.mouse("mouseWheel", left + width / 2, top + 90, deltaX=0, deltaY=200)
    assert "Shown" not in text(window, "#c1 .note")


def test_dragging_zooms_to_the_range_and_a_click_chooses_a_point(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.changed())
    left, top, width, _ = box(window, "canvas.plot")

    def at(number: float) -> float:
        return left + 76 + (number + 0.5) / 20 * (width - 90)

    window.click(at(10), top + 120)
    assert "slower +20.0 %" in live(window)
    window.mouse("mousePressed", at(7.8), top + 120, button="left", buttons=1, clickCount=1)
    window.mouse("mouseMoved", at(10), top + 120, button="left", buttons=1)
    window.mouse("mouseMoved", at(12.2), top + 120, button="left", buttons=1)
    window.mouse("mouseReleased", at(12.2), top + 120, button="left", clickCount=1)
    assert "Shown: 0808080808 to 0c0c0c0c0c" in text(window, "#c1 .note")


def test_the_strip_moves_what_is_shown(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.changed())
    window.press("Home", "+", "+")
    left, top, width, height = box(window, "canvas.strip")
    window.click(left + 76 + 0.9 * (width - 90), top + height / 2)
    assert "1 of" not in text(window, "#c1 .note")
    assert "to 1313131313" in text(window, "#c1 .note")


def test_pointing_at_a_point_says_it(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.changed())
    left, top, width, _ = box(window, "canvas.plot")
    window.mouse("mouseMoved", left + 76 + 2.5 / 20 * (width - 90), top + 100)
    assert text(window, "#c1 .tip").startswith("0202020202")
    window.mouse("mouseMoved", 2, 2)
    assert window.run("document.querySelector('#c1 .tip').hidden") is True


def test_enter_opens_the_version(window: Any, opened: Opener, charts: Any) -> None:
    opened(replace(charts.changed(), link="#version-{}"))
    window.press("Home", "Enter")
    assert window.run("location.hash") == "#version-0000000000"


def test_a_gap_is_never_drawn_over(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.data(charts.line([1e7, 1.1e7, None, 1e7, 1.2e7])))
    blank = colors(window, 0.5)
    assert colors(window, 0.3) > blank


def test_a_peak_among_ten_thousand_is_seen(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.long())
    peak = """(() => {
        const canvas = document.querySelector('canvas.plot'), dense = devicePixelRatio;
        const { data } = canvas.getContext('2d').getImageData(90 * dense, 40 * dense, canvas.width - 110 * dense, 1);
        let colored = 0;
        for (let at = 0; at < data.length; at += 4) colored += data[at] < 100 && data[at + 2] > 150;
        return colored;
    })()"""
    assert 1 <= window.run(peak) <= 4


def test_lines_can_be_taken_out_and_one_stays(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.several())
    window.run("document.querySelectorAll('button.line')[0].click()")
    window.run("document.querySelectorAll('button.line')[2].click()")
    window.run("document.querySelectorAll('button.line')[1].click()")
    window.frames()
    pressed = "Array.from(document.querySelectorAll('button.line'), (made) => made.getAttribute('aria-pressed'))"
    assert window.run(pressed) == ["false", "true", "false"]
    assert fragment(window) == "#c1.without=0,2"


def test_positions_by_date_and_back(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.changed())
    window.press("b")
    assert fragment(window) == "#c1.by=date"
    window.press("b", "End")
    assert live(window).endswith("20 of 20")


def test_values_become_a_table_when_it_is_opened(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.long(1000))
    assert window.run("document.querySelectorAll('table.values tbody tr').length") == 0
    window.run("document.querySelector('details.values').open = true")
    window.settle("document.querySelectorAll('table.values tbody tr').length === 200")
    window.run("document.querySelector('details.values > button').click()")
    assert window.run("document.querySelectorAll('table.values tbody tr').length") == 400


def test_amounts_are_written_as_in_the_tables(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.changed())
    for unit in ("ns", "s", "B", "", "1", "items"):
        for amount in (0, 1, 0.5, 12.345, 999, 1234, 9999, 10_000, 123_456, 1.5e6, 2.5e9, 3e12, 1e-5, -42, 1 / 3):
            assert window.run(f"quantityText({amount!r}, {unit!r})") == quantity(amount, unit), (amount, unit)


def test_the_theme_follows_the_system_until_somebody_chooses(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.changed())
    assert "255,255,255" in colors(window, 0.5)
    window.media(prefers_color_scheme="dark", prefers_reduced_motion="reduce")
    window.frames()
    assert "255,255,255" not in colors(window, 0.01)
    window.run("document.getElementById('theme').click()")
    window.frames()
    assert "255,255,255" in colors(window, 0.5)
    assert fragment(window) == "#theme=light"


def test_forced_colours_are_kept(window: Any, opened: Opener, charts: Any) -> None:
    window.call("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
    opened(charts.changed())
    window.press("ArrowDown")
    assert window.problems == []
    assert live(window)


def test_a_picture_without_a_script_has_the_forced_colours(window: Any, opened: Opener, charts: Any) -> None:
    window.media(forced_colors="active")
    opened(charts.changed())
    picture = json.dumps(still(charts.changed()))
    window.run(f"document.querySelector('figure').insertAdjacentHTML('afterend', {picture})")
    style = "getComputedStyle(document.querySelector('figure + svg {}')).{}"
    text = window.run("getComputedStyle(document.querySelector('h2')).color")
    assert window.run(style.format("path.series-1:not(.band)", "stroke")) == text
    assert window.run(style.format("path.band", "stroke")) == "none"
    assert window.run(style.format("circle", "fill")) == text


def test_scroll_bars_have_colours_of_the_page(window: Any, opened: Opener, charts: Any) -> None:
    window.media(prefers_color_scheme="dark")
    opened(charts.changed())
    scheme = window.run("getComputedStyle(document.querySelector('.scroll')).scrollbarColor")
    assert scheme == "rgb(169, 176, 189) rgb(22, 24, 29)"


def test_extreme_values_and_a_single_point_draw_something(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.extreme(), charts.data(charts.line([5.0])), charts.data(charts.line([None, None])))
    window.press("+", "ArrowRight", "-", "z", "b", "s", "PageDown", "Escape", "d")
    window.settle("document.querySelectorAll('figure[data-drawn]').length >= 2")
    assert window.problems == []


def test_foreign_text_stays_text(window: Any, opened: Opener, charts: Any) -> None:
    name = f"</script><script>{CANARY}</script><img src=x onerror='{CANARY}'>"
    data = charts.changed()
    opened(replace(data, title=name, labels=[name] * 20, notes=[name] * 20, band=name, finding=name))
    window.press("ArrowDown", "ArrowDown", "?", "Escape")
    left, top, *_ = box(window, "canvas.plot")
    window.mouse("mouseMoved", left + 200, top + 100)
    assert window.run("window.hacked") is None
    assert window.run("document.querySelectorAll('img').length") == 0
    assert window.problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1200, 800), (400, 700)])
def test_axe_finds_nothing(
    window: Any, opened: Opener, charts: Any, axe: str, scheme: str, size: tuple[int, int]
) -> None:
    window.media(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    window.resize(*size)
    opened(charts.changed(), charts.several())
    for keys in ((), ("ArrowDown", "+"), ("?",)):
        window.press(*keys)
        assert violations(window, axe) == []
    assert window.run("document.documentElement.scrollWidth <= innerWidth") is True


def test_tab_reaches_every_control_and_the_chart(window: Any, opened: Opener, charts: Any) -> None:
    opened(charts.changed())
    window.run("document.getElementById('theme').focus()")
    names = []
    for _ in range(8):
        window.call("Input.dispatchKeyEvent", type="rawKeyDown", key="Tab", windowsVirtualKeyCode=9)
        window.call("Input.dispatchKeyEvent", type="keyUp", key="Tab", windowsVirtualKeyCode=9)
        names.append(window.run("document.activeElement.textContent || document.activeElement.tagName"))
    assert names[:5] == ["From zero", "By date", "Whole range", "Keys", "CANVAS"]
    assert "Data as a table" in names


def test_lines_that_take_turns_go_on_across_each_other(window: Any, opened: Opener, axe: str) -> None:
    data = history_chart(histories.in_turns())
    opened(data)
    window.press("Home")
    assert live(window).startswith("0000000000, ")
    assert live(window).count(":5a5a5a5a5a ") == 1
    assert "1:5a5a5a5a5a 10 ms" in live(window)
    assert violations(window, axe) == []
    window.run("document.querySelector('#c1 details.values').open = true")
    cells = window.run(
        "[...document.querySelectorAll('#c1 details.values tbody tr:nth-child(2) td')].map((td) => td.textContent)"
    )
    assert [bool(cell) for cell in cells[-3:]] == [False, True, False]
    # Between two versions of the second machine, where only others measured, its line is drawn. Without levels, whose
    # edges have other colours on its band than beside it.
    data = replace(data, lines=[replace(line, levels=[]) for line in data.lines])
    opened(data)
    window.run("document.querySelectorAll('#c1 button.line')[0].click()")
    window.run("document.querySelectorAll('#c1 button.line')[2].click()")
    window.frames(3)
    between = (2.5 + 0.5) / 30
    joined = colors(window, between)
    opened(replace(data, takes_turns=False))
    window.run("document.querySelectorAll('#c1 button.line')[0].click()")
    window.run("document.querySelectorAll('#c1 button.line')[2].click()")
    window.frames(3)
    assert joined > colors(window, between)


def test_paper_shows_the_whole_chart_in_light_colours(window: Any, opened: Opener, charts: Any) -> None:
    window.media(prefers_color_scheme="dark")
    opened(charts.changed())
    window.settle("document.documentElement.dataset.theme === 'dark'")
    window.run("""matchMedia('print').addEventListener('change', ({ matches }) => {
        if (!matches) return;
        const canvas = document.querySelector('canvas.plot');
        const [red] = canvas.getContext('2d').getImageData(0, 0, 1, 1).data;
        const over = canvas.getBoundingClientRect().width - canvas.parentElement.clientWidth;
        const buttons = [...document.querySelectorAll('button')].filter((button) => button.offsetParent);
        window.paper = { over, red, buttons: buttons.length };
    })""")
    window.call("Page.printToPDF")
    assert window.run("paper") == {"over": 0, "red": 255, "buttons": 0}
    assert window.run("document.documentElement.dataset.theme") == "dark"


def test_a_chart_is_drawn_for_paper_where_the_page_is_still_as_wide_as_the_window(
    window: Any, opened: Opener, charts: Any
) -> None:
    """So Firefox says that a page is to be printed."""
    opened(charts.changed())
    width = "document.querySelector('canvas.plot').width"
    before = window.run(width)
    window.call("Emulation.setEmulatedMedia", media="print")
    window.settle(f"{width} === 718")
    # Browsers leave out the colours of backgrounds otherwise, which legends and tables have.
    assert window.run("getComputedStyle(document.querySelector('figure')).printColorAdjust") == "exact"
    assert window.run("getComputedStyle(document.body).backgroundColor") == "rgba(0, 0, 0, 0)"
    window.call("Emulation.setEmulatedMedia", media="")
    window.settle(f"{width} === {before}")


@pytest.mark.parametrize(("low", "high"), [(-9.0, -4.0), (1e12, 5e12), (-4e12, 1e12), (0.1, 0.3)])
def test_the_axis_has_the_texts_of_the_still_picture(
    window: Any, opened: Opener, charts: Any, low: float, high: float
) -> None:
    opened(charts.changed())
    texts = window.run(f"ticksOf({low!r}, {high!r}, 5, 's').map(({{ text }}) => text)")
    assert texts == [text for _, text in ticks(low, high, 5, "s")]
    assert max(map(len, texts)) < 10
    assert not any(text.startswith("-") for text in texts)
