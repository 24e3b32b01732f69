"""The metrics of a long history in one row of the read model: what it keeps is what the profiles say."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest
from perfcore_check_kit.kept_columns import Amounts, KeptColumns
from perfcore_check_kit.run_values import MetricValues, Sessions

from perfcore.store.read_model import ReadModel

Version = tuple[tuple[str, ...], dict[str, MetricValues]]
CONFIG = "0123"
LONG = 150


@pytest.fixture
def model(tmp_path: Path) -> ReadModel:
    return ReadModel(tmp_path / "derived.db")


def _values(draw: random.Random, unit: str = "s") -> MetricValues:
    runs = [draw.random() for _ in range(draw.choice((0, 3, 5, 5, 5)))]
    sessions: Sessions = ((draw.choice("ab"), len(runs)),) if runs else ()
    return MetricValues(unit, "lower", array("d", runs).tobytes(), sessions)


def _history(seed: int, count: int = LONG, shares: Sequence[float] = (1.0, 1.0, 0.5, 0.02)) -> list[Version]:
    """Versions with metrics that they have with a probability each."""
    draw = random.Random(seed)
    return [
        (
            (f"{seed}-{at}",),
            {f"m{number}": _values(draw) for number, share in enumerate(shares) if draw.random() < share},
        )
        for at in range(count)
    ]


def _amounts(model: ReadModel | None, history: Sequence[Version]) -> tuple[int, dict[str, Amounts]]:
    """How many versions came from the row, and the amounts of each metric, as `series.metrics` reads them."""
    versions = [profiles for profiles, _ in history]
    kept = KeptColumns.none() if model is None else KeptColumns.of(model, CONFIG, versions)
    newer = [metrics for _, metrics in history[kept.known :]]
    names = dict.fromkeys((*kept.columns, *(name for metrics in newer for name in metrics)))
    amounts = {name: Amounts(kept, kept.columns.get(name), [m.get(name) for m in newer]) for name in names}
    kept.renew(amounts)
    return kept.known, amounts


def _contents(amounts: dict[str, Amounts]) -> list[object]:
    return [(name, each.unit, each.better, each.values, each.sessions) for name, each in amounts.items()]


def _same(model: ReadModel, history: Sequence[Version]) -> int:
    known, amounts = _amounts(model, history)
    assert _contents(amounts) == _contents(_amounts(None, history)[1])
    return known


@pytest.mark.parametrize("seed", range(8))
def test_a_history_that_grows_reads_as_one_that_is_read_anew(model: ReadModel, seed: int) -> None:
    history = _history(seed, 260)
    lengths = [100, 127, 128, 129, 150, 159, 160, 161, 200, 260]
    assert [_same(model, history[:length]) for length in lengths] == [0, 0, 0, 128, 128, 128, 128, 160, 160, 200]


@pytest.mark.parametrize("at", [0, 40, 149])
def test_versions_from_one_with_other_profiles_on_are_read_anew(model: ReadModel, at: int) -> None:
    history = _history(1)
    _same(model, history)
    changed = [*history[:at], *_history(2)[at:]]
    assert _same(model, changed) == at


def test_a_metric_that_the_first_versions_do_not_have_is_none_of_theirs(model: ReadModel) -> None:
    history = [
        (profiles, {**metrics, "late": _values(random.Random(at))}) if at > 140 else (profiles, metrics)
        for at, (profiles, metrics) in enumerate(_history(3, shares=(1.0,)))
    ]
    _same(model, history)
    other = [*history[:140], *_history(4, shares=(1.0,))[140:]]
    assert _same(model, other) == 140
    assert "late" not in _amounts(model, other)[1]


def test_amounts_of_another_unit_are_left_out_as_without_a_row(model: ReadModel) -> None:
    history = _history(5)
    _same(model, history)
    grown = [*history, (("more",), {"m0": _values(random.Random(1), unit="ms")})]
    assert _same(model, grown) == LONG
    assert not any(_amounts(model, grown)[1]["m0"].values[:LONG])


def test_a_metric_of_several_units_is_not_kept(model: ReadModel) -> None:
    history = _history(6)
    history[10][1]["m0"] = _values(random.Random(1), unit="ms")
    _same(model, history)
    assert _same(model, history) == 0


def test_a_shorter_history_leaves_the_row_of_a_longer_one(model: ReadModel) -> None:
    history = _history(7, 300)
    _same(model, history)
    assert _same(model, _history(8, 200)) == 0
    assert _same(model, history) == 300


def test_a_row_that_is_no_columns_is_read_as_none(model: ReadModel) -> None:
    history = _history(9)
    _same(model, history)
    group = KeptColumns.of(model, CONFIG, [profiles for profiles, _ in history]).group
    for data in (b"", b"\xc1", b"\x94\x01\x91\x91\xa1a\x90\x90"):
        model.put("value columns", {"": data}, group)
        assert _same(model, history) == 0
