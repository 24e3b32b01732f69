"""The result of a check, in words and for programs."""

from __future__ import annotations

from typing import Any

import pytest
from perfcore_check_kit import conclusions
from perfcore_command_check import check_table
from perfcore_testing import hostile

from perfcore.analysis import verdict_text
from perfcore.model import Change, Unpaired
from perfcore.model.decisions import Decision, Standing

KINDS = ("degradation", "optimization", "variance", "same", "cannot tell")


def _change(kind: str = "same", **changes: Any) -> Change:
    values: dict[str, Any] = {
        "id": "1",
        "kind": kind,
        "metric": "cpu",
        "unit": "ns",
        "label": "sort big.txt",
        "baseline": "aaaaaaaaaa",
        "target": "bbbbbbbbbb",
        "baseline_value": 1e6,
        "target_value": 2e6,
        "ratio": 2.0,
        "low": 1.9,
        "high": 2.1,
        **changes,
    }
    return Change(**values)


def test_times_are_slower_and_other_things_worse() -> None:
    assert [verdict_text.word(_change(kind)) for kind in KINDS] == ["slower", "faster", "noise", "same", "inconclusive"]
    of_bytes = [verdict_text.word(_change(kind, unit="B")) for kind in KINDS]
    assert of_bytes == ["worse", "better", "noise", "same", "inconclusive"]


def test_a_line_tells_both_values_the_change_and_how_sure_it_is() -> None:
    head, line = check_table.lines([_change("degradation")], [], everything=False)
    assert head.split() == ["metric", "baseline", "target", "change", "interval", "command", "id"]
    for part in ("slower", "cpu", "aaaaaaaaaa", "1 ms", "bbbbbbbbbb", "2 ms", "+100.0 %", "+90.0 % to +110.0 %"):
        assert part in line


def test_an_id_is_shown_of_what_can_be_accepted() -> None:
    slower, same = _change("degradation", id="0123456789abcdef"), _change("same", id="fedcba9876543210")
    text = "\n".join(check_table.lines([slower, same], [], everything=False))
    assert "0123456789" in text
    assert "fedcba" not in text
    assert "fedcba9876" in "\n".join(check_table.lines([slower, same], [], everything=True))


def test_what_was_accepted_is_called_so_with_who_and_why() -> None:
    accepted = {"1": Standing(Decision(change="1", why="it is\nsafer", author="Ann", time=1))}
    head, line = check_table.lines([_change("degradation")], [], everything=False, standings=accepted)
    assert line.split()[0] == "accepted"
    assert line.endswith("by Ann: it is\\nsafer")
    assert "id" not in head


def test_other_metrics_are_shown_where_they_changed_or_all_are_wanted() -> None:
    changes = [_change(), _change(metric="quiet", primary=False), _change("degradation", metric="loud", primary=False)]
    short = "\n".join(check_table.lines(changes, [], everything=False))
    assert "loud" in short
    assert "quiet" not in short
    assert "quiet" in "\n".join(check_table.lines(changes, [], everything=True))


def test_what_could_not_be_compared_says_why() -> None:
    missing = Unpaired(label="sort", config_id="1:x", version="c" * 40, reason="no ancestor was measured")
    assert check_table.lines([], [missing], everything=False) == [
        "not compared: sort at cccccccccc: no ancestor was measured"
    ]
    assert check_table.lines([], [missing], everything=False, columns=50) == [
        "not compared: sort at cccccccccc: no ancestor was",
        "    measured",
    ]


@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        ((), "nothing was compared"),
        (("same",), "1 comparison: 0 regressions, 0 improvements, 1 unchanged"),
        (
            ("degradation", "cannot tell"),
            "2 comparisons: 1 regression, 0 improvements, 0 unchanged, 1 inconclusive",
        ),
    ],
)
def test_the_conclusion_counts(kinds: tuple[str, ...], text: str) -> None:
    assert conclusions.of_comparisons([_change(kind) for kind in kinds]) == text


def test_the_conclusion_of_a_history_counts_other_metrics_that_got_worse() -> None:
    worse = _change("degradation", metric="allocs/op", primary=False)
    undone = _change("degradation", metric="B/op", primary=False, undone="c" * 40)
    text = conclusions.of_history([worse, undone, _change("optimization", primary=False)], "2 series")
    assert text == "2 series: no change of a primary metric, 1 other metric worse"


def test_missing_numbers_are_shown_as_missing() -> None:
    change = _change(baseline_value=None, target_value=None, ratio=None, low=None, high=None)
    assert " - " in check_table.lines([change], [], everything=True)[1]


def test_hostile_names_are_harmless() -> None:
    for name in hostile.NAMES:
        change = _change(metric=name, resource=name, label=name, unit=name)
        missing = Unpaired(label=name, config_id="1:x", version="c" * 40, reason="none")
        accepted = {"1": Standing(Decision(change="1", why=name, author=name, time=1))}
        lines = check_table.lines([change], [missing], everything=True, standings=accepted)
        assert len(lines) == 3
        assert hostile.unsafe("".join(lines)) == set()


def test_a_command_of_all_rows_is_said_once_above_them() -> None:
    rows = [_change("degradation", id=str(i), resource=f"test_{i}") for i in range(3)]
    command, head, *lines = check_table.lines(rows, [], everything=False)
    assert command == "sort big.txt"
    assert "command" not in head.split()
    assert [line for line in lines if "test_" in line and "sort" not in line] == lines
    machine = _change("machine", id="m", label="3 of 3 benchmarks")
    command, head, *lines = check_table.lines([*rows, machine], [], everything=False)
    assert (command, "command" in head.split()) == ("sort big.txt", True)
    assert "3 of 3 benchmarks" in lines[-1]


def test_commands_that_tell_rows_apart_stay_in_them() -> None:
    rows = [_change("degradation", id=label, label=label) for label in ("sort a", "sort b")]
    head, *lines = check_table.lines(rows, [], everything=False)
    assert "command" in head.split()
    assert ["sort a" in lines[0], "sort b" in lines[1]] == [True, True]
