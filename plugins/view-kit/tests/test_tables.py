"""Tables of texts, which are written all at once, are those of single cells."""

from __future__ import annotations

import random

import pytest
from perfcore_view_kit.chart_tables import quantities
from perfcore_view_kit.form import quantity
from perfcore_view_kit.table import Cell, table

_AMOUNTS = (
    0.0,
    -0.0,
    1,
    5.0,
    12.34,
    999.4999,
    999.5,
    1000.0,
    1023.9,
    -3.21e6,
    1e-12,
    1e308,
    float("inf"),
    float("nan"),
)


@pytest.mark.parametrize("texts", [("a", "b", "%s"), ("<i>", "&", '"', "'", "")])
def test_rows_of_texts_are_those_of_cells(texts: tuple[str, ...]) -> None:
    draw = random.Random(1)
    rows = [[draw.choice(texts) for _ in range(3)] for _ in range(20)]
    cells = [[Cell(text) for text in row] for row in rows]
    assert table("T", "abc", rows, left=(1,)) == table("T", "abc", cells, left=(1,))


@pytest.mark.parametrize("unit", ["ns", "s", "B", "", "1", "runs"])
def test_quantities_of_one_unit_are_written_as_everywhere(unit: str) -> None:
    draw = random.Random(1)
    text = quantities(unit)
    for amount in (*_AMOUNTS, *(draw.lognormvariate(0, 12) for _ in range(500))):
        assert text(amount) == quantity(amount, unit)


def test_a_name_may_be_broken_between_its_words() -> None:
    assert ">bench_<wbr>text.<wbr>time_<wbr>words</th>" in table(
        "Benchmarks", ("Name", "Value"), [("bench_text.time_words", "1")]
    )
