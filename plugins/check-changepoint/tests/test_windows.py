"""Long histories of a suite, window by window: what is settled stays, and an answer does not depend on memory."""

from __future__ import annotations

import random as chances
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings
from perfcore_check_changepoint.detection import CONTEXT, HINDSIGHT, WINDOW

from perfcore.model import Change, Series
from perfcore.model.record import replace

from .histories import series

SETTLED = WINDOW - HINDSIGHT  # versions that the first window decides about
CODE = ("degradation", "optimization", "drift", "improving drift")


def _suite(
    versions: int, steps: dict[int, list[tuple[int, float]]] | None = None, count: int = 4, seed: int = 1
) -> list[Series]:
    """Series of three runs on one machine; `steps[i]` are the versions from which on series i is so much slower."""
    random = np.random.default_rng(seed)
    machine = random.normal(0, 0.003, 2000)
    machine[random.random(2000) < 0.02] += 0.1
    many = []
    for number in range(count):
        own = 0.9 * machine[:, None] + np.random.default_rng([seed, number]).normal(0, 0.008, (2000, 3))
        for place, size in (steps or {}).get(number, []):
            own[place:] += size
        values = [tuple(runs) for runs in (np.exp(own[:versions]) * (number + 1)).tolist()]
        many.append(series(values, resource=f"b{number}", comparisons=count))
    return many


def _scan(many: Sequence[Series], memory: dict[str, bytes]) -> Sequence[Sequence[Change]]:
    return ChangepointCheck(ChangepointSettings()).scan_many(many, memory)


def _code(changes: Sequence[Change]) -> list[Change]:
    return [change for change in changes if change.kind in CODE]


def _cut(scanned: Series, count: int) -> Series:
    names = ("versions", "environments", "values")
    return replace(scanned, **{name: getattr(scanned, name)[:count] for name in names})


def test_versions_that_follow_leave_what_is_settled_as_it_is() -> None:
    """Figures of old changes, and so the pages that show them, stay the same to the last digit."""
    steps = {0: [(150, 0.05)], 2: [(300, -0.04), (560, 0.06)]}
    many = _suite(900, steps)
    memory: dict[str, bytes] = {}
    before = _scan([_cut(one, 820) for one in many], memory)
    rows = dict(memory)
    assert rows
    settled = {one[:10] for one in many[0].versions[:SETTLED]}
    for count in (821, 830, 899):
        after = _scan([_cut(one, count) for one in many], memory)
        assert {key: memory[key] for key in rows} == rows
        for old, new in zip(before, after, strict=True):
            assert [c for c in old if c.target in settled] == [c for c in new if c.target in settled]
    assert any(_code(changes) for changes in before)


def test_a_history_that_changes_in_any_way_is_told_as_a_new_one() -> None:
    """Versions and results arrive at any place, a benchmark is added and another machine measures."""
    chance = chances.Random(5)
    many = _suite(760, {1: [(200, 0.06)], 3: [(450, 0.08), (600, -0.08)]}, count=5)
    versions = [list(zip(one.versions, one.environments, one.values, strict=True)) for one in many]
    memory: dict[str, bytes] = {}
    count, members = 640, 4
    for event in ("start", *(["append", "late", "again", "append", "benchmark", "machine", "gone", "append"])):
        if event == "append":
            count += chance.randrange(1, 40)
        if event == "late":  # a version between others
            for column in versions:
                column.insert(300, ("9" * 40, "e" * 40, column[300][2]))
        if event == "again":  # other amounts of an old version
            at = chance.randrange(50, 250)
            versions[0][at] = (*versions[0][at][:2], (9.0, 9.1, 9.2))
        if event == "benchmark":
            members = 5
        if event == "machine":
            for column in versions:
                column[100:count] = [(version, "f" * 40 if at > 550 else e, values)
                                     for at, (version, e, values) in enumerate(column[100:count])]  # fmt: skip
        if event == "gone":
            for column in versions:
                del column[20:25]
        now = [
            replace(
                one,
                versions=tuple(version for version, _, _ in column[:count]),
                environments=tuple(environment for _, environment, _ in column[:count]),
                values=tuple(values for _, _, values in column[:count]),
            )
            for one, column in zip(many[:members], versions, strict=False)
        ]
        assert _scan(now, memory) == _scan(now, {}), event


@pytest.mark.parametrize(
    "damage", [lambda row: row[:-9], lambda row: row.replace(b"level", b"noise"), lambda _: b"\xff"]
)
def test_a_memory_that_is_damaged_is_made_again(damage: Callable[[bytes], bytes]) -> None:
    many = _suite(700, {0: [(150, 0.05)]})
    memory: dict[str, bytes] = {}
    expected = _scan(many, memory)
    whole = dict(memory)
    memory |= {key: damage(row) for key, row in memory.items()}
    assert memory != whole
    assert _scan(many, memory) == expected
    assert memory == whole


def test_a_benchmark_that_is_added_leaves_settled_windows_as_they_are() -> None:
    many = _suite(700, {0: [(150, 0.05)]}, count=8)
    late = replace(many[-1], values=((),) * 600 + many[-1].values[600:])
    memory: dict[str, bytes] = {}
    _scan(many[:-1], memory)
    before = dict(memory)
    _scan([*many[:-1], late], memory)
    assert memory == before != {}


@pytest.mark.parametrize("place", [*range(SETTLED - 5, SETTLED + 6), SETTLED - CONTEXT, SETTLED - CONTEXT + 1])
def test_a_change_between_two_windows_is_told_once(place: int) -> None:
    for seed in range(3):
        many = _suite(700, {1: [(place, 0.05)]}, seed=seed)
        (change,) = _code(_scan(many, {})[1])
        found = [version[:10] for version in many[0].versions].index(change.target)
        assert abs(found - place) <= 1


def test_a_change_is_undone_in_another_window() -> None:
    many = _suite(1300, {2: [(150, 0.06), (1100, -0.06)]})
    first, second = _code(_scan(many, {})[2])
    assert (first.kind, second.kind) == ("degradation", "optimization")
    assert first.undone[:10] == second.target


def test_growth_over_several_windows_is_one_drift() -> None:
    many = _suite(1000, {3: [(at, 0.0003) for at in range(100, 900)]})
    (drift,) = _code(_scan(many, {})[3])
    assert drift.kind == "drift"
    versions = list(many[0].versions)
    assert abs([version[:10] for version in versions].index(drift.target) - 100) < 20
    assert abs(versions.index(drift.until) - 900) < 20
