"""What noise explains, what machines differ in, whose code a file is, and how bytes become text."""

from __future__ import annotations

import base64
import math
import random
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from perfcore_testing import profiles
from perfcore_view_flamegraph import environments, kinds, noise, pack, source_lines
from perfcore_view_flamegraph.source_lines import Side

from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile.stacks import Frame, StackBuilder
from perfcore.profile.table import column, table

FUNCTIONS = 40


def counted(amounts: dict[str, int]) -> Profile:
    builder = StackBuilder()
    rows = [builder.add([Frame(name, "a.py", 2, 1)]) for name in amounts]
    resources = table("resources", [column("stack", rows), column("samples", list(amounts.values()), role="value")])
    return profiles.sampled().replace_tables(resources=resources, **builder.tables())


@pytest.mark.parametrize(
    ("before", "after"),
    [((1.0, 2.0), (4.0, 9.0)), ((5, 5.5, 6), (7, 7.1)), ((1, 1, 1, 2), (1, 1, 2, 1)), ((10, 11, 12, 9), (30, 31, 29))],
)
def test_the_p_value_is_that_of_welch(before: tuple[float, ...], after: tuple[float, ...]) -> None:
    stats = pytest.importorskip("scipy.stats")
    expected = stats.ttest_ind(before, after, equal_var=False).pvalue
    assert noise.welch(before, after) == pytest.approx(expected, rel=1e-6)


def test_amounts_that_never_vary_are_told_apart() -> None:
    assert noise.welch([3, 3], [3, 3]) == 1
    assert noise.welch([3, 3], [4, 4]) == 0


@pytest.mark.parametrize("replicates", [1, 5])
def test_equal_programs_are_grey_and_a_doubled_function_is_not(replicates: int) -> None:
    """Of 20 comparisons of equal programs few colour anything: the rate of false discoveries is at most 5 %."""
    chance = random.Random(7)

    def sampled(factor: float) -> Profile:
        means = {f"f{number}": 200 * (factor if number == 0 else 1) for number in range(FUNCTIONS)}
        return counted({name: max(0, round(chance.gauss(mean, math.sqrt(mean)))) for name, mean in means.items()})

    def coloured(factor: float) -> set[str]:
        before, after = ([sampled(each) for _ in range(replicates)] for each in (1.0, factor))
        p_values = noise.by_replicates(before, after, "samples")
        if replicates == 1:
            assert p_values is None
            p_values = noise.by_counting(before[0], after[0], "samples", (1, 1))
        assert p_values is not None
        return {f"f{number}" for number in range(FUNCTIONS)} - {name for name, _ in noise.noise(p_values)}

    assert sum(bool(coloured(1)) for _ in range(20)) <= 4
    assert sum("f0" in coloured(2) for _ in range(5)) >= 4


def test_machines_differ_in_lines() -> None:
    profile = profiles.sampled()
    one = replace(profile, machine={"cpu": {"model": "A", "governor": "powersave"}, "load": 3, "kernel": "6.1"})
    other = replace(profile, machine={"cpu": {"model": "A", "governor": "performance"}, "load": 9})
    assert environments.differences(one, other) == [
        "cpu.governor: powersave → performance",
        "kernel: 6.1 → unknown",
    ]
    assert environments.differences(one, one) == []
    many = replace(profile, machine={f"fact{number}": number for number in range(30)})
    assert environments.differences(profile, many)[-1].startswith("and ")


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("src/app.py", kinds.OWN),
        ("", kinds.OWN),
        ("/home/me/libfoo/main.c", kinds.OWN),
        ("/usr/lib/python3.11/json/decoder.py", kinds.LIBRARY),
        ("/venv/lib/python3.12/site-packages/numpy/core.py", kinds.LIBRARY),
        ("libc.so.6", kinds.LIBRARY),
        ("/usr/local/go/src/runtime/proc.go", kinds.LIBRARY),
        ("C:\\app\\node_modules\\x\\index.js", kinds.LIBRARY),
        ("<frozen importlib._bootstrap>", kinds.IMPORTS),
        ("/usr/lib/python3.11/importlib/__init__.py", kinds.IMPORTS),
    ],
)
def test_whose_code_a_file_is(file: str, kind: int) -> None:
    assert kinds.kinds([file]) == [kind]


@given(st.binary(max_size=300))
@example(bytes(4))
@example(b"\xff" * 4)
@example(struct.pack(">3I", 85**4, 85**4 - 1, 84))
def test_bytes_are_text_of_base_85(data: bytes) -> None:
    text = pack.base85(data)
    assert base64.b85decode(text.encode().translate(bytes.maketrans(b".,/", b"&<>"))) == data
    assert not set(text) & set("&<>\"' ")


def test_files_of_absolute_paths_are_searched_by_their_ends() -> None:
    asked: list[str] = []

    def read(version: str, path: str) -> bytes | None:
        asked.append(path)
        return b"def f():\n    pass\n" if path == "src/a.py" else None

    builder = StackBuilder()
    rows = [builder.add([Frame("f", "/build/1/src/a.py", 2, 1)]), builder.add([Frame("g", "/etc/../secret", 1, 1)])]
    resources = table("resources", [column("stack", rows), column("samples", [3, 1], role="value")])
    profile = profiles.sampled().replace_tables(resources=resources, **builder.tables())
    found = source_lines.lines([Side(profile, "v" * 40, "v")], ["samples"], read)
    assert found[("f", "/build/1/src/a.py")]["rows"] == [
        [1, None, None, "def f():"],
        [2, [3.0], [3.0], "    pass"],
        [3, None, None, ""],
    ]
    assert set(found) == {("f", "/build/1/src/a.py")}
    assert not any(path.startswith("/") or ".." in path for path in asked)
