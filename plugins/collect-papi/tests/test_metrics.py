"""The rules of the store: worked sequences, and laws over random ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfcore_collect_papi import failure
from perfcore_collect_papi.failure import PapiFailure
from perfcore_collect_papi.metrics import UNKNOWN, Metrics, PerfEntry, Reading

_STEP = re.compile(r"(?:(\w)\.)?(READ|ACC|STOP|RESET|START)(\d*)(!?)(?: (\d+)(?:,(\d+))?)?")

# A step is `READ0 100`: on CPU 0, raw value 100; with `!` it is permanent; `B.` is another event set. Events are A
# and, where a reading has two values, B. Entries are `value@reading` with T for temporary and P for permanent.
CASES = [
    ("READ0 100; READ0 250", {"A": {0: "250@2T"}}, {"A": 250, "A0@1": None}),
    ("READ0 100; READ1 150", {"A": {0: "100@2T", 1: "50@2T"}}, {"A": 150, "A0": 100, "A1": 50, "A@1": None}),
    ("READ0 100; READ1 150; READ0 190", {"A": {0: "140@3T", 1: "50@3T"}}, {"A": 190, "A0": 140, "A1": 50}),
    ("READ0! 100; READ0! 180", {"A": {0: "100@1P 180@2P"}}, {"A0@1": 100, "A0": 180}),
    ("READ0! 100; READ1 150", {"A": {0: "100@1P", 1: "150@2T"}}, {"A0": None, "A1": 150, "A": 150}),
    ("READ0 100; READ1! 150", {"A": {0: "100@2T", 1: "50@2P"}}, {"A@2": 150}),
    ("READ0 100; READ1! 150; READ1 180", {"A": {0: "100@3T", 1: "50@2P 80@3T"}}, {"A": 180, "A@2": 50, "A1@2": 50}),
    ("READ0 100; READ0! 140; READ0 190", {"A": {0: "140@2P 190@3T"}}, {"A0@2": 140, "A0": 190}),
    ("READ0! 100; READ1 150; READ0 170", {"A": {0: "100@1P 20@3T", 1: "150@3T"}}, {"A": 170}),
    ("READ0! 100; READ1 150; RESET; READ2 5", {"A": {0: "100@1P", 2: "5@3T"}}, {"A": 5, "A0@1": 100}),
    ("READ0 100; READ1 150; RESET", {"A": {0: "100@2T", 1: "50@2T"}}, {"A": 150}),
    ("READ0 100; READ1 150; RESET; READ1 7", {"A": {1: "7@3T"}}, {"A0": None, "A": 7}),
    ("ACC0 100; ACC0 40", {"A": {0: "140@2T"}}, {"A0": 140, "A0@1": None}),
    ("ACC0 100; ACC1 40; ACC0 7", {"A": {0: "107@3T", 1: "40@3T"}}, {"A": 147}),
    ("ACC0! 100; ACC1 40", {"A": {0: "100@1P", 1: "140@2T"}}, {"A0": None, "A1": 140, "A": 140}),
    (
        "ACC0! 100; ACC1 40; ACC1 10; ACC0 7",
        {"A": {0: "100@1P 7@4T", 1: "150@4T"}},
        {"A0": 7, "A1": 150, "A": 157},
    ),
    ("ACC0! 100; ACC0! 40; ACC0 5", {"A": {0: "100@1P 140@2P 145@3T"}}, {"A": 145}),
    ("ACC0! 100; ACC1! 40; ACC0! 7", {"A": {0: "100@1P 147@3P", 1: "140@2P"}}, {"A@2": 140, "A": 147}),
    ("ACC0 100; ACC1 40; READ1 9", {"A": {1: "9@3T"}}, {"A": 9}),
    ("READ0 30; ACC0 40", {"A": {0: "70@2T"}}, {"A": 70}),
    ("READ0 100; ACC1 150", {"A": {0: "100@2T", 1: "150@2T"}}, {"A": 250}),
    ("READ0! 100; ACC1 150", {"A": {0: "100@1P", 1: "250@2T"}}, {"A0": None, "A": 250}),
    ("READ0! 100; STOP1 160; START; READ1 3", {"A": {0: "100@1P", 1: "3@3T"}}, {"A": 3, "A0@1": 100}),
    (
        "READ0 100,1000; READ1 150,1600",
        {"A": {0: "100@2T", 1: "50@2T"}, "B": {0: "1000@2T", 1: "600@2T"}},
        {"A1": 50, "B1": 600, "B": 1600},
    ),
    ("READ0 100; READ1 30", {"A": {0: "100@2T", 1: "-70@2T"}}, {"A1": -70, "A": 30}),
]


def perform(metrics: Metrics, steps: str) -> Metrics:
    """Does what the steps say; each event set is started first."""
    for word in steps.split("; "):
        found = _STEP.fullmatch(word)
        assert found is not None, word
        name, op, cpu, permanent, *amounts = found.groups()
        event_set = name or 0
        if event_set not in metrics.event_sets:
            metrics.start(event_set=event_set)
        if op in ("RESET", "START"):
            getattr(metrics, op.lower())(event_set=event_set)
            continue
        values = {event: int(amount) for event, amount in zip("AB", amounts, strict=True) if amount}
        operation = {"READ": metrics.read, "ACC": metrics.accum, "STOP": metrics.stop}[op]
        operation(int(cpu), values, permanent=bool(permanent), event_set=event_set)
    return metrics


def entries(metrics: Metrics, event_set: Any = None) -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {}
    for event in metrics.events:
        for cpu in metrics.cpus:
            there = metrics.entries(event, cpu, event_set)
            if there:
                words = [f"{e.value}@{e.timestamp}{'P' if e.permanent else 'T'}" for e in there.entries]
                found.setdefault(event, {})[cpu] = " ".join(words)
    return found


@pytest.mark.parametrize(("steps", "expected", "values"), CASES, ids=[case[0] for case in CASES])
def test_worked_sequences(steps: str, expected: dict[str, dict[int, str]], values: dict[str, int | None]) -> None:
    metrics = perform(Metrics(), steps)
    assert entries(metrics) == expected
    for question, answer in values.items():
        event, cpu, timestamp = re.fullmatch(r"([A-Z])(\d*)(?:@(\d+))?", question).groups()  # type: ignore[union-attr]
        assert metrics.value(event, int(cpu or -1), int(timestamp or 0)) == answer, question


@pytest.mark.parametrize(
    ("steps", "values"),
    [
        ("A.READ0 100; B.READ0 1000", {"A": 100, "B": 1000}),
        ("A.READ0 100; B.READ0 1000; A.READ1 150", {"A": 150, "B": 1000}),
        ("A.READ0 100; B.READ1 1000; A.RESET; A.READ0 7", {"A": 7, "B": 1000}),
        ("A.ACC0! 100; B.ACC0! 1000; A.ACC1! 50", {"A": 150, "B": 1000}),
    ],
)
def test_event_sets_do_not_disturb_each_other(steps: str, values: dict[str, int]) -> None:
    metrics = perform(Metrics(), steps)
    assert {name: metrics.value("A", event_set=name) for name in values} == values
    assert metrics.value("A") == sum(values.values())


def test_sets_that_are_attached_to_cpus_split_nothing() -> None:
    """Each has its own CPU, and what one counted is not taken off the other."""
    metrics = perform(Metrics(), "A.READ0 100; B.READ1 50")
    assert (metrics.value("A", 0), metrics.value("A", 1), metrics.value("A")) == (100, 50, 150)


def test_timestamps_are_unique_and_rise() -> None:
    metrics = Metrics()
    metrics.start(timestamp=500)
    read = [metrics.read(cpu, {"A": 1}, timestamp=stamp) for cpu, stamp in enumerate((1000, 1000, 900, 2000))]
    assert read == [1000, 1001, 1002, 2000]
    assert metrics.elapsed(read[0]) == 500
    assert metrics.latest == 2000
    assert metrics.latest_cpu == 3


def test_elapsed_time_is_that_of_a_clock_that_is_never_set() -> None:
    metrics = Metrics()
    metrics.start(timestamp=5_000, moment=100)
    first = metrics.read(0, {"A": 1}, timestamp=9_000, moment=130)
    back = metrics.read(0, {"A": 2}, timestamp=2_000, moment=170)
    metrics.reset(moment=180)
    assert (metrics.elapsed(first), metrics.elapsed(back)) == (30, 70)
    again = Metrics.replay(metrics.journal)
    assert again.journal == metrics.journal
    assert again.elapsed(back) == 70
    metrics.stop(0, {"A": 3}, moment=200)
    metrics.start(moment=1_000)
    later = metrics.read(0, {"A": 1}, moment=1_001)
    assert (metrics.elapsed(first), metrics.elapsed(later)) == (30, 1)
    with pytest.raises(PapiFailure, match="has no reading at 7"):
        metrics.elapsed(7)


def test_events_of_a_set_that_is_started_again_with_others_stay() -> None:
    """Each event has its own latest reading, and begins anew when it is read again itself."""
    metrics = perform(Metrics(), "READ0 100; STOP1 150; START")
    metrics.read(0, {"B": 7})
    assert (metrics.value("A"), metrics.value("A", 0), metrics.value("A", 1)) == (150, 100, 50)
    assert (metrics.value("B"), metrics.events) == (7, ("A", "B"))
    metrics.stop(0, {"B": 9})
    metrics.start()
    metrics.accum(0, {"A": 5})
    assert metrics.entries("B", 0) is not None
    assert metrics.value("B") == 9
    assert metrics.by_cpu("B") == {0: 9}


def test_two_permanent_readings_at_the_same_time_are_two() -> None:
    metrics = Metrics()
    metrics.start()
    metrics.read(0, {"A": 100}, permanent=True, timestamp=7)
    metrics.read(1, {"A": 150}, permanent=True, timestamp=7)
    assert metrics.value("A") == 150
    assert metrics.value("A", timestamp=7) == 100


@pytest.mark.parametrize("cpu", [77, None, -5])
def test_an_unknown_cpu_keeps_its_counts(cpu: int | None) -> None:
    metrics = Metrics(cpus=(0, 1))
    metrics.start()
    metrics.read(0, {"A": 10})
    metrics.read(cpu, {"A": 30})
    assert metrics.value("A") == 30
    assert metrics.cpus == (UNKNOWN, 0)
    kept = metrics.entries("A", UNKNOWN)
    assert kept is not None
    assert kept.entries == (PerfEntry(2, 20, False),)
    assert metrics.warnings == [
        "CPU 77 is not among those that are known: what it counted is kept as of an unknown CPU"
    ] * (cpu == 77)


def test_nothing_counted_is_zero_and_not_counted_is_none() -> None:
    metrics = perform(Metrics(), "READ0 0")
    assert metrics.value("A") == 0
    assert metrics.value("B") is None
    assert metrics.entries("A", 1) is None


@pytest.mark.parametrize(
    ("what", "code", "name"),
    [
        (lambda m: m.read(0, {"A": 1}, event_set="other"), -11, "PAPI_ENOEVST"),
        (lambda m: m.reset(event_set="other"), -11, "PAPI_ENOEVST"),
        (lambda m: m.value("A", event_set="other"), -11, "PAPI_ENOEVST"),
        (lambda m: (m.stop(0, {"A": 9}), m.stop(0, {"A": 9})), -9, "PAPI_ENOTRUN"),
        (lambda m: m.read(0, {"A": 1, "B": 2}), -1, "PAPI_EINVAL"),
        (lambda m: m.accum(0, {}), -1, "PAPI_EINVAL"),
    ],
)
def test_errors_carry_the_code_and_name_of_papi(what: Callable[[Metrics], object], code: int, name: str) -> None:
    metrics = perform(Metrics(), "READ0 5")
    with pytest.raises(PapiFailure, match=rf"{name} \({code}\)") as caught:
        what(metrics)
    assert (caught.value.code, caught.value.name) == (code, name)
    assert caught.value.hint


def test_a_refused_reading_leaves_everything_as_it_was() -> None:
    metrics = perform(Metrics(), "READ0 5; RESET")
    before = entries(metrics), list(metrics.journal)
    with pytest.raises(PapiFailure):
        metrics.read(1, {"B": 5})
    assert (entries(metrics), metrics.journal) == before


def test_codes_have_the_names_of_papi() -> None:
    from pypapi import _papi

    known = {
        name: code for name in dir(_papi.lib) if name.startswith("PAPI_E") and (code := getattr(_papi.lib, name)) < 0
    }
    del known["PAPI_ESBSTR"]  # the old name of PAPI_ECMP
    assert len(known) == 25
    assert {name: failure.name_of(code) for name, code in known.items()} == {name: name for name in known}
    assert failure.name_of(-99) == "PAPI error -99"


def operations(sets: int) -> st.SearchStrategy[list[tuple[str, int, int, bool, int]]]:
    """(operation, event set, CPU, permanent, how much was counted before it)."""
    step = st.tuples(
        st.sampled_from(("start", "reset", "read", "accum", "stop")),
        st.integers(0, sets - 1),
        st.integers(0, 3),
        st.booleans(),
        st.integers(0, 1000),
    )
    return st.lists(step, max_size=40)


class Plain:
    """One event set of plain PAPI, and the array that is passed to each read, stop and accum."""

    def __init__(self) -> None:
        self.counter = 0
        self.array = 0
        self.running = False

    def do(self, op: str) -> None:
        if op in ("read", "stop"):
            self.array = self.counter
        elif op == "accum":
            self.array += self.counter
        if op in ("start", "reset", "accum"):
            self.counter = 0
        self.running = op == "start" or (op != "stop" and self.running)


def play(metrics: Metrics, plain: Plain, step: tuple[str, int, int, bool, int]) -> bool:
    """Whether it was a reading. What PAPI refuses is left out."""
    op, event_set, cpu, permanent, amount = step
    if plain.running == (op == "start"):
        return False
    if op != "start":
        plain.counter += amount
    raw = plain.counter
    plain.do(op)
    if op in ("start", "reset"):
        getattr(metrics, op)(event_set=event_set)
        return False
    getattr(metrics, op)(cpu, {"A": raw, "B": 2 * raw}, permanent=permanent, event_set=event_set)
    return True


@given(operations(sets=3))
def test_the_latest_total_is_what_plain_papi_holds(steps: list[tuple[str, int, int, bool, int]]) -> None:
    """For each event set, however they take turns in one store."""
    metrics, plains = Metrics(), [Plain() for _ in range(3)]
    read: set[int] = set()
    for step in steps:
        if play(metrics, plains[step[1]], step):
            read.add(step[1])
        for number in read:
            assert metrics.value("A", event_set=number) == plains[number].array
            assert metrics.value("B", event_set=number) == 2 * plains[number].array
    if read:
        assert metrics.value("A") == sum(plains[number].array for number in read)


@given(operations(sets=2))
def test_an_event_on_a_cpu_has_one_temporary_entry_at_most_and_last(
    steps: list[tuple[str, int, int, bool, int]],
) -> None:
    metrics, plains = Metrics(), [Plain(), Plain()]
    for step in steps:
        play(metrics, plains[step[1]], step)
        for event_set in metrics.event_sets:
            for cpu in metrics.cpus:
                found = metrics.entries("A", cpu, event_set)
                kept = [entry.permanent for entry in found.entries] if found else [True]
                assert all(kept[:-1])
    stamps = [reading.timestamp for reading in metrics.journal if reading.op not in ("start", "reset")]
    assert stamps == sorted(set(stamps))


@given(operations(sets=2))
def test_everything_can_be_recomputed_from_the_journal(steps: list[tuple[str, int, int, bool, int]]) -> None:
    metrics, plains = Metrics(), [Plain(), Plain()]
    for step in steps:
        play(metrics, plains[step[1]], step)
    again = Metrics.replay(metrics.journal)
    assert again.journal == metrics.journal
    assert all(isinstance(reading, Reading) for reading in again.journal)
    for event_set in metrics.event_sets:
        assert entries(again, event_set) == entries(metrics, event_set)
