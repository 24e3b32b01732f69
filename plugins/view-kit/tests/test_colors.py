"""Colours and their contrast."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_view_kit.colors import contrast, ink, oklab_hex, oklch_hex


def test_contrast_is_that_of_the_definition() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_conversions_are_those_of_the_definition() -> None:
    # The OKLab of the corners of sRGB, from the CSS Color 4 specification's samples.
    assert oklab_hex(1, 0, 0) == "#ffffff"
    assert oklab_hex(0, 0, 0) == "#000000"
    assert oklab_hex(0.62796, 0.22486, 0.12585) == "#ff0000"
    assert oklch_hex(0.86644, 0.29483, 142.5) == "#00ff00"


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_ink_can_be_read_on_every_colour(channels: tuple[int, int, int]) -> None:
    color = "#" + "".join(f"{channel:02x}" for channel in channels)
    assert contrast(color, ink(color)) >= 4.58
