"""Every count is once per sample."""

from __future__ import annotations

from collections.abc import Callable

from perfcore_fleet_kit.counting import Counts
from perfcore_fleet_kit.dynamic_code import code_id
from perfcore_source_statprofiler.testing import NAME
from perfcore_source_statprofiler.writer import code, evaluated, main, sample, sub, xsub

Count = Callable[..., Counts]


def functions(counts: Counts) -> dict[str, tuple[int, int]]:
    return {name: (function.inclusive, function.exclusive) for name, function in counts.functions.items()}


def test_the_innermost_frame_is_exclusive_and_weights_count_ticks(counted: Count) -> None:
    foo, bar = sub("A", "foo", "A.pm", 5, 4), sub("A", "bar", "A.pm", 12, 10)
    counts = counted(
        sample(3, "add", [bar, foo, main("main.pl", 7)]),
        sample(2, "add", [sub("A", "foo", "A.pm", 6, 4), main("main.pl", 7)]),
        sample(1, "const", [main("main.pl", 9)]),
    )
    assert counts.total == 6
    assert functions(counts) == {"A.pm:A::bar:10": (3, 3), "A.pm:A::foo:4": (5, 2), "main.pl:main": (6, 1)}
    assert counts.files == {"A.pm": 5, "main.pl": 1}
    assert counts.lines == {
        ("A.pm", 5): [3, 0],
        ("A.pm", 6): [2, 2],
        ("A.pm", 12): [3, 3],
        ("main.pl", 7): [5, 0],
        ("main.pl", 9): [1, 1],
    }
    assert counts.call_sites == {
        ("A.pm", 5, "A.pm:A::foo:4", "A.pm:A::bar:10"): [3, 3],
        ("main.pl", 7, "main.pl:main", "A.pm:A::foo:4"): [5, 2],
    }
    assert counts.callees == {("A.pm:A::foo:4", 5, "A.pm:A::bar:10"): 3, ("main.pl:main", 7, "A.pm:A::foo:4"): 5}


def test_recursion_counts_once(counted: Count) -> None:
    inner, outer = sub("A", "f", "A.pm", 3, 2), sub("A", "f", "A.pm", 5, 2)
    counts = counted(sample(10, "add", [inner, outer, outer, outer, main("main.pl", 1)]))
    assert functions(counts) == {"A.pm:A::f:2": (10, 10), "main.pl:main": (10, 0)}
    assert counts.lines == {("A.pm", 3): [10, 10], ("A.pm", 5): [10, 0], ("main.pl", 1): [10, 0]}
    assert counts.call_sites == {
        ("A.pm", 5, "A.pm:A::f:2", "A.pm:A::f:2"): [10, 10],
        ("main.pl", 1, "main.pl:main", "A.pm:A::f:2"): [10, 0],
    }
    assert counts.callees == {("A.pm:A::f:2", 5, "A.pm:A::f:2"): 10, ("main.pl:main", 1, "A.pm:A::f:2"): 10}


def test_mutual_recursion_counts_each_call_site_once(counted: Count) -> None:
    f, g = sub("A", "f", "A.pm", 3, 2), sub("A", "g", "A.pm", 13, 12)
    counts = counted(sample(4, "add", [f, g, f, g, main("main.pl", 1)]))
    assert functions(counts) == {"A.pm:A::f:2": (4, 4), "A.pm:A::g:12": (4, 0), "main.pl:main": (4, 0)}
    assert counts.call_sites[("A.pm", 13, "A.pm:A::g:12", "A.pm:A::f:2")] == [4, 4]
    assert counts.call_sites[("A.pm", 3, "A.pm:A::f:2", "A.pm:A::g:12")] == [4, 0]


