"""The contract of aggregates. Inherit from it in your tests:

    class TestConcatenated(AggregateContract):
        @pytest.fixture
        def driver(self):
            return Concatenated()

Each law is tried on the profiles of `perfcore_testing.profiles`, several of one type at a time; what cannot be
joined is refused with a PerfError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from perfcore_command_derive.aggregation import aggregate

from perfcore.errors import PerfError
from perfcore.model.record import replace
from perfcore_testing import profiles
from perfcore_testing.kinds import misfits
from perfcore_testing.transforming import SAMPLES, attempted, same, survives_storing, totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.hookspecs import Aggregate
    from perfcore.model import Profile


class AggregateContract:
    """What every aggregate keeps. Override `driver`."""

    symmetric = True
    """The order of the profiles does not change the totals. False where, say, the last one counts most."""

    @pytest.fixture
    def driver(self) -> Aggregate:
        raise NotImplementedError("override the fixture `driver` and return an aggregate")

    def test_it_fits_the_kind(self, driver: Aggregate) -> None:
        """Its method has the specification's arguments, its options say what they are for."""
        assert misfits("aggregate", driver) == []

    def test_several_profiles_of_one_command_become_one(self, driver: Aggregate) -> None:
        """At least for one type it is not refused, and the result is of that type and command."""
        results = [(group[0], joined(driver, group)) for group in (_times(), _traces())]
        aggregated = [(first, result) for first, result in results if not isinstance(result, PerfError)]
        assert aggregated
        for first, result in aggregated:
            assert (result.header.type, result.header.argv) == (first.header.type, first.header.argv)

    @pytest.mark.parametrize("count", [1, 2, 7])
    @pytest.mark.parametrize("sample", SAMPLES)
    def test_any_group_is_joined_or_refused_with_a_reason(self, driver: Aggregate, sample: str, count: int) -> None:
        """One profile or many, empty, hostile, of unknown type: a profile that can be stored or a PerfError."""
        assert survives_storing(joined(driver, [profiles.SAMPLES[sample]() for _ in range(count)]))

    def test_profiles_with_other_columns_are_joined_or_refused(self, driver: Aggregate) -> None:
        """One type does not mean one set of columns: collectors and their options differ."""
        header = profiles.traced().header
        groups = [profiles.traced(), *(replace(make(), header=header) for make in profiles.SAMPLES.values())]
        for index in range(1, len(groups)):
            assert survives_storing(joined(driver, [groups[0], groups[index]]))
            assert survives_storing(joined(driver, [groups[index], groups[0]]))

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_the_profiles_stay_as_they_were(self, driver: Aggregate, sample: str) -> None:
        """An aggregate looks at its profiles and does not touch them."""
        group = [profiles.SAMPLES[sample](), profiles.SAMPLES[sample]()]
        joined(driver, group)
        assert group == [profiles.SAMPLES[sample](), profiles.SAMPLES[sample]()]

    def test_the_same_profiles_give_the_same_result(self, driver: Aggregate) -> None:
        """Also where they come from a store and their tables are any mapping."""
        for group in (_times(), _traces()):
            first = joined(driver, group)
            assert same(first, joined(driver, group))
            assert same(first, joined(driver, tuple(map(profiles.stored, group))))

    def test_the_order_of_the_profiles_does_not_matter(self, driver: Aggregate) -> None:
        """The totals of the values are the same whichever comes first."""
        if not self.symmetric:
            pytest.skip("the order is meant to matter")
        for group in (_times(), _traces()):
            forward, backward = joined(driver, group), joined(driver, group[::-1])
            assert isinstance(forward, PerfError) == isinstance(backward, PerfError)
            if not isinstance(forward, PerfError) and not isinstance(backward, PerfError):
                assert totals(forward) == totals(backward)

    def test_profiles_may_be_summed_in_parts(self, driver: Aggregate) -> None:
        """An accumulator is associative: whatever the parts, the totals are the same, and those of `aggregate`."""
        if not hasattr(driver, "start"):
            pytest.skip("the aggregate has no accumulator and gets all profiles at once")
        for group in (_times(), _traces()):
            at_once = joined(driver, group)
            if isinstance(at_once, PerfError):
                continue
            states = [driver.add(driver.start(), profile) for profile in group]
            left_first = driver.finish(driver.merge(driver.merge(states[0], states[1]), states[2]))
            states = [driver.add(driver.start(), profile) for profile in group]
            right = driver.finish(driver.merge(states[0], driver.merge(states[1], states[2])))
            assert totals(left_first) == totals(right) == totals(at_once)
            assert survives_storing(left_first)
            if hasattr(driver, "aggregate"):
                assert totals(driver.aggregate(group)) == totals(at_once)


def joined(driver: Aggregate, group: Sequence[Profile]) -> Profile | PerfError:
    """The one profile, or the PerfError that refused to make it."""
    return attempted(lambda: aggregate(driver, group))


def _times() -> list[Profile]:
    return [profiles.timed(), profiles.timed(3), profiles.timed(wall=10**7)]


def _traces() -> list[Profile]:
    return [profiles.traced(), profiles.traced(2), profiles.traced(3)]
