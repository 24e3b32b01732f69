"""The contracts of postprocessors, diffs and aggregates, each with a driver that keeps it and some that do not."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from perfcore_testing import profiles
from perfcore_testing.aggregate import AggregateContract
from perfcore_testing.diff import DiffContract
from perfcore_testing.postprocessor import PostprocessorContract

from perfcore.errors import FormatError, PerfError, UsageError
from perfcore.model import Profile
from perfcore.model.record import replace
from perfcore.profile.table import Column, Table, Value, column, concat, table
from perfcore.settings import option


def resources_of(profile: Profile) -> Table:
    found = profile.table("resources")
    if found is None:
        raise UsageError("the profile has no resources")
    return found


def changed(old: Column, values: Sequence[Value]) -> Column:
    """The column with other values; refused where they do not fit."""
    return column(old.name, values, dtype=old.dtype, unit=old.unit, role=old.role, better=old.spec.better)


@attrs.frozen
class TimesSettings:
    by: int = option(2, help="What every amount is multiplied by.", identity=True)


class Times:
    """Multiplies every amount."""

    Settings = TimesSettings

    def __init__(self, settings: TimesSettings | None = None) -> None:
        self.settings = settings or TimesSettings()
        self.busy = False

    def before(self, profile: Profile) -> None:
        resources_of(profile)
        assert not self.busy
        self.busy = True

    def postprocess(self, profile: Profile) -> Profile:
        by, resources = self.settings.by, resources_of(profile)
        columns = [changed(old, [None if value is None else value * by for value in old]) for old in resources.values()]
        return profile.replace_tables(resources=resources.with_columns(*columns))

    def after(self, profile: Profile) -> None:
        self.busy = False


class TestTimes(PostprocessorContract):
    @pytest.fixture
    def driver(self) -> Times:
        return Times()


class Rows:
    """Subtracts amounts row by row."""

    def diff(self, baseline: Profile, target: Profile) -> Profile:
        before, after = resources_of(baseline), resources_of(target)
        if [c.spec for c in before.columns] != [c.spec for c in after.columns] or before.rows != after.rows:
            raise UsageError("the profiles hold other things")
        columns = [
            changed(new, list(map(minus, new, before[new.name]))) for new in after.values() if new.dtype != "f64"
        ]
        return target.replace_tables(resources=after.with_columns(*columns))


def minus(a: Any, b: Any) -> Value:
    return None if a is None or b is None else a - b


class TestRows(DiffContract):
    @pytest.fixture
    def driver(self) -> Rows:
        return Rows()


class Concatenated:
    """One after the other."""

    def aggregate(self, profiles: Sequence[Profile]) -> Profile:
        tables = [resources_of(profile) for profile in profiles]
        if any([c.spec for c in each.columns] != [c.spec for c in tables[0].columns] for each in tables):
            raise UsageError("the profiles hold other things")
        return replace(profiles[0], tables={"resources": concat(tables)})


class TestConcatenated(AggregateContract):
    @pytest.fixture
    def driver(self) -> Concatenated:
        return Concatenated()


class Made:
    """A driver of all three kinds that does as it is told."""

    def __init__(self, make: Callable[..., Profile]) -> None:
        self.make = make

    def before(self, profile: Profile) -> None:
        pass

    def postprocess(self, profile: Profile) -> Profile:
        return self.make(profile)

    def after(self, profile: Profile) -> None:
        pass

    def diff(self, baseline: Profile, target: Profile) -> Profile:
        return self.make(baseline, target)

    def aggregate(self, profiles: Sequence[Profile]) -> Profile:
        return self.make(*profiles)


def random_profile(*given: Profile) -> Profile:
    return profiles.profile({"resources": table("resources", [column("n", [random.random()], role="value")])})


def refusing(*given: Profile) -> Profile:
    raise PerfError("no")


def failing(*given: Profile) -> Profile:
    raise KeyError("resources")


def printing(*given: Profile) -> Profile:
    raise FormatError("bad name \x1b[2J")


def touching(profile: Profile, *more: Profile) -> Profile:
    profile.tables.pop("resources", None)  # type: ignore[attr-defined]
    return profile


def needing_a_dict(profile: Profile, *more: Profile) -> Profile:
    return replace(profile, tables={} if isinstance(profile.tables, dict) else profile.tables)


@pytest.mark.parametrize(
    ("contract", "law", "make", "error"),
    [
        (PostprocessorContract, "test_some_profile_is_worked_on", refusing, AssertionError),
        (PostprocessorContract, "test_the_result_can_be_stored", failing, KeyError),
        (PostprocessorContract, "test_the_result_can_be_stored", printing, AssertionError),
        (PostprocessorContract, "test_the_result_can_be_stored", lambda profile: None, AssertionError),
        (PostprocessorContract, "test_the_old_profile_stays_as_it_was", touching, AssertionError),
        (PostprocessorContract, "test_the_same_profile_gives_the_same_result", random_profile, AssertionError),
        (PostprocessorContract, "test_a_stored_profile_gives_the_same_result", needing_a_dict, AssertionError),
        (PostprocessorContract, "test_the_result_says_where_it_comes_from", random_profile, AssertionError),
        (DiffContract, "test_two_profiles_of_one_command_are_compared", refusing, AssertionError),
        (DiffContract, "test_a_profile_differs_from_itself_by_nothing", lambda one, other: other, AssertionError),
        (
            DiffContract,
            "test_amounts_are_target_minus_baseline",
            lambda one, other: Rows().diff(other, one),
            AssertionError,
        ),
        (DiffContract, "test_any_pair_is_compared_or_refused_with_a_reason", failing, KeyError),
        (DiffContract, "test_both_profiles_stay_as_they_were", touching, AssertionError),
        (DiffContract, "test_the_same_pair_gives_the_same_result", random_profile, AssertionError),
        (AggregateContract, "test_several_profiles_of_one_command_become_one", refusing, AssertionError),
        (AggregateContract, "test_the_order_of_the_profiles_does_not_matter", lambda one, *more: one, AssertionError),
        (AggregateContract, "test_the_profiles_stay_as_they_were", touching, AssertionError),
        (AggregateContract, "test_profiles_with_other_columns_are_joined_or_refused", failing, KeyError),
        (AggregateContract, "test_the_same_profiles_give_the_same_result", random_profile, AssertionError),
    ],
)
def test_a_law_finds_the_driver_that_breaks_it(
    contract: Any, law: str, make: Callable[..., Profile], error: type[Exception]
) -> None:
    method = getattr(contract(), law)
    arguments = {"sample": "timed"} if "sample" in method.__code__.co_varnames else {}
    with pytest.raises(error):
        method(Made(make), **arguments)
