"""The README says what the code says, and its example is a suite."""

from __future__ import annotations

import re
from pathlib import Path

from perfcore_collect_bench.collector import BenchSettings
from perfcore_collect_bench.worker import timing
from perfcore_collect_bench.worker.native import PREFIXES

from perfcore.config.settings import options_of

from .conftest import MeasureSuite

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_options_are_those_of_the_settings() -> None:
    rows = re.findall(r"^\| `--([a-z]+)(?: \w+)?` \| (.*?) \|$", README, re.MULTILINE)
    assert [(name, text.partition(" Default: `")[0]) for name, text in rows] == [
        (option.name, option.info.help) for option in options_of(BenchSettings)
    ]


def test_the_prefixes_are_those_of_the_code() -> None:
    assert {f"{prefix}_" for prefix in re.findall(r"`([a-z]+)_\*`", README)} == PREFIXES.keys()


def test_the_numbers_are_those_of_the_code() -> None:
    assert timing.VALUE_TIME == 2_000_000
    assert "to take 2 ms" in README
    assert (timing.DROPPED, timing.VALUES) == (2, 10)
    assert "Two values are dropped and ten are kept" in README
    assert timing.SLOW == 100_000_000
    assert "more than 100 ms" in README


def test_the_example_is_a_suite(measure: MeasureSuite) -> None:
    (match,) = re.findall(r"```python\n# (\S+)\n(.*?)```", README, re.DOTALL)
    name, text = match
    measuring = measure({name: text}, words=("benchmarks",))
    benchmarks = {(row["benchmark"], row["size"]) for row in measuring.rows}
    assert benchmarks == {
        ("bench_lists.reverse", "10"),
        ("bench_lists.reverse", "1000"),
        ("bench_lists.time_sum", None),
    }
