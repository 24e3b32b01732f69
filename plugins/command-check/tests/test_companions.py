"""Which metrics stand beside the change of another one, and which are those of a busy machine."""

from __future__ import annotations

import pytest
from perfcore_check_kit.fail_rules import parse_rules
from perfcore_command_check import check_table, companions
from perfcore_testing.results import change

from perfcore.analysis.check_result import CheckResult
from perfcore.model import Change
from perfcore.model.record import replace

CPU = change(id="c")
WALL = change(id="w", metric="wall", primary=False)
MEMORY = change(id="m", metric="max_rss", unit="B", primary=False)


def shown(*changes: Change) -> list[str]:
    return [change.id for change in companions.shown(changes)]


def test_metrics_that_changed_with_the_primary_one_stand_beside_it() -> None:
    assert shown(CPU, WALL, MEMORY) == ["c"]
    _, row = check_table.lines([CPU, WALL, MEMORY], [], everything=False)
    assert row.endswith("with wall +100.0 %, max_rss +100.0 %")
    assert len(check_table.lines([CPU, WALL, MEMORY], [], everything=True)) == 5, "command, head, and three rows"


def test_the_metrics_of_each_machine_stand_beside_its_own_change() -> None:
    """Where several measured the same two versions, their changes share ids."""
    old, new = (
        [replace(each, environments=(machine,), ratio=ratio) for each in (CPU, WALL)]
        for machine, ratio in (("old", 1.5), ("new", 1.25))
    )
    _, _, first, second = check_table.lines([*old, *new], [], everything=False)
    assert first.endswith("with wall +50.0 %")
    assert second.endswith("with wall +25.0 %")


def test_what_changed_by_itself_or_in_the_other_direction_has_a_row_of_its_own() -> None:
    assert shown(change("same", id="c"), MEMORY) == ["c", "m"]
    assert shown(CPU, change("optimization", id="m", metric="max_rss", primary=False)) == ["c", "m"]
    assert shown(CPU, change(id="o", metric="wall", label="another command", primary=False)) == ["c", "o"]
    assert shown(CPU, change(id="o", metric="wall", target="ffffffffff", primary=False)) == ["c", "o"]


def test_in_a_history_a_companion_may_be_found_some_versions_later() -> None:
    first = change(id="c", earliest="bbbbbbbbbb" + "0" * 30, latest="bbbbbbbbbb" + "0" * 30)
    later = change(id="w", metric="wall", primary=False, target="d" * 10, earliest="b" * 10, latest="d" * 10)
    assert shown(first, later) == ["c"]
    apart = change(id="w", metric="wall", primary=False, target="d" * 10, earliest="d" * 10, latest="e" * 10)
    assert shown(first, apart) == ["c", "w"]


def test_a_metric_of_the_machine_has_no_row_unless_it_is_asked_for() -> None:
    switches = change(id="s", metric="involuntary_switches", unit="", primary=False)
    same = change("same", id="c")
    assert shown(same, switches) == ["c"]
    assert len(companions.shown([same, switches], metrics=["involuntary_switches"])) == 2
    lines = check_table.lines([same, switches], [], everything=False)
    assert lines[-1] == "also changed, as on a busy machine: involuntary_switches (--all-metrics shows them)"


def test_wall_time_that_waiting_for_a_cpu_explains_has_no_row() -> None:
    same, wall = change("same", id="c"), change(id="w", metric="wall", primary=False)  # 1 ms longer
    waited = change("cannot tell", id="d", metric="run_delay", primary=False, baseline_value=0.0, target_value=8e5)
    assert shown(same, wall, waited) == ["c"]
    calm = change("cannot tell", id="d", metric="run_delay", primary=False, baseline_value=0.0, target_value=2e5)
    assert shown(same, wall, calm) == ["c", "w"]


def test_wall_time_of_a_benchmark_by_itself_has_a_row_beyond_what_one_other_process_does_to_it() -> None:
    same = change("same", id="c", resource="parse")
    wall = change(id="w", metric="wall", primary=False, resource="parse", baseline_value=1e6, target_value=1.9e6)
    assert shown(same, wall) == ["c"]
    lines = check_table.lines([same, wall], [], everything=False)
    assert lines[-1] == "also changed, as on a busy machine: wall (--all-metrics shows them)"
    assert shown(same, replace(wall, target_value=2.1e6)) == ["c", "w"]
    assert shown(same, replace(wall, primary=True)) == ["c", "w"]
    assert shown(same, replace(wall, resource="")) == ["c", "w"]


def test_what_fails_the_build_is_always_shown() -> None:
    result = CheckResult(changes=(CPU, WALL), rules=parse_rules(["degradation:wall"]))
    assert companions.reported(result) == [CPU, WALL]
    assert companions.reported(CheckResult(changes=(CPU, WALL))) == [CPU]


@pytest.mark.parametrize("columns", [80, 100, 130])
def test_a_narrow_terminal_has_the_rest_of_a_row_below_it(columns: int) -> None:
    reason = "too much noise: measure about 31 interleaved pairs"
    noisy = replace(CPU, kind="cannot tell", low=-0.05, high=0.12, reason=reason, label="./program --of a-path " * 9)
    wide = check_table.lines([noisy], [], everything=True)
    assert len(wide) == 2
    lines = check_table.lines([noisy], [], everything=True, columns=columns)
    assert max(map(len, lines)) <= columns
    assert reason in " ".join(" ".join(lines).split())
    assert lines[1].split()[:2] == wide[1].split()[:2]
    assert all(line.startswith("    ") for line in lines[2:])
