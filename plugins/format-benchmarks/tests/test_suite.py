"""What the formats share: identities, statuses, tables, and profiles."""

from __future__ import annotations

import math
import random
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from perfcore_check_kit.run_values import primary
from perfcore_command_exchange.native import PerfFormat
from perfcore_format_benchmarks.metrics import CPU, MAX_RSS, THROUGHPUT, WALL, Metric, counter, percentiles
from perfcore_format_benchmarks.suite import Benchmark, Origin, SuiteBuilder
from perfcore_testing import hostile

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.profile import benchmarks

from .suites import amounts, metrics, statuses

ORIGIN = Origin(harness="laps", created=5)
HITS = counter("hits")


def profile(*entries: tuple[Benchmark, dict[Metric, Any]], origin: Origin = ORIGIN) -> Profile:
    builder = SuiteBuilder()
    for benchmark, row in entries:
        builder.measured(benchmark, [(0, row)])
    return builder.profile(origin)


def test_the_name_of_a_benchmark_does_not_depend_on_the_others() -> None:
    first = Benchmark("a", {"n": 4, "mode": "fast"})
    other = Benchmark("b", {"mode": 1, "n": 0.5, "zoo": True, "10": 1, "2": 1})
    for entries in (
        [(first, {WALL: 1})],
        [(first, {WALL: 1}), (other, {WALL: 1})],
        [(other, {WALL: 1}), (first, {WALL: 1})],
    ):
        assert "a[mode=fast,n=4]" in benchmarks.split(profile(*entries))
    assert "b[2=1,10=1,mode=1,n=0.5,zoo=True]" in benchmarks.split(profile((other, {WALL: 1})))
    assert "b[2=1,10=1,mode=1,n=0.5,zoo=True]" in benchmarks.split(profile((first, {WALL: 1}), (other, {WALL: 1})))


def test_the_first_column_decides_and_counters_are_never_first() -> None:
    """For every set of metrics in every order of the file, in each benchmark that has a value."""
    source = random.Random(20261122)
    pool = [WALL, CPU, MAX_RSS, THROUGHPUT, HITS, counter("allocs"), counter("wall")]
    for _ in range(200):
        entries = []
        for name in "abc":
            drawn = source.sample(pool, source.randint(1, len(pool)))
            entries.append((Benchmark(name), {metric: source.choice([0, 3.0, -1.0, math.nan]) for metric in drawn}))
        try:
            suite = profile(*entries)
        except FormatError:
            assert not any(m.decides and amount > 0 for _, row in entries for m, amount in row.items())
            continue
        directed = {metric.name for metric in pool if metric.decides}
        for name, part in benchmarks.split(suite).items():
            columns = part.tables["resources"].values()
            decisive = primary(column.name for column in columns)
            assert decisive in directed
            positive = {m.name for m, amount in dict(entries)[Benchmark(name)].items() if m.decides and amount > 0}
            assert positive
            assert decisive not in {"hits", "allocs", "wall (metric)"}


def test_times_come_first_whatever_the_order_of_the_file() -> None:
    suite = profile((Benchmark("a"), {HITS: 1, THROUGHPUT: 2, MAX_RSS: 3, WALL: 4, CPU: 5}))
    assert list(metrics(suite, "a")) == ["cpu", "wall", "max_rss", "throughput", "hits"]


@pytest.mark.parametrize("amount", [math.nan, math.inf, -1.0, None, True, "5", 10**400])
def test_what_is_no_amount_is_no_value(amount: Any) -> None:
    suite = profile((Benchmark("a"), {WALL: amount}), (Benchmark("b"), {WALL: 1}))
    assert amounts(suite) == {"b": [1.0]}
    assert statuses(suite)["a"][0] == "failed"


def test_a_run_below_what_the_clock_can_tell_has_a_time_and_no_counters() -> None:
    builder = SuiteBuilder()
    builder.measured(Benchmark("a"), [(0, {WALL: 0, HITS: 7}), (1, {WALL: 5, HITS: 8})])
    suite = builder.profile(ORIGIN)
    assert (amounts(suite), amounts(suite, "hits")) == ({"a": [0.0, 5.0]}, {"a": [None, 8.0]})


def test_a_counter_may_be_negative() -> None:
    assert amounts(profile((Benchmark("a"), {WALL: 1, HITS: -4})), "hits") == {"a": [-4.0]}


