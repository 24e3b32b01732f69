"""From profiles to amounts of runs."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from perfcore_check_kit import run_values
from perfcore_check_kit.run_values import MetricValues, ValueCache
from perfcore_testing import profiles

from perfcore.profile import benchmarks
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


_SUITES: dict[str, list[tuple[str | None, int | None, float | None, float | None]]] = {
    "in order": [("a", 0, 1, 9), ("a", 1, 2, 8), ("b", 0, 3, 7), ("b", 1, 4, 6)],
    "run by run": [("a", 0, 1, 9), ("b", 0, 3, 7), ("a", 1, 2, 8), ("b", 1, 4, 6)],
    "backwards": [("b", 1, 4, 6), ("b", 0, 3, 7), ("a", 1, 2, 8), ("a", 0, 1, 9)],
    "several rows of a run": [("a", 0, 1, 9), ("a", 0, 3, 1), ("a", 1, 2, 8), ("b", 0, 3, 7)],
    "a row without a benchmark": [("a", 0, 1, 9), (None, 0, 3, 1), ("b", 0, 3, 7)],
    "a row without a run": [("a", 0, 1, 9), ("a", None, 3, 1), ("b", 0, 3, 7)],
    "a row without a value": [("a", 0, 1, 9), ("a", 1, None, 8), ("b", 0, 3, 7)],
    "a benchmark without a metric": [("a", 0, 1, None), ("a", 1, 2, None), ("b", 0, 3, 7)],
    "no number": [("a", 0, 1, 9), ("a", 1, math.nan, math.inf), ("b", 0, 3, 7)],
}


@pytest.mark.parametrize("sessions", [None, ["x", "x", "y"], ["x", "y", "x"]])
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("rows", _SUITES.values(), ids=_SUITES)
def test_the_benchmarks_of_a_suite_have_the_medians_of_their_runs(
    rows: list[tuple[str | None, int | None, float | None, float | None]], warm: bool, sessions: list[str] | None
) -> None:
    names, runs, *metrics = zip(*rows, strict=True)
    columns = [
        column("benchmark", list(names), dtype="str", role="benchmark"),
        column("run", list(runs), dtype="i64", role="order"),
        *(
            column(name, list(cells), dtype="f64", role="value")
            for name, cells in zip(("p", "q"), metrics, strict=True)
        ),
    ]
    of_runs = [column("run", [0, 1, 2], role="order"), column("warmup", [warm, False, False], role="dimension")]
    of_runs += [column("session", sessions, role="dimension")] if sessions else []
    suite = profiles.profile({"resources": table("resources", columns), "runs": table("runs", of_runs)})
    session_of = dict(enumerate(sessions or ["", "", ""]))
    expected = {}
    for benchmark, part in benchmarks.split(suite).items():
        resources = part.tables["resources"]
        for metric in resources.values():
            amounts = {
                run: cell
                for run, cell in zip(resources["run"], metric, strict=True)
                if isinstance(run, int) and cell is not None and not (warm and run == 0)
            }
            grouped = itertools.groupby(session_of[run] for run in amounts)
            counts = tuple((name, len(list(following))) for name, following in grouped)
            expected[run_values.key(metric.name, benchmark)] = (tuple(amounts.values()), counts)
    found = run_values.of_benchmarks(suite)
    assert {key: (values.values, values.sessions) for key, values in found.items()} == expected
    assert list(found) == list(expected)


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
