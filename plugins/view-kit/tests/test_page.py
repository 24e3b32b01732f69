"""The shell of a page as a file, and in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_testing import hostile
from perfcore_testing.pages import assert_self_contained
from perfcore_view_kit import form
from perfcore_view_kit.colors import contrast
from perfcore_view_kit.page import embedded, filled, page, source

import perfcore.text

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_only_what_the_page_brings_may_run() -> None:
    assert_self_contained(page("Title", "<main></main>", ["const x = 1;"], styles=["main { margin: 0; }"]))


@given(_JSON)
def test_embedded_data_come_back_and_are_never_markup(data: Any) -> None:
    text = embedded(data)
    assert json.loads(text) == data
    assert not set(text) & set("<>&")


def test_values_are_not_searched_for_tokens() -> None:
    assert filled("{{a}} {{b}}", {"a": "{{b}}", "b": "1"}) == "{{b}} 1"


@pytest.mark.parametrize("name", hostile.NAMES)
def test_a_title_is_never_markup(name: str) -> None:
    assert page(name, "").count("<") == page("", "").count("<")


def test_text_can_be_read_on_the_backgrounds_of_both_themes() -> None:
    for block in source("perfcore_view_kit", "base.css").split("}")[:2]:
        colors = dict(
            line.strip().removeprefix("--").rstrip(";").split(": ") for line in block.splitlines() if "--" in line
        )
        for background in ("background", "surface", "quiet"):
            assert contrast(colors["text"], colors[background]) >= 4.5
            assert contrast(colors["soft"], colors[background]) >= 4.5


def test_a_foreign_script_does_not_run(window: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    body = "<main>Text</main>"
    path.write_text(page("Title", body, ["document.title = element('b', 'drawn').textContent;"]), encoding="utf-8")
    window.open(path.as_uri(), "main")
    assert window.run("document.title") == "drawn"
    assert window.problems == []
    script = "Object.assign(document.createElement('script'), { textContent: 'window.hacked = true' })"
    window.run(f"document.body.append({script})")
    window.frames()
    assert window.run("window.hacked") is None
    assert len(window.problems) == 1


def test_pages_write_a_minus_sign() -> None:
    """Not a hyphen, at which lines break, and which the scripts of pages do not write."""
    assert form.quantity(-3000, "B") == "−2.93 KiB"
    assert form.quantity(None) == "-"
    assert form.quantity(1e-9) == "1e-09"
    assert [form.percent(ratio) for ratio in (0.9, 1.0, 1.1, 20)] == ["−10.0 %", "+0.0 %", "+10.0 %", "×20"]
    assert [form.signed(amount, "ns") for amount in (-2e6, 0, 3)] == ["−2 ms", "0 ns", "+3 ns"]
    said = "level 5 ms → 4 ms (95 %: -21.5 % to -9 %); with a-10 of x-5%, p=1e-05"
    assert form.with_minus(said) == "level 5 ms → 4 ms (95 %: −21.5 % to −9 %); with a-10 of x-5%, p=1e-05"


@pytest.mark.parametrize("name", ["🧑\u200d💻 Tidy up", "❤️\u200d🔥", "می\u200cخواهم", "क्\u200dष", "日本語"])
def test_what_joins_letters_and_emoji_stays(name: str) -> None:
    assert form.shown(name) == name


@pytest.mark.parametrize("name", ["ma\u200din", "é\u200dé", "🧑\u200d", "\u200d💻", "🧑\u200d\u200d💻", "🧑\u202e💻"])
def test_what_would_make_two_names_look_the_same_is_written_as_an_escape(name: str) -> None:
    assert form.shown(name) == perfcore.text.printable(name) != name
