"""Histories of amounts that make no sense, stored for real: a right answer or a clear refusal, never a wrong one."""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from perfcore_check_kit import history, series
from perfcore_testing import hostile, profiles

from perfcore.analysis.fail_on import NOT_COMPARED
from perfcore.model import Profile, Tool
from perfcore.model.record import replace
from perfcore.profile.table import column, table
from perfcore.store.lookup import Ref

from .conftest import Here

VERSIONS, STEP = 16, 9
NAN, INFINITE = math.nan, math.inf
Amounts = Callable[[int], Sequence[float | None]]


@pytest.fixture(scope="module")
def branch(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of sixteen versions, to be copied."""
    folder = tmp_path_factory.mktemp("branch")
    made = Here(shutil.copytree(template, folder / "project", symlinks=True), folder / "home")
    for number in range(1, VERSIONS):
        made.commit(f"Version {number}")
    return made.path


@pytest.fixture
def here(branch: Path, tmp_path: Path) -> Here:
    return Here(shutil.copytree(branch, tmp_path / "project", symlinks=True), tmp_path / "home")


def measured(
    number: int, amounts: Sequence[float | None], metric: str = "cpu", unit: str = "ns", **how: Any
) -> Profile:
    columns = [
        column("run", list(range(len(amounts))), dtype="i64", role="order"),
        column(metric, list(amounts), dtype="f64", unit=unit, role="value"),
    ]
    made = profiles.profile({"resources": table("resources", columns)}, created=profiles.CREATED + number)
    return replace(made, **how)


def noisy(number: int, level: float = 5e6, runs: int = 5) -> list[float]:
    draw = random.Random(number)
    return [level * draw.lognormvariate(0, 0.01) for _ in range(runs)]


def store(here: Here, profile_of: Callable[[int], Profile], versions: int = VERSIONS) -> None:
    repository = here.repository
    for number, version in enumerate(here.git("rev-list", "--reverse", "HEAD").out.split()[-versions:]):
        saved = repository.save(replace(profile_of(number), origin=version))
        repository.register(Ref(kind="pending", pending=saved), version)


def levels(here: Here, code: int | None = 0) -> list[tuple[str, str, int]]:
    """(metric, kind, number of the version) of every change of a level that `check all` tells."""
    told = here.perf("check", "all", "--json", code=code).json
    ids = here.git("rev-list", "--reverse", "HEAD").out.split()
    assert all(number is None or math.isfinite(number) for c in told["changes"] for number in _numbers(c))
    found = [c for c in told["changes"] if c["kind"] in ("degradation", "optimization")]
    numbers = {id: number for number, id in enumerate(ids)}
    return [(change["metric"], change["kind"], numbers[change["target"]]) for change in found]


def _numbers(change: dict[str, Any]) -> list[float | None]:
    return [change[key] for key in ("baseline_value", "target_value", "ratio", "low", "high", "p_value")]


NOTHING_CHANGED: dict[str, Amounts] = {
    "constants": lambda number: [5e6] * 5,
    "zeros": lambda number: [0.0] * 5,
    "negative": lambda number: [-amount for amount in noisy(number)],
    "both signs": lambda number: [amount - 5e6 for amount in noisy(number)],
    "some NaN": lambda number: [NAN, *noisy(number)] if number % 3 else [NAN, NAN],
    "some missing": lambda number: [None, *noisy(number)] if number % 3 else [None],
    "some infinite": lambda number: [INFINITE, *noisy(number), -INFINITE],
    "one version off": lambda number: noisy(number, 5e9 if number == 7 else 5e6),
    "as large as floats go": lambda number: [1.7e308, 1.6e308] * 3,
    "as small as floats go": lambda number: [5e-324, 1e-323] * 3,
}


@pytest.mark.parametrize("name", NOTHING_CHANGED)
def test_where_nothing_changed_nothing_is_told(here: Here, name: str) -> None:
    store(here, lambda number: measured(number, NOTHING_CHANGED[name](number)))
    assert levels(here) == []
    done = here.perf("history")
    assert "16 versions" in done.out
    assert "nan" not in done.out.lower()
    assert hostile.unsafe(done.out) == set()


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [(5e6, 6e6, "degradation"), (-5e6, -6e6, "optimization"), (0.0, 6e6, "degradation"), (-5e6, 5e6, "degradation")],
    ids=["positive", "negative", "from zero", "over zero"],
)
def test_a_step_is_found_whatever_the_sign(here: Here, before: float, after: float, kind: str) -> None:
    store(here, lambda number: measured(number, noisy(number, after if number >= STEP else before)))
    assert levels(here, code=1 if kind == "degradation" else 0) == [("cpu", kind, STEP)]
    assert "Version 9" in here.perf("history").out


@pytest.mark.parametrize(
    "values", [[5e6], noisy(1), [NAN], [None], []], ids=["one run", "runs", "NaN", "none", "empty"]
)
def test_a_history_of_one_version_is_no_change(here: Here, values: list[Any]) -> None:
    store(here, lambda number: measured(number, values), versions=1)
    assert levels(here, code=NOT_COMPARED) == []
    assert ("1 version" if any(math.isfinite(v or NAN) for v in values) else "nothing") in here.perf("history").out


@pytest.mark.parametrize("amount", [NAN, None, INFINITE], ids=["NaN", "missing", "infinite"])
def test_where_nothing_was_measured_that_is_said(here: Here, amount: Any) -> None:
    store(here, lambda number: measured(number, [amount] * 3))
    assert levels(here) == []
    assert "nothing was measured" in here.perf("history").out


def test_amounts_of_another_unit_are_not_compared(here: Here) -> None:
    """Nanoseconds, then the same as seconds: a thousand million times less would be no improvement."""

    def profile(number: int) -> Profile:
        return measured(number, noisy(number, 5e6 if number < STEP else 5e-3), unit="ns" if number < STEP else "s")

    store(here, profile)
    assert levels(here) == []
    assert "7 of 16 versions" in here.perf("history").out


def test_a_metric_that_vanishes_ends_and_the_others_go_on(here: Here) -> None:
    def profile(number: int) -> Profile:
        columns = [
            column("run", list(range(5)), dtype="i64", role="order"),
            column("wall", noisy(number, 8e6 if number >= STEP else 7e6), dtype="f64", unit="ns", role="value"),
            *([column("cpu", noisy(number), dtype="f64", unit="ns", role="value")] if number < STEP else []),
        ]
        return profiles.profile({"resources": table("resources", columns)}, created=profiles.CREATED + number)

    store(here, profile)
    assert [found for found in levels(here, code=None) if found[0] == "cpu"] == []
    assert ("wall", "degradation", STEP) in levels(here, code=None)
    assert "9 of 16 versions" in here.perf("history", "cpu").out
    assert "16 versions" in here.perf("history", "wall").out
    last = here.git("rev-parse", f"HEAD~{VERSIONS - STEP}").out[:10]
    assert f"cpu was last measured at {last}; no later version" in here.perf("check", "all", code=None).err


def test_profiles_of_other_collectors_are_histories_of_their_own(here: Here) -> None:
    def profile(number: int) -> Profile:
        name = "time" if number % 2 else "trace"
        amounts = noisy(number, 5e6 if number % 2 else 9e6)
        return measured(number, amounts, collector=Tool(name=name, version="1"), config_id=f"1:{name}")

    store(here, profile)
    assert levels(here) == []
    told = here.perf("history", "--json").json["series"]
    assert sorted(one["collector"] for one in told) == ["time", "trace"]
    assert all(len(one["points"]) == VERSIONS // 2 for one in told)


def test_the_library_says_the_same(here: Here) -> None:
    store(here, lambda number: measured(number, noisy(number) if number != 4 else [NAN, None]))
    repository = here.repository
    (one,) = history.select_series(repository, series.config_histories(repository))
    assert [len(values) for values in one.series.values] == [0 if number == 4 else 5 for number in range(VERSIONS)]
    assert one.changes == ()
