"""The machine in the terminal, and as JSON."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from perfcore_testing import hostile, profiles
from perfcore_testing.output import FakeOutput
from perfcore_view_topology import TopologySettings, TopologyView

from perfcore.errors import PerfError, UsageError
from perfcore.model import Profile
from perfcore.profile.table import TableBuilder
from perfcore.text import width


def shown(*found: Profile, columns: int | None = 100, color: bool = False, **settings: Any) -> FakeOutput:
    output = FakeOutput(width=columns, color=color)
    TopologyView(TopologySettings(**settings)).render(profiles.subject(*found), output)
    return output


def line(output: FakeOutput, *words: str) -> str:
    """The line that has these words."""
    (found,) = [each for each in output.lines if all(word in each for word in words)]
    return found


def test_a_small_machine_has_a_bar_for_each_thread(machines: Any) -> None:
    output = shown(machines.counted(machines.regular(cores=2), busy=[1], runs=1), metric="task-clock")
    assert output.lines[:3] == [
        "./solver",
        "task-clock",
        "2 hardware threads, 2 cores; 1 run; divided among the CPUs by the kernel; cpus_utilized 0.5",
    ]
    assert line(output, "package 0 · NUMA 0 · L3 #0").endswith("ms  100 %")
    assert line(output, "core 0  CPU 0").split() == ["core", "0", "CPU", "0", "0", "ns", "0", "%"]
    assert f"CPU 1  {'█' * 24}  " in line(output, "core 1").replace("CPU 1             ", "CPU 1  ")
    assert line(output, "a thread:").startswith("a thread: 0 ns ▁▂▃▄▅▆▇█ ")


def test_what_has_no_value_is_not_drawn_as_0(machines: Any) -> None:
    output = shown(machines.counted(machines.regular(cores=3), busy=[0], absent=[2]), metric="task-clock")
    assert line(output, "CPU 1 ").split()[-4:] == ["0", "ns", "0", "%"]
    assert line(output, "CPU 2 ").split()[-2:] == ["·", "-"]
    assert "▁ █"[::2] in line(output, "a thread:").replace("▂▃▄▅▆▇", "")
    large = shown(machines.counted(machines.regular(cores=20), busy=[0], absent=[2]), metric="task-clock")
    assert "█▁·▁▁▁" in line(large, "package 0")


def test_cpus_that_the_machine_does_not_have_are_unknown(machines: Any) -> None:
    output = shown(machines.counted(machines.regular(), busy=[99], elsewhere=[99, None]), metric="PAPI_TOT_INS")
    first, *table = [row for row in output.lines if "unknown" in row]
    assert first.endswith("100 %")
    assert [row.split()[:3] for row in table] == [["unknown", "-", "375M"], ["unknown", "99", "-"]]
    assert "█" in line(output, "CPU 99")
    assert "█" in line(output, "no CPU known")


def test_offline_cpus_are_told(machines: Any) -> None:
    cpus = [cpu for cpu in machines.regular(cores=6) if cpu.cpu not in (1, 2, 4)]
    assert "CPU 1-2,4 offline or hidden" in " ".join(shown(machines.counted(cpus)).lines)


def test_a_large_machine_has_a_cell_for_each_thread(machines: Any) -> None:
    cpus = machines.regular(packages=2, caches=4, cores=8, threads=2)
    output = shown(machines.counted(cpus, busy=range(8)), metric="task-clock")
    cells = {number: line(output, f"L3 #{number} ").partition(str(number))[2].split()[:8] for number in range(8)}
    assert all(group[1] == "▁" < group[0] for group in cells[0])
    assert [len(group) for group in cells[0]] == [2] * 8
    assert cells[7] == ["▁▁"] * 8


def test_1024_threads_fit_a_terminal(machines: Any) -> None:
    cpus = machines.regular(packages=4, caches=8, cores=16, threads=2)
    output = shown(machines.counted(cpus, busy=range(0, 1024, 7), runs=1), columns=80)
    assert len(output.lines) < 120
    assert max(map(width, output.lines)) <= 80
    assert output.said == ["992 more threads; --head 1024 shows all, in the order of their numbers"]


@pytest.mark.parametrize("count", [1, 2, 16, 17, 128, 600])
def test_a_machine_that_tells_nothing_of_its_threads_is_drawn(machines: Any, count: int) -> None:
    cpus = [type(machines.regular()[0])(cpu=number) for number in range(count)]
    output = shown(machines.counted(cpus, busy=range(count), runs=1), metric="ipc")
    assert max(map(width, output.lines)) <= 100
    assert f"{count:,} hardware thread" in output.lines[2]


def test_kinds_of_cores_are_summed(machines: Any) -> None:
    output = shown(machines.counted(machines.hybrid(), busy=range(4)), metric="task-clock")
    assert line(output, "performance cores").endswith("100 %")
    assert line(output, "efficiency cores").endswith(" 0 %")
    assert "kind" in line(output, "CPU  L2  core")


def test_two_profiles_stand_beside_each_other(machines: Any) -> None:
    cpus = machines.regular(packages=2, caches=1, cores=2)
    output = shown(machines.counted(cpus, [0, 1]), machines.counted(cpus, [1, 2], seed=2), metric="task-clock")
    assert line(output, "core 0  CPU 0").endswith("gone")
    assert line(output, "core 0  CPU 2").endswith("new")
    assert line(output, "core 1  CPU 3").endswith("same")
    at = output.lines.index("what moved where (shares of task-clock)")
    packages = output.lines[at + 2 : at + 5]
    assert packages[0].startswith("packages: ")
    assert packages[1].split()[:4] == ["package", "0", "100", "%"]
    assert packages[2].split()[:4] == ["package", "1", "0", "%"]
    assert packages[2].split()[-1].startswith("+")
    assert output.lines[-5].split() == ["CPU", "package", "core", "baseline", "target", "change"]


def with_counts(plain: Any, factors: dict[int, int]) -> Any:
    """The profile with task-clock multiplied on some CPUs."""
    resources = plain.tables["resources"]
    rows = [{**row, "task-clock": row["task-clock"] * factors.get(row["cpu"], 1)} for row in resources.iter_rows()]
    builder = TableBuilder("resources", [column.spec for column in resources.columns])
    for row in rows:
        builder.add(**row)
    return plain.replace_tables(resources=builder.build())


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {1: 3}, "threads: nothing moved, there is more of it"),
        ({1: 3}, {}, "threads: nothing moved, there is less of it"),
        ({}, {0: 5, 1: 5}, "threads: 0 % moved"),
        ({0: 0}, {1: 0}, "threads: 100 % moved"),
    ],
)
def test_work_that_was_added_has_not_moved(
    machines: Any, before: dict[int, int], after: dict[int, int], told: str
) -> None:
    """Shares change on every CPU when one gets more to do."""
    plain = machines.counted(machines.regular(packages=1, cores=2), [0, 1])
    output = shown(with_counts(plain, before), with_counts(plain, after), metric="task-clock")
    assert told in output.lines


def test_two_machines_are_not_compared_thread_by_thread(machines: Any) -> None:
    pair = machines.counted(machines.regular()), machines.counted(machines.hybrid(), command="./other")
    output = shown(*pair, metric="task-clock")
    assert output.lines[0] == "./solver → ./other"
    assert "The machines differ, so threads of one number are not compared." in output.lines
    assert "change" not in output.text
    assert "baseline: 0@p" in output.lines
    assert "target: 1@p" in output.lines


def test_a_metric_that_one_side_lacks_is_absent_there(machines: Any) -> None:
    plain = machines.counted(machines.regular(), [0])
    columns = [column for column in plain.tables["resources"].columns if column.name != "PAPI_TOT_INS"]
    less = plain.replace_tables(resources=type(plain.tables["resources"])("resources", tuple(columns), 4))
    assert line(shown(less, plain, metric="PAPI_TOT_INS"), "core 0  CPU 0").endswith("no value")


def test_a_metric_in_another_unit_is_another_metric(machines: Any) -> None:
    plain = machines.counted(machines.regular(), [0])
    resources = plain.tables["resources"]
    columns = [
        attrs.evolve(column, spec=attrs.evolve(column.spec, unit="s")) if column.name == "task-clock" else column
        for column in resources.columns
    ]
    other = plain.replace_tables(resources=attrs.evolve(resources, columns=tuple(columns)))
    output = shown(plain, other, metric="task-clock in s")
    assert line(output, "core 0  CPU 0").endswith("no value")
    assert "what moved where" not in output.text


def test_counts_of_events_that_took_turns_are_called_estimates(machines: Any) -> None:
    plain = machines.counted(machines.regular())
    multiplexed = attrs.evolve(plain, collector=attrs.evolve(plain.collector, sampling={"multiplexed": True}))
    assert "estimates, as the events took turns" in shown(multiplexed).text


def test_ascii_is_ascii(machines: Any) -> None:
    cpus = machines.regular(packages=2, caches=4, cores=8, threads=2)
    pair = machines.counted(cpus, command="./naïve"), machines.counted(machines.hybrid(), absent=[3])
    for columns in (120, 50, 20):
        output = shown(*pair, columns=columns, ascii=True)
        assert output.text.isascii()
        assert max(map(len, output.lines)) <= columns


def test_colours_are_for_terminals_that_want_them(machines: Any) -> None:
    profile = machines.counted(machines.regular(cores=20), busy=[0])
    plain, colored = shown(profile), shown(profile, color=True)
    assert "\x1b" not in plain.text
    assert "\x1b[38;5;63m█" in colored.text


def test_the_head_is_of_those_that_have_most(machines: Any) -> None:
    output = shown(machines.counted(machines.regular(cores=20), busy=[7, 3]), metric="task-clock", head=2)
    assert sorted(row.split()[0] for row in output.lines[-2:]) == ["3", "7"]


def test_where_nothing_bounds_it_all_threads_are_listed(machines: Any) -> None:
    output = shown(machines.counted(machines.regular(cores=200)), columns=None)
    assert [row.split()[0] for row in output.lines[-200:]] == [str(cpu) for cpu in range(200)]
    assert output.said == []


def test_a_wrong_metric_is_answered_with_those_there_are(machines: Any) -> None:
    with pytest.raises(UsageError, match="no CPU has a value of 'task-clok'") as caught:
        shown(machines.counted(machines.regular()), metric="task-clok")
    assert "task-clock" in str(caught.value.hint)


def test_three_profiles_are_too_many(machines: Any) -> None:
    with pytest.raises(UsageError, match="3 are named"):
        shown(*[machines.counted(machines.regular())] * 3)


def test_the_profile_that_cannot_be_drawn_is_named(machines: Any) -> None:
    with pytest.raises(PerfError, match="1@p cannot be drawn: the profile does not say which machine it is from"):
        shown(machines.counted(machines.regular()), profiles.timed())


@pytest.mark.parametrize("name", hostile.NAMES)
def test_hostile_names_stay_text(machines: Any, name: str) -> None:
    cpus = [type(cpu)(cpu=cpu.cpu, core=cpu.core, l3=name, l2=name, kind=name) for cpu in machines.regular(cores=20)]
    output = shown(machines.counted(cpus, command=name), columns=60)
    assert hostile.unsafe(output.text) == set()
    assert max(map(width, output.lines)) <= 60


def test_the_document_has_every_number(machines: Any) -> None:
    cpus = machines.regular()
    pair = (
        machines.counted(cpus, [0], absent=[1], elsewhere=[None, 7]),
        machines.counted(cpus, [1]),
    )
    found = json.loads(shown(*pair, format="json").text)
    first, second = found["sides"]
    assert [metric["name"] for metric in found["metrics"]] == ["PAPI_TOT_INS", "PAPI_TOT_CYC", "task-clock", "ipc"]
    assert first["threads"][1]["values"] == {}
    assert second["threads"][0]["values"]["task-clock"] == {"value": 0, "least": 0, "most": 0, "runs": 2, "share": 0}
    assert [thread["cpu"] for thread in first["unknown"]] == [None, 7]
    assert first["threads"][0]["l3"] == "0-1"
    assert [moved["level"] for moved in found["moved"]["task-clock"]] == ["thread"]
    shares = [(part["part"], part["after"]) for part in found["moved"]["task-clock"][0]["parts"]]
    assert shares == [("CPU 0", 0), ("CPU 1", 1), ("unknown", 0)]
