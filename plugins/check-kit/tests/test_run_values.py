"""From profiles to amounts of runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from perfcore_check_kit import run_values
from perfcore_check_kit.run_values import MetricValues, ValueCache
from perfcore_testing import profiles

from perfcore.profile.table import column, table
from perfcore.store.read_model import ReadModel


@pytest.fixture
def model(tmp_path: Path) -> ReadModel:
    return ReadModel(tmp_path / "derived.db")


def _of(**columns: Any) -> dict[str, tuple[float, ...]]:
    made = profiles.profile({"resources": table("resources", list(columns.values()))})
    return {name: known.values for name, known in run_values.of_profile(made).items()}


def _wall(values: list[Any]) -> Any:
    return column("wall", values, unit="ns", role="value")


def test_a_run_is_the_sum_of_its_rows() -> None:
    assert _of(run=column("run", [0, 1, 0, 1], role="order"), wall=_wall([1, 2, 3, 4])) == {"wall": (4.0, 6.0)}


def test_a_profile_without_runs_is_one_run() -> None:
    assert _of(wall=_wall([1, 2, 3])) == {"wall": (6.0,)}


def test_rows_without_a_run_do_not_count_where_others_have_one() -> None:
    assert _of(run=column("run", [0, None], role="order"), wall=_wall([1, 2])) == {"wall": (1.0,)}


@pytest.mark.parametrize("nothing", [None, math.nan, math.inf])
def test_what_is_no_number_is_no_amount(nothing: float | None) -> None:
    assert _of(run=column("run", [0, 1], role="order"), wall=_wall([nothing, 2.5])) == {"wall": (2.5,)}


def test_warmup_does_not_count() -> None:
    made = profiles.timed(runs=4)
    runs = made.tables["runs"]
    warm = table(
        "runs",
        [
            column("run", list(runs["run"]), role="order"),
            column("warmup", [True, False, False, True], role="dimension"),
        ],
    )
    assert len(run_values.of_profile(made.replace_tables(runs=warm))["wall"].values) == 2


def test_it_agrees_with_the_check_of_two_versions() -> None:
    """The other reading of runs, with NumPy, is `perfcore_check_pair.samples`."""
    from perfcore_check_pair import samples

    from perfcore.model import Sample

    made = profiles.timed(runs=7)
    theirs = samples.read(Sample(version=None, profiles=(made,)))
    ours = run_values.of_profile(made)
    assert {name: tuple(metric.amounts) for name, metric in theirs.metrics.items()} == {
        name: known.values for name, known in ours.items()
    }


def test_what_functions_took_is_per_run() -> None:
    found = run_values.of_functions(profiles.sampled(), "samples")
    assert {name: found[name].values for name in ("main", "Parser.parse", "write_1")} == {
        "main": (100.0,),
        "Parser.parse": (25.0,),
        "write_1": (71.0,),
    }


def test_without_stacks_or_without_the_metric_there_are_no_functions() -> None:
    assert run_values.of_functions(profiles.timed(), "wall") == {}
    assert run_values.of_functions(profiles.sampled(), "no-such") == {}


@pytest.mark.parametrize(
    ("names", "primary"), [(["wall", "cpu"], "cpu"), (["memory", "wall"], "wall"), (["b", "a"], "b"), ([], None)]
)
def test_one_metric_decides(names: list[str], primary: str | None) -> None:
    assert run_values.primary(names) == primary


def test_amounts_know_their_sessions() -> None:
    made = profiles.timed(runs=4)
    runs = made.tables["runs"]
    taken = table(
        "runs",
        [
            column("run", list(runs["run"]), role="order"),
            column("session", ["a", "a", None, "b"], role="dimension"),
            column("warmup", [True, False, False, False], role="dimension"),
        ],
    )
    assert run_values.of_profile(made)["wall"].sessions == (("5e55", 4),)
    assert run_values.of_profile(made.replace_tables(runs=taken))["wall"].sessions == (("a", 1), ("", 1), ("b", 1))
    assert run_values.of_profile(profiles.sampled())["samples"].sessions == (("", 1),)
    assert run_values.of_functions(profiles.sampled(), "samples")["main"].sessions == (("", 1),)


def _values(model: ReadModel, config_id: str = "1:a", what: str = "metrics") -> ValueCache:
    return ValueCache(model, config_id, what, ("p", "q"))


def test_a_cache_gives_back_what_was_put_there(model: ReadModel) -> None:
    kept = _values(model)
    assert kept.get("p") is None
    found = run_values.of_profile(profiles.timed())
    kept.put("p", found)
    assert kept.get("p") == found
    kept.write()
    assert _values(model).get("p") == found
    assert _values(model).get("q") is None
    assert _values(model, "1:b").get("p") is None
    assert _values(model, what="functions of wall").get("p") is None


@pytest.mark.parametrize(
    "row",
    [
        b"",
        b"nonsense",
        msgspec.msgpack.encode((3, {})),
        msgspec.msgpack.encode((4, {"wall": ["ns", "lower", b"\0" * 7, [["", 1]]]})),
    ],
)
def test_a_row_of_another_form_is_not_believed(model: ReadModel, row: bytes) -> None:
    _values(model).write()
    kept = _values(model)
    kept.put("p", {"wall": MetricValues("ns", "lower", b"\0" * 8, (("a", 1),))})
    kept.write()
    model.put("values", {"p": row}, kept.group)
    assert _values(model).get("p") is None


def test_a_cache_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    kept = _values(ReadModel(tmp_path / "file" / "derived.db"))
    kept.put("p", {})
    kept.write()
    assert kept.get("p") == {}
