"""Which functions are benchmarks, and what they are called."""

from __future__ import annotations

import pytest

from perfcore.errors import CommandFailedError, PerfError, UsageError
from perfcore.profile.benchmarks import split

from .conftest import MeasureSuite, names, statuses

ONE = "def track_one(): return 1\n"


def test_files_are_found_by_their_names_and_by_their_folder(measure: MeasureSuite) -> None:
    files = ("bench_a.py", "deep/bench_b.py", "benchmarks/c.py", "benchmarks/deep/d.py")
    others = ("other.py", "deep/other.py", "benchmarks/conftest.py", ".hidden/bench_e.py", "env/bench_f.py")
    measuring = measure({**dict.fromkeys((*files, *others), ONE), "env/pyvenv.cfg": ""})
    assert names(measuring) == sorted(f"{file.removesuffix('.py').replace('/', '.')}.track_one" for file in files)


def test_a_file_is_measured_whatever_its_name(measure: MeasureSuite) -> None:
    assert names(measure({"speed.py": ONE}, words=("speed.py",))) == ["speed.track_one"]


def test_functions_and_methods_are_found_by_their_prefix_or_the_decorator(measure: MeasureSuite) -> None:
    text = """
        from perfcore_collect_bench import benchmark
        from bench_other import time_imported

        number = 1
        def time_function(): pass
        def bench_function(): pass
        def function(): pass
        def time_(): pass
        @benchmark
        def decorated(): pass

        class _Base:
            def time_inherited(self): pass
        class Suite(_Base):
            def time_method(self): pass
            def method(self): pass
    """
    measuring = measure({"bench_a.py": text, "bench_other.py": "def time_imported(): pass"}, select=["bench_a"])
    assert names(measuring) == [
        f"bench_a.{name}"
        for name in ("Suite.time_inherited", "Suite.time_method", "bench_function", "decorated", "time_function")
    ]


def test_parameters_are_columns_and_parts_of_the_name(measure: MeasureSuite) -> None:
    text = """
        from perfcore_collect_bench import benchmark

        class Suite:
            params = [[1, 2], ["fast", None]]
            param_names = ["n"]
            def track_product(self, n, mode): return n

        def track_list(n): return n
        track_list.params = [10]
        track_list.param_names = ["memory"]

        def size_of(length): return length

        @benchmark(params={"length": {"short": 3, "long": 5}}, setup=size_of)
        def decorated(length): assert length in (3, 5)
    """
    measuring = measure({"bench_a.py": text})
    assert sorted(split(measuring.profile)) == [
        "bench_a.Suite.track_product[n=1,param2=None]",
        "bench_a.Suite.track_product[n=1,param2=fast]",
        "bench_a.Suite.track_product[n=2,param2=None]",
        "bench_a.Suite.track_product[n=2,param2=fast]",
        "bench_a.decorated[long]",
        "bench_a.decorated[short]",
        "bench_a.track_list[10]",
    ]
    assert "parameter_memory" in measuring.resources.names


def test_a_parameter_whose_text_changes_is_an_error_of_its_benchmark(measure: MeasureSuite) -> None:
    text = ONE + "def time_it(x): pass\ntime_it.params = [object()]\n"
    status, message = statuses(measure({"bench_a.py": text}))["bench_a.time_it"]
    assert status == "failed"
    assert "no text that stays" in str(message)


def test_a_module_that_cannot_be_imported_leaves_the_others(measure: MeasureSuite) -> None:
    measuring = measure({"bench_a.py": ONE, "bench_b.py": "import nothing_of_this_name"})
    assert names(measuring) == ["bench_a.track_one"]
    assert statuses(measuring)["bench_b"][0] == "failed"
    assert "nothing_of_this_name" in measuring.session.notes[0]


def test_the_suite_is_imported_from_the_folder_that_is_named(measure: MeasureSuite) -> None:
    """Also where the tree has a package of its name: one suite may measure all versions."""
    init = {"project/__init__.py": "VALUE = 5", "benchmarks/__init__.py": "", "benchmarks/bench_a.py": ONE}
    suite = "from .shared import number\nfrom project import VALUE\ndef track_sum(): return number + VALUE\n"
    newer = {"new/benchmarks/__init__.py": "", "new/benchmarks/shared.py": "number = 2"}
    measuring = measure({**init, **newer, "new/benchmarks/bench_a.py": suite}, words=("new/benchmarks",))
    assert [(row["benchmark"], row["amount"]) for row in measuring.rows] == [("bench_a.track_sum", 7)]


def test_a_project_with_the_src_layout_is_imported_from_the_tree(measure: MeasureSuite) -> None:
    files = {"src/acme/__init__.py": "VALUE = 3", "bench_a.py": "import acme\ndef track_it(): return acme.VALUE"}
    assert [row["amount"] for row in measure(files).rows] == [3]


def test_a_part_of_the_suite_is_chosen_by_the_names(measure: MeasureSuite) -> None:
    text = "def track_a(n): return n\ntrack_a.params = [1, 2]\ndef track_b(): return 1\n"
    assert len(measure({"bench_a.py": text}, select=["a[2]"]).rows) == 1
    assert names(measure({"bench_a.py": text}, select=["a[2]", "track_b"])) == ["bench_a.track_a", "bench_a.track_b"]
    with pytest.raises(UsageError, match="none of 3 benchmarks") as caught:
        measure({"bench_a.py": text}, select=["track_c"])
    assert "track_" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("files", "words", "expected"),
    [
        ({"a.py": ONE}, (".",), "there is no benchmark"),
        ({}, ("benchmarks",), "there is no file or folder 'benchmarks'"),
        ({"bench_a.py": "raise ValueError('on import')"}, (".",), "on import"),
        ({"bench_a.py": "import os; os.abort()"}, (".",), "SIGABRT"),
        ({"a/bench_a.py": ONE, "b/bench_a.py": ONE}, ("a", "b"), "two benchmarks are called bench_a.track_one"),
    ],
)
def test_a_suite_without_benchmarks_is_an_error(
    measure: MeasureSuite, files: dict[str, str], words: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(PerfError, match=expected):
        measure(files, words=words)


def test_an_interpreter_that_is_not_there_is_an_error(measure: MeasureSuite) -> None:
    with pytest.raises(CommandFailedError, match="no-python"):
        measure({"bench_a.py": ONE}, python="no-python")
