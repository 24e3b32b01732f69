"""Parameters of commands."""

from __future__ import annotations

import pytest

from perfcore.errors import UsageError
from perfcore.measure.params import combinations, filled


def test_ranges_and_lists_give_their_values() -> None:
    assert [c["N"] for c in combinations(["N=1..4"])] == ["1", "2", "3", "4"]
    assert [c["N"] for c in combinations(["N=0..100..25"])] == ["0", "25", "50", "75", "100"]
    assert [c["N"] for c in combinations(["N=-1..1"])] == ["-1", "0", "1"]
    assert [c["FILE"] for c in combinations(["FILE=a.txt,b c.txt"])] == ["a.txt", "b c.txt"]


def test_several_are_combined_the_last_changing_fastest() -> None:
    assert combinations(["A=x,y", "B=1..2"]) == [
        {"A": "x", "B": "1"},
        {"A": "x", "B": "2"},
        {"A": "y", "B": "1"},
        {"A": "y", "B": "2"},
    ]
    assert combinations([]) == [{}]


@pytest.mark.parametrize("texts", [["N"], ["1=2"], ["workload=a"], ["N=1", "N=2"], ["N=2..1"], ["N=1..99999"]])
def test_what_makes_no_sense_is_refused(texts: list[str]) -> None:
    with pytest.raises(UsageError):
        combinations(texts)


def test_values_are_put_once_and_other_braces_stay() -> None:
    words = ["prog", "--size={A}", "{B}{workload}", "{unknown} {}"]
    ((made, values),) = filled([words], ["A={B}", "B=2"], shell=False)
    assert made == ["prog", "--size={B}", "2{workload}", "{unknown} {}"]
    assert values == {"A": "{B}", "B": "2"}


def test_a_shell_sees_one_word() -> None:
    assert filled([["cat {F}"]], ["F=a b; rm -r /"], shell=True)[0][0] == ["cat 'a b; rm -r /'"]


def test_a_parameter_without_a_place_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no \{N\} in the command"):
        filled([["prog {N}"], ["prog"]], ["N=1..2"], shell=False)