def test_a_parameter_or_counter_of_a_name_that_perfcore_uses_is_renamed() -> None:
    benchmark = Benchmark("a", {"run": 1, "stack": 2, "status": 3, "n": 4})
    suite = profile((benchmark, {WALL: 1, counter("n"): 2, counter("run"): 3}))
    resources = suite.tables["resources"]
    assert resources.names == (
        "run",
        "benchmark",
        "n",
        "parameter run",
        "parameter stack",
        "parameter status",
        "wall",
        "n (metric)",
        "run (metric)",
    )
    assert set(statuses(suite)) == set(benchmarks.split(suite))


def test_attributes_give_way_to_parameters_of_their_name() -> None:
    builder = SuiteBuilder()
    builder.measured(Benchmark("a", {"group": "x"}), [(0, {WALL: 1})], group="y")
    table = builder.profile(ORIGIN).tables["benchmarks"]
    assert (list(table["group"]), list(table["group (attribute)"])) == (["x"], ["y"])


@pytest.mark.parametrize("words", [(1, "1"), (1, True), (0.5, "0.5"), (math.nan, "nan"), (2**80, str(2**80))])
def test_parameters_that_read_alike_keep_the_harness_names_or_are_refused(words: tuple[Any, Any]) -> None:
    entries = [(Benchmark("a", {"n": word}, f"a/{number}"), {WALL: 1}) for number, word in enumerate(words)]
    names = set(amounts(profile(*entries)))
    assert len(names) == 2
    if str(words[0]) == str(words[1]):
        assert names == {"a/0", "a/1"}
        with pytest.raises(FormatError, match="two results"):
            profile(*((Benchmark("a", {"n": word}), {WALL: 1}) for word in words))


def test_a_name_that_reads_like_another_with_a_parameter_is_refused() -> None:
    with pytest.raises(FormatError, match="two benchmarks are called"):
        profile((Benchmark("a", {"n": 4}), {WALL: 1}), (Benchmark("a[4]", {}, "other"), {WALL: 1}))


@pytest.mark.parametrize("name", [*hostile.NAMES, "\ud800"])
def test_hostile_names_are_stored_and_no_note_acts_on_a_terminal(name: str, tmp_path: Path) -> None:
    builder = SuiteBuilder()
    builder.measured(
        Benchmark(name, {name: name}, f"x{name}"), [(0, {WALL: 1, counter(name, name): 2})], **{name: name}
    )
    builder.lost(Benchmark(f"{name}!"), "failed", name, **{name: name})
    suite = builder.profile(Origin(harness="laps", created=5, suite=name, harness_version=name))
    PerfFormat().write(suite, tmp_path / "suite.perf")
    assert dict(PerfFormat().read(tmp_path / "suite.perf").tables) == dict(suite.tables)
    assert hostile.unsafe("".join(suite.notes)) == set()


def test_a_suite_that_would_fill_the_memory_is_refused() -> None:
    parameters = [(Benchmark(f"b{n}", {f"p{n}": n}), {WALL: 1}) for n in range(3000)]
    with pytest.raises(FormatError, match="3,000 rows with 3,000 parameters and metrics"):
        profile(*parameters)
    counters = [(Benchmark(f"b{n}"), {WALL: 1, counter(f"c{n}"): 1}) for n in range(3000)]
    with pytest.raises(FormatError, match="3,000 rows with 3,001 parameters and metrics"):
        profile(*counters)


@pytest.mark.parametrize("count", [1, 2, 100, 101, 102, 103, 1000, 1001])
def test_percentiles_keep_extremes_and_median(count: int) -> None:
    source = random.Random(count)
    values = [source.expovariate(1) for _ in range(count)]
    kept = percentiles(values)
    assert len(kept) == min(count, 101)
    assert (min(kept), max(kept), median(kept)) == pytest.approx((min(values), max(values), median(values)))


def test_percentiles_are_of_what_is_finite() -> None:
    assert percentiles([math.nan, math.inf, 2.0] * 100) == [2.0] * 100


def test_suites_are_comparable_by_harness_suite_and_identity() -> None:
    origins = [
        ORIGIN,
        Origin(harness="other", created=5),
        Origin(harness="laps", created=5, suite="s"),
        Origin(harness="laps", created=5, identity={"python": "3.11"}),
    ]
    same = Origin(harness="laps", created=6, harness_version="2", commit="c", machine={"host": "h"})
    ids = [profile((Benchmark("a"), {WALL: 1}), origin=origin).config_id for origin in origins]
    assert len(set(ids)) == 4
    assert profile((Benchmark("b"), {CPU: 1}), origin=same).config_id == ids[0]