def test_a_native_function_has_no_line(counted: Count) -> None:
    nap = sub("A", "nap", "A.pm", 8, 7)
    counts = counted(sample(4, "_xsub", [xsub("Time::HiRes", "usleep"), nap, main("main.pl", 2)]))
    native = counts.functions["(unknown):Time::HiRes::usleep"]
    assert (native.file, native.kind, native.inclusive, native.exclusive) == ("xs:Time/HiRes.pm", "xsub", 4, 4)
    assert counts.files == {"xs:Time/HiRes.pm": 4}
    assert counts.lines == {("A.pm", 8): [4, 0], ("main.pl", 2): [4, 0]}


def test_a_slow_operation_has_a_frame(counted: Count) -> None:
    nap, top = sub("A", "nap", "A.pm", 8, 7), main("main.pl", 2)
    records = (
        sample(4, "ftdir", [nap, top]),
        sample(1, "ftdir", [main("main.pl", 3)]),
        sample(5, "padsv", [nap, top]),
        sample(2, "ftdir", []),
    )
    counts = counted(*records, slow_ops=("sort", "ftdir"))
    assert counts.total == 12
    assert functions(counts) == {
        "A.pm:A::nap:7": (9, 5),
        "A.pm:CORE::ftdir": (4, 4),
        "main.pl:CORE::ftdir": (1, 1),
        "main.pl:main": (10, 0),
    }
    assert counts.functions["A.pm:CORE::ftdir"].kind == "op"
    assert counts.files == {"A.pm": 9, "main.pl": 1}
    assert counts.lines[("A.pm", 8)] == [9, 5]
    assert counts.lines[("main.pl", 3)] == [1, 0]


def test_dynamic_code_is_one_function_for_one_text(counted: Count) -> None:
    """Whatever its number, and whatever addresses are in it."""
    source = "\nsub foo {\n  work();\n}\n# CODE(0x%s)\nfoo();\n"
    frames = [[sub("main", "foo", f"(eval {n})", 2, 2), evaluated(f"(eval {n})", 5)] for n in (5, 6)]
    counts = counted(
        code(source % "1234", 5),
        sample(3, "add", [*frames[0], main("main.pl", 26)]),
        code(source % "abcd", 6),
        sample(4, "add", [*frames[1], main("main.pl", 34)]),
        sample(5, "add", [evaluated("(eval 7)", 1), main("main.pl", 40)]),
    )
    file = f"eval:{code_id(source % 'ffff')}"
    unknown = f"qeval:{NAME}/(eval 7)"
    assert functions(counts) == {
        f"{file}:eval": (7, 0),
        f"{file}:main::foo:2": (7, 7),
        f"{unknown}:eval": (5, 5),
        "main.pl:main": (12, 0),
    }
    assert counts.call_sites[("main.pl", 26, "main.pl:main", f"{file}:eval")] == [3, 0]


def test_a_text_that_comes_behind_its_samples_counts(counted: Count) -> None:
    counts = counted(sample(1, "add", [evaluated("(eval 5)", 1)]), code("1;", 5))
    assert list(counts.functions) == [f"eval:{code_id('1;')}:eval"]


def test_a_stack_that_was_cut_has_no_caller(counted: Count) -> None:
    counts = counted(sample(1, "add", [sub("A", "c", "A.pm", 3, 2), sub("A", "b", "A.pm", 6, 5)]))
    assert functions(counts) == {"A.pm:A::b:5": (1, 0), "A.pm:A::c:2": (1, 1)}
    assert list(counts.call_sites) == [("A.pm", 6, "A.pm:A::b:5", "A.pm:A::c:2")]


def test_names_are_text(counted: Count) -> None:
    counts = counted(sample(1, "add", [sub("Ünï", "föö", "Ü.pm", 3, 2), main("main.pl", 1)]))
    assert "Ü.pm:Ünï::föö:2" in counts.functions


def test_weight_zero_counts_nothing(counted: Count) -> None:
    counts = counted(sample(0, "add", [main("main.pl", 1)]))
    assert (counts.total, counts.functions) == (0, {})
