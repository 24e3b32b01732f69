"""asv's results: a file for each commit, machine and environment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from perfcore_format_benchmarks.asv import AsvFormat

from perfcore.errors import FormatError
from perfcore.hookspecs import VersionedProfile
from perfcore.model import Profile

from .suites import SAMPLES, amounts, metrics, statuses

FOLDER = SAMPLES / "asv"
NAME = "-virtualenv-py3.11-setuptools-wheel.json"
COMMITS = (
    "2d122e164582ed99834cf34069cbe966b87dbef9",
    "797e73e020d9f43b9d89cc9e649e2e7a01d5ec45",
    "c36e2fedd72195411eee28c9102e8fde0e6468f4",
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "results"))


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def read(results: Path, **rows: list[Any]) -> Profile:
    """The file of the first commit with these results."""
    path = results / "box" / f"2d122e16{NAME}"
    change(path, results=rows)
    return AsvFormat().read(path)


def profiles(folder: Path) -> list[VersionedProfile]:
    return [item for item in AsvFormat().read_all(folder) if isinstance(item, VersionedProfile)]


def test_a_folder_gives_a_profile_for_each_commit_and_machine() -> None:
    items = profiles(FOLDER)
    assert [(item.version, item.name.split("/")[0]) for item in items] == [
        *((commit, "box") for commit in COMMITS),
        (COMMITS[1], "box2"),
    ]
    assert not any(item.registered for item in items)
    assert len({item.profile.config_id for item in items}) == 1
    assert [item.profile.machine["host"] for item in items] == ["box", "box", "box", "box2"]


def test_results_become_amounts_in_the_units_of_their_types() -> None:
    profile = profiles(FOLDER)[0].profile
    assert amounts(profile)["suite.time_slow"] == [pytest.approx(1217.000317410566)]
    work = {name: value for name, (value,) in amounts(profile).items() if "time_work" in name}
    assert work == pytest.approx(
        {  # `result` of suite.Sum.time_work in ns: the last parameter varies fastest
            "suite.Sum.time_work[mode=plain,n=100]": 6639.499588345643,
            "suite.Sum.time_work[mode=with space,n=100]": 6584.50016999268,
            "suite.Sum.time_work[mode=None,n=100]": 6509.999820991652,
            "suite.Sum.time_work[mode=plain,n=10000]": 671523.4999319364,
            "suite.Sum.time_work[mode=with space,n=10000]": 674718.0000274966,
        }
    )
    assert amounts(profile, "max_rss")["suite.Sum.peakmem_work[mode=plain,n=100]"] == [27320320]
    assert amounts(profile, "memory") == {"suite.mem_list": [8056]}
    assert amounts(profile, "track (items)")["suite.Sum.track_items[mode=plain,n=10000]"] == [20000]
    assert metrics(profile, "suite.Sum.track_items[mode=plain,n=100]") == {"track (items)": ("items", "lower")}
    assert amounts(profile)["suite.timeraw_import"] == [pytest.approx(7242187.9999637895)]


def test_failed_and_skipped_benchmarks_have_a_status_and_no_amount() -> None:
    first, last = (statuses(profiles(FOLDER)[position].profile) for position in (0, 2))
    assert first["suite.time_fails"] == ("failed", "asv recorded a failure")
    assert first["suite.Sum.time_work[mode=None,n=10000]"][0] == "skipped"
    assert first["suite.track_nan"][0] == "skipped"
    assert (first["suite.time_sometimes"][0], last["suite.time_sometimes"][0]) == ("measured", "failed")


def test_the_time_is_that_of_measuring_and_not_that_of_the_commit() -> None:
    document = json.loads((FOLDER / "box" / f"2d122e16{NAME}").read_text())
    started = min(row[3] for row in document["results"].values())
    assert started > document["date"]
    assert profiles(FOLDER)[0].profile.created == started * 10**6


def test_intervals_of_asv_are_attributes() -> None:
    table = profiles(FOLDER)[0].profile.tables["benchmarks"]
    (row,) = [row for row in table.iter_rows() if row["benchmark"] == "suite.time_slow"]
    assert (row["ci_99_low"], row["ci_99_high"]) == pytest.approx((1091.0, 1412.0))


@pytest.mark.parametrize("folder", ["", "project", "project/.asv"])
def test_the_folder_of_the_results_is_found_from_the_project(tmp_path: Path, folder: str) -> None:
    target = {"": "", "project": "project/.asv/results", "project/.asv": "project/.asv/results"}[folder]
    shutil.copytree(FOLDER, tmp_path / (target or "plain"))
    assert len(profiles(tmp_path / (folder or "plain"))) == 4


def test_a_damaged_file_is_left_out_and_the_others_are_read(results: Path) -> None:
    (results / "box" / f"797e73e0{NAME}").write_text('{"commit_hash": ')
    items = [*AsvFormat().read_all(results)]
    assert [isinstance(item, FormatError) for item in items] == [False, True, False, False]
    assert f"box/797e73e0{NAME}: no whole JSON" in str(items[1])


def test_results_of_an_earlier_version_of_the_benchmark_are_dropped_as_asv_does(results: Path) -> None:
    kinds = json.loads((results / "benchmarks.json").read_text())
    kinds["suite.time_slow"]["version"] = "2"
    (results / "benchmarks.json").write_text(json.dumps(kinds))
    profile = profiles(results)[0].profile
    assert statuses(profile)["suite.time_slow"][0] == "skipped"
    assert "suite.time_slow" not in amounts(profile)
    kept = AsvFormat(AsvFormat.Settings(all_versions=True)).read(results / "box" / f"2d122e16{NAME}")
    assert "suite.time_slow" in amounts(kept)


def test_without_the_list_of_benchmarks_types_are_guessed_and_parameters_numbered(results: Path) -> None:
    (results / "benchmarks.json").unlink()
    profile = profiles(results)[0].profile
    assert amounts(profile)["suite.Sum.time_work[0=100,1=plain]"] == [pytest.approx(6639.499588345643)]
    assert amounts(profile, "memory") == {"suite.mem_list": [8056]}
    assert amounts(profile, "track")["suite.Sum.track_items[0=100,1=plain]"] == [200]


def test_another_interpreter_is_another_configuration(results: Path) -> None:
    change(results / "box" / f"2d122e16{NAME}", python="3.12")
    assert len({item.profile.config_id for item in profiles(results)}) == 2


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ([[1.0], [["'a, b'"]]], 'suite.time_x["a, b"]'),
        ([[1.0], [['"it\'s"']]], "suite.time_x[it's]"),
        ([[1.0], [["<function f>"]]], "suite.time_x[<function f>]"),
        ([[1.0], [["0.5"], ["True"]]], "suite.time_x[0=0.5,1=True]"),
        ([[1.0], []], "suite.time_x"),
    ],
)
def test_parameters_are_read_from_what_repr_made_of_them(results: Path, row: list[Any], name: str) -> None:
    assert amounts(read(results, **{"suite.time_x": row})) == {name: [1e9]}


def test_a_parameter_that_is_an_address_is_no_name(results: Path) -> None:
    rows: dict[str, list[Any]] = {
        "suite.time_x": [[1.0], [["<object at 0x7f>"]]],
        "suite.time_y": [[1.0], []],
    }
    assert [status for status, _ in statuses(read(results, **rows)).values()] == ["skipped", "measured"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([[1.0], [["1", "2"]]], "suite.time_x has 1 results for 2 combinations"),
        ([[1.0], ["1"]], "`params` is no list of lists"),
        ([["1"], []], "suite.time_x: wall is missing"),
        ([None, []], "none of 1 benchmark has a value"),
        ([[float("inf")], []], "suite.time_x: wall is inf"),
    ],
)
def test_results_that_make_no_sense_are_an_error(results: Path, row: list[Any], reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        read(results, **{"suite.time_x": row})


def test_combinations_without_end_are_not_listed(results: Path) -> None:
    lists = [[str(number) for number in range(1000)]] * 30
    with pytest.raises(FormatError, match="has 1 results for 2 combinations"):
        read(results, **{"suite.time_x": [[1.0], lists]})
    rows: dict[str, list[Any]] = {"suite.time_x": [None, lists], "suite.time_y": [[1.0], []]}
    assert len(statuses(read(results, **rows))) == 1001


def test_other_versions_of_the_results_and_other_folders_are_refused(results: Path, tmp_path: Path) -> None:
    path = results / "box" / f"2d122e16{NAME}"
    change(path, version=1)
    with pytest.raises(FormatError, match=r"version 1 of asv's results") as caught:
        AsvFormat().read(path)
    assert caught.value.hint == "asv update"
    change(path, version=2, commit_hash="HEAD")
    with pytest.raises(FormatError, match="no id of a commit"):
        AsvFormat().read(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="holds no results of asv"):
        [*AsvFormat().read_all(tmp_path / "empty")]
