"""From profiles to amounts of runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest
from perfcore_testing import profiles

from perfcore import files
from perfcore.analysis import run_values
from perfcore.analysis.run_values import MetricValues, ValueCache
from perfcore.profile.table import column, table


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


def test_a_cache_gives_back_what_was_put_there(tmp_path: Path) -> None:
    kept = ValueCache.read(tmp_path, "1:a", "metrics")
    assert kept.get("p") is None
    found = run_values.of_profile(profiles.timed())
    kept.put("p", found)
    kept.write()
    assert ValueCache.read(tmp_path, "1:a", "metrics").get("p") == found
    assert ValueCache.read(tmp_path, "1:b", "metrics").get("p") is None
    assert ValueCache.read(tmp_path, "1:a", "functions of wall").get("p") is None


def test_a_damaged_cache_is_not_believed(tmp_path: Path) -> None:
    kept = ValueCache.read(tmp_path, "1:a", "metrics")
    kept.put("p", {"wall": MetricValues("ns", "lower", b"\0" * 8, (("a", 1),))})
    kept.write()
    whole = kept.path.read_bytes()
    for place in range(len(whole)):
        kept.path.write_bytes(whole[:place])
        assert ValueCache.read(tmp_path, "1:a", "metrics").metrics == {}
        kept.path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        assert ValueCache.read(tmp_path, "1:a", "metrics").metrics == {}


def test_a_cache_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.touch()
    kept = ValueCache.read(place, "1:a", "metrics")
    kept.put("p", {})
    kept.write()
    assert attrs.asdict(kept)["changed"]


def test_a_cache_of_an_earlier_format_is_not_believed(tmp_path: Path) -> None:
    kept = ValueCache.read(tmp_path, "1:a", "metrics")
    kept.put("p", {})
    kept.write()
    data = msgspec.msgpack.encode((2, {"p": {"metrics": {"wall": ["ns", "lower", b"\0" * 8, [["", 1]]]}}}))
    files.cache(kept.path, data)
    assert ValueCache.read(tmp_path, "1:a", "metrics").metrics == {}
