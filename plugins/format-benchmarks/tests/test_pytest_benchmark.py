"""`pytest --benchmark-json`, and the storage of `--benchmark-save`."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from perfcore_format_benchmarks.pytest_benchmark import PytestBenchmarkFormat

from perfcore.errors import FormatError
from perfcore.model import Profile

from .suites import SAMPLES, amounts, metrics, nanoseconds, statuses

FOLDER = SAMPLES / "pytest-benchmark"
DOCUMENT = json.loads((FOLDER / "single.json").read_text())


def read(tmp_path: Path, document: Any) -> Profile:
    path = tmp_path / "out.json"
    path.write_text(json.dumps(document))
    return PytestBenchmarkFormat().read(path)


def changed(**fields: Any) -> dict[str, Any]:
    """The sample with its first benchmark alone, with other fields."""
    return {**DOCUMENT, "benchmarks": [{**DOCUMENT["benchmarks"][0], **fields}]}


def test_the_amount_of_a_test_is_the_median_of_its_rounds() -> None:
    profile = PytestBenchmarkFormat().read(FOLDER / "single.json")
    data = {benchmark["fullname"]: benchmark["stats"]["data"] for benchmark in DOCUMENT["benchmarks"]}
    expected = {
        "test_b.py::test_sum[mode=plain,n=100]": "test_b.py::test_sum[100-plain]",
        "test_b.py::test_sum[mode=with space,n=1000]": "test_b.py::test_sum[1000-with space]",
        "test_b.py::test_sum[mode=None,n=1000]": "test_b.py::test_sum[1000-None]",
        "test_b.py::test_assert_after": "test_b.py::test_assert_after",
        "test_b.py::test_odd[o0]": "test_b.py::test_odd[o0]",
        "test_b.py::test_odd[nan]": "test_b.py::test_odd[nan]",
        "test_b.py::test_odd[x]": "test_b.py::test_odd[x]",
        "test_b.py::test_slow": "test_b.py::test_slow",
    }
    assert amounts(profile) == {
        name: [pytest.approx(nanoseconds(data[fullname]), rel=1e-12)] for name, fullname in expected.items()
    }
    assert metrics(profile, "test_b.py::test_slow") == {"wall": ("ns", "lower")}
    assert "one process measured the whole suite: its values are one run" in profile.notes


def test_the_file_names_version_time_machine_and_interpreter() -> None:
    profile = PytestBenchmarkFormat().read(FOLDER / "single.json")
    assert (profile.origin, profile.dirty) == ("62ae80b79a76d71150bd4bc0d066aa6d86870685", False)
    assert profile.created // 10**9 == 1795333171  # 2026-11-22T07:39:31 UTC
    assert {"host": "host1", "system": "Linux", "arch": "x86_64", "cpu": "AMD EPYC", "cpus": 2}.items() <= dict(
        profile.machine
    ).items()
    assert profile.collector.version == "5.3.1"
    assert profile.collector.params["python"] == "3.11"


def test_other_interpreters_and_suites_are_not_compared(tmp_path: Path) -> None:
    same = read(tmp_path, {**DOCUMENT, "datetime": "2026-12-01T00:00:00+00:00"})
    info = {**DOCUMENT["machine_info"], "python_implementation_version": "3.12.1"}
    other = read(tmp_path, {**DOCUMENT, "machine_info": info})
    settings = PytestBenchmarkFormat.Settings(suite="nightly")
    named = PytestBenchmarkFormat(settings).read(FOLDER / "single.json")
    config = PytestBenchmarkFormat().read(FOLDER / "single.json").config_id
    assert same.config_id == config
    assert len({config, other.config_id, named.config_id}) == 3


def test_a_storage_gives_each_file_with_its_commit_and_none_of_uncommitted_changes() -> None:
    items = [*PytestBenchmarkFormat().read_all(FOLDER / "Linux-CPython-3.11-64bit")]
    errors = [item for item in items if isinstance(item, FormatError)]
    versions = [item.version for item in items if not isinstance(item, FormatError)]
    assert versions == ["c1cc8564c9688c0a93adb149a183c83ee16f8f51", "e06bfd7452c2e1db51a56af6a1577d9a5e69afa6"]
    assert [error.message.split("/")[-1] for error in errors] == [
        "0003_my_name.json was measured with uncommitted changes, so it belongs to no version"
    ]
    assert PytestBenchmarkFormat().read(FOLDER / "Linux-CPython-3.11-64bit" / "0003_my_name.json").dirty


def test_without_times_of_rounds_the_median_is_taken_and_noted_once() -> None:
    (path,) = (FOLDER / "Linux-CPython-3.11-64bit").glob("0001_*")
    profile = PytestBenchmarkFormat().read(path)
    stats = {b["fullname"]: b["stats"]["median"] for b in json.loads(path.read_text())["benchmarks"]}
    assert [value for (value,) in amounts(profile).values()] == pytest.approx([m * 1e9 for m in stats.values()])
    assert [note for note in profile.notes if "median is taken" in note] == [
        "the file has no times of rounds, so the median is taken: test_b.py::test_sum[100-plain] and 3 more"
    ]


def test_many_rounds_are_kept_as_percentiles_with_the_same_median(tmp_path: Path) -> None:
    data = [(17 * number % 1009) / 1e6 for number in range(1, 1000)]
    profile = read(tmp_path, changed(stats={"data": data, "median": 0.0}))
    resources = profile.tables["resources"]
    assert resources.rows == 101
    assert list(amounts(profile).values()) == [[pytest.approx(median(data) * 1e9)]]
    wall = [value for value in resources["wall"] if isinstance(value, float)]
    assert (min(wall), max(wall)) == pytest.approx((min(data) * 1e9, max(data) * 1e9))


def test_an_object_without_an_id_is_left_out_and_the_message_says_ids(tmp_path: Path) -> None:
    address = "<object at 0x7f3a>"
    document = changed(fullname=f"t.py::test_a[{address}]", param=address, params={"o": f"UNSERIALIZABLE[{address}]"})
    document["benchmarks"].append(DOCUMENT["benchmarks"][-1])
    profile = read(tmp_path, document)
    ((name, (status, message)), _) = statuses(profile).items()
    assert (name, status) == (f"t.py::test_a[{address}]", "skipped")
    assert "pass ids= to pytest.mark.parametrize" in message


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"params": {"n": [1, 2]}, "param": "n0"}, "t.py::test_a[[1, 2]]"),
        ({"params": {"n": "x" * 500}, "param": "long"}, "t.py::test_a[long]"),
        ({"params": {"run": 3, "wall": 4}, "param": "3-4"}, "t.py::test_a[parameter run=3,parameter wall=4]"),
        ({"params": {"n": 2**70}, "param": "big"}, f"t.py::test_a[{2**70}]"),
        ({"params": {"n": True}, "param": "True"}, "t.py::test_a[True]"),
        ({"params": {}, "param": "id"}, "t.py::test_a[id]"),
        ({"params": None, "param": None}, "t.py::test_a"),
    ],
)
def test_parameters_are_scalars_by_their_names_else_the_id(tmp_path: Path, fields: Any, name: str) -> None:
    fullname = "t.py::test_a" + (f"[{fields['param']}]" if fields["param"] else "")
    (read_name,) = amounts(read(tmp_path, changed(fullname=fullname, **fields)))
    assert read_name.replace('"', "") == name


def test_tests_whose_parameters_read_alike_keep_the_names_of_pytest(tmp_path: Path) -> None:
    first = changed(fullname="t.py::test_a[1]", params={"n": 1}, param="1")["benchmarks"][0]
    second = {**first, "fullname": "t.py::test_a[one]", "params": {"n": "1"}, "param": "one"}
    profile = read(tmp_path, {**DOCUMENT, "benchmarks": [first, second]})
    assert list(amounts(profile)) == ["t.py::test_a[1]", "t.py::test_a[one]"]


def test_a_cpu_timer_measures_cpu_time_and_disabled_gc_is_part_of_the_name(tmp_path: Path) -> None:
    options = {"timer": "process_time", "disable_gc": True}
    profile = read(tmp_path, changed(fullname="t.py::test_a", params=None, param=None, options=options))
    assert list(amounts(profile, "cpu")) == ["t.py::test_a[off]"]
    assert amounts(profile, "wall") == {}
