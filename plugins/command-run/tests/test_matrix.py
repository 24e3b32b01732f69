"""The job matrix, without running anything."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_command_run import matrix
from perfcore_command_run.workloads import GeneratedFile

from perfcore.config.documents import Source
from perfcore.config.layers import Config, Layer
from perfcore.errors import UsageError
from perfcore.model import Step

HERE = Source("the matrix")

_names = st.sampled_from([*matrix.KEYS, "name", "params", "x"])
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=8,
)


def _argvs(**values: object) -> list[list[str]]:
    return [list(job.argv) for job in matrix.parse(values, where=HERE).jobs()]


def test_it_is_the_product_of_commands_arguments_and_workloads() -> None:
    assert _argvs(bins=["a", "b"], args=["-x", "-y z"], workloads=["1", "2"]) == [
        ["a", "-x", "1"],
        ["a", "-x", "2"],
        ["a", "-y", "z", "1"],
        ["a", "-y", "z", "2"],
        ["b", "-x", "1"],
        ["b", "-x", "2"],
        ["b", "-y", "z", "1"],
        ["b", "-y", "z", "2"],
    ]


def test_parameters_and_workloads_of_a_command_replace_those_of_all() -> None:
    bins = [{"name": "a", "params": ["-p"], "workloads": ["w"]}, "b"]
    assert _argvs(bins=bins, args=["-x"], workloads=["1"]) == [["a", "-p", "w"], ["b", "-x", "1"]]


def test_every_command_runs_under_every_collector_with_all_postprocessors() -> None:
    jobs = matrix.parse(
        {
            "cmds": ["a", "b"],
            "collectors": ["time", {"name": "trace", "depth": 3, "params": {"rate": 9}}],
            "postprocessors": [{"name": "filter", "expression": "<20"}],
        },
        where=HERE,
    ).jobs()
    assert [(job.cmd, job.collector.name) for job in jobs] == [
        ("a", "time"),
        ("a", "trace"),
        ("b", "time"),
        ("b", "trace"),
    ]
    assert jobs[1].collector.params == {"depth": 3, "rate": 9}
    filtered = Step(name="filter", params={"expression": "<20"})
    assert [job.postprocessors for job in jobs] == [(filtered,)] * 4


def test_without_a_collector_it_is_the_time() -> None:
    assert matrix.parse({"bins": "a"}, where=HERE).collectors == (Step(name="time"),)


def test_lists_are_words_as_they_are_and_numbers_are_text() -> None:
    assert _argvs(bins=[{"name": ["a b"], "params": [["x y", "z"], 3, 0.5]}]) == [
        ["a b", "x y", "z"],
        ["a b", "3"],
        ["a b", "0.5"],
    ]


@pytest.mark.parametrize("name", [[""], [" "], '""', ["", "a"], " "])
def test_a_command_whose_first_word_is_empty_is_told(name: object) -> None:
    with pytest.raises(UsageError, match="a command under bins has no name"):
        _argvs(bins=[{"name": name}])


def test_a_command_that_its_values_leave_empty_is_told() -> None:
    with pytest.raises(UsageError, match=r"nothing is left of the command \{tool\} with its values"):
        _argvs(bins=[{"name": "{tool}", "values": {"tool": ["a", ""]}}])
    with pytest.raises(UsageError, match="nothing is left of the command"):
        _argvs(bins=["{workload}"], workloads=[[""]])


@given(_values, st.sampled_from(matrix.KEYS))
def test_whatever_is_written_is_a_matrix_or_a_usage_error(value: object, key: str) -> None:
    with contextlib.suppress(UsageError):
        made = matrix.parse({"bins": ["a"], key: value}, where=HERE)
        assert all(job.argv and job.argv[0] for job in made.jobs())


def test_a_shell_gets_the_text_whole() -> None:
    (job,) = matrix.parse({"bins": [{"name": "a | b", "shell": True}], "workloads": ["x y"]}, where=HERE).jobs()
    assert job.argv == ("a | b x y",)
    assert job.shell


def test_the_configuration_holds_a_matrix_too() -> None:
    config = Config((Layer("local", {"bins": ["a"], "schedule": {"repeat": 3}}),))
    made = matrix.from_config(config)
    assert [job.argv for job in made.jobs()] == [("a",)]
    assert made.schedule == {"repeat": 3}


def test_a_workload_takes_the_place_that_the_command_gives_it() -> None:
    assert _argvs(bins=["a {workload} -x", "b"], workloads=["w", "v u"]) == [
        ["a", "w", "-x"],
        ["a", "v", "u", "-x"],
        ["b", "w"],
        ["b", "v", "u"],
    ]
    assert _argvs(bins=[{"name": "a", "params": ["--in={workload}"]}], workloads=["w"]) == [["a", "--in=w"]]
    assert _argvs(bins=[{"name": "a {workload} | b", "shell": True}], workloads=["w"]) == [["a w | b"]]
    assert _argvs(bins=["a {workload}"]) == [["a", "{workload}"]]


def test_a_generator_is_one_workload_until_its_files_exist() -> None:
    spec = {"generator": "lines", "lines": [1, 2], "options": {"max_size": 9}}
    parsed = matrix.parse({"bins": ["a", "b -i {workload}"], "workloads": [spec, "w", spec]}, where=HERE)
    assert [(job.argv, job.label) for job in parsed.jobs()] == [
        (("a", "{workload}"), "a lines/*"),
        (("a", "w"), "a w"),
        (("a", "{workload}"), "a lines-2/*"),
        (("b", "-i", "{workload}"), "b -i {workload} lines/*"),
        (("b", "-i", "w"), "b -i {workload} w"),
        (("b", "-i", "{workload}"), "b -i {workload} lines-2/*"),
    ]
    (first, second) = parsed.generators
    assert (first.name, first.spec, first.options) == ("lines", {"lines": [1, 2]}, {"max_size": 9})
    assert second.location == "the matrix: workloads[2]"


def test_generated_files_multiply_the_jobs() -> None:
    parsed = matrix.parse({"bins": ["a"], "workloads": {"generator": "x"}, "collectors": ["time", "trace"]}, where=HERE)
    files = {"x": [GeneratedFile(f"x/{number}", Path(f"/tmp/{number}")) for number in range(2)]}
    jobs = parsed.jobs(files)
    assert [(job.workload, job.collector.name) for job in jobs] == [
        ("x/0", "time"),
        ("x/0", "trace"),
        ("x/1", "time"),
        ("x/1", "trace"),
    ]
    assert [job.with_workload().argv for job in jobs[::2]] == [("a", "/tmp/0"), ("a", "/tmp/1")]
    many = matrix.parse({"bins": ["a"] * 101, "workloads": {"generator": "x"}}, where=HERE)
    with pytest.raises(UsageError, match="more than 10,000 commands"):
        many.jobs({"x": [files["x"][0]] * 100})


def test_each_value_of_a_parameter_takes_its_place() -> None:
    entry = {"name": "./sort {ALG}", "params": ["{N}"], "values": {"N": "1..3..2", "ALG": ["quick", "merge"]}}
    jobs = matrix.parse({"bins": [entry], "workloads": ["w"]}, where=HERE).jobs()
    assert [(job.cmd, job.args, job.workload) for job in jobs] == [
        ("./sort quick", "1", "w"),
        ("./sort merge", "1", "w"),
        ("./sort quick", "3", "w"),
        ("./sort merge", "3", "w"),
    ]
    assert jobs[0].argv == ("./sort", "quick", "1", "w")


def test_values_are_quoted_for_a_shell() -> None:
    entry = {"name": "echo {W} | wc", "shell": True, "values": {"W": ["a b"]}}
    assert _argvs(bins=[entry]) == [["echo 'a b' | wc"]]


def test_a_parameter_without_a_place_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the matrix: values: N: there is no \{N\} in the command"):
        _argvs(bins=[{"name": "a", "values": {"N": "1..3"}}])
