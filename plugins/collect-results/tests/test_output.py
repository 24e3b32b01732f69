"""Where results are taken from: of this run, and of no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from perfcore_collect_results.collector import ResultsCollector
from perfcore_testing.collector import Measuring

from perfcore.errors import CommandFailedError, UsageError
from perfcore.model import Job

from .conftest import MeasureHarness, google

WRITES = "import sys; open(sys.argv[1], 'w').write({!r})"
ONE = google(parse=20.0)


def test_standard_output_is_read_by_default(measure: MeasureHarness) -> None:
    measuring = measure(f"print({ONE!r})", runs=2)
    assert [(row["run"], row["benchmark"], row["cpu"]) for row in measuring.rows] == [
        (0, "parse", 20),
        (1, "parse", 20),
    ]
    assert measuring.session.sampling["format"] == "googlebenchmark"


def test_a_placeholder_is_a_fresh_path_for_each_run(measure: MeasureHarness) -> None:
    fresh = "import os, sys; assert not os.path.exists(sys.argv[1])\n" + WRITES.format(ONE)
    measuring = measure(fresh, "{output}", runs=2)
    assert [row["run"] for row in measuring.rows] == [0, 1]
    assert measuring.profile.header.argv[-1] == "{output}"


def test_a_placeholder_may_be_a_part_of_a_word(measure: MeasureHarness) -> None:
    script = f"import sys; open(sys.argv[1].removeprefix('--out='), 'w').write({ONE!r})"
    assert len(measure(script, "--out={output}").rows) == 1


def test_a_file_of_the_harness_is_read(measure: MeasureHarness) -> None:
    assert len(measure(WRITES.format(ONE), "out.json", runs=2, output="out.json").rows) == 2


def test_a_file_of_an_earlier_run_is_no_result(measure: MeasureHarness) -> None:
    once = "import os, sys; os.path.exists(sys.argv[1]) or " + f"open(sys.argv[1], 'w').write({ONE!r})"
    with pytest.raises(CommandFailedError, match=r"wrote no results to out\.json"):
        measure(once, "out.json", runs=2, output="out.json")


def test_of_a_folder_only_what_the_run_wrote_is_read(measure: MeasureHarness) -> None:
    script = """
import json, pathlib, sys
for name in sys.argv[1:]:
    folder = pathlib.Path("target/criterion", name, "new")
    folder.mkdir(parents=True, exist_ok=True)
    names = {"group_id": name, "function_id": None, "value_str": None, "throughput": None, "full_id": name}
    (folder / "benchmark.json").write_text(json.dumps({**names, "directory_name": name, "title": name}))
    sample = {"sampling_mode": "Flat", "iters": [2.0, 2.0], "times": [40.0, 42.0]}
    (folder / "sample.json").write_text(json.dumps(sample))
    estimate = {"confidence_interval": {"confidence_level": 0.95, "lower_bound": 19.0, "upper_bound": 22.0}}
    estimate |= {"point_estimate": 20.5, "standard_error": 0.1}
    estimates = {name: estimate for name in ("mean", "median", "median_abs_dev", "std_dev")} | {"slope": None}
    (folder / "estimates.json").write_text(json.dumps(estimates))
"""
    options = {"format": "criterion", "output": "target/criterion"}
    both = measure(script, "gone", "kept", **options)
    assert {row["benchmark"] for row in both.rows} == {"gone", "kept"}
    later = measure(script, "kept", **options)
    assert {row["benchmark"] for row in later.rows} == {"kept"}


def test_a_folder_needs_the_name_of_its_format(measure: MeasureHarness) -> None:
    script = "import pathlib; pathlib.Path('out').mkdir(); pathlib.Path('out/a').write_text('a')"
    with pytest.raises(UsageError, match="needs --format"):
        measure(script, output="out")


def test_two_places_of_results_are_an_error(measure: MeasureHarness) -> None:
    with pytest.raises(UsageError, match="not in both"):
        measure("pass", "{output}", output="out.json")


def test_a_shell_gets_the_path(tmp_path: Path) -> None:
    (tmp_path / "results.txt").write_text(ONE)
    job = Job(argv=("cat results.txt > {output}",), cmd="cat", shell=True, cwd=tmp_path)
    with Measuring(ResultsCollector(), job) as measuring:
        measuring.run()
    assert len(measuring.rows) == 1
