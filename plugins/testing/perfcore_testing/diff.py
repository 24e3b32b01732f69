"""The contract of diffs. Inherit from it in your tests:

    class TestRows(DiffContract):
        @pytest.fixture
        def driver(self):
            return Rows()

Each law is tried on pairs of the profiles of `perfcore_testing.profiles`; a pair that cannot be compared is
refused with a PerfError.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from perfcore.errors import PerfError
from perfcore_testing import profiles
from perfcore_testing.kinds import misfits
from perfcore_testing.transforming import SAMPLES, attempted, same, survives_storing, totals

if TYPE_CHECKING:
    from perfcore.hookspecs import Diff
    from perfcore.model import Profile


class DiffContract:
    """What every diff keeps. Override `driver`."""

    additive = True
    """The totals of a difference are the differences of the totals. False where amounts are, say, medians."""

    @pytest.fixture
    def driver(self) -> Diff:
        raise NotImplementedError("override the fixture `driver` and return a diff")

    def test_it_fits_the_kind(self, driver: Diff) -> None:
        """Its method has the specification's arguments, its options say what they are for."""
        assert misfits("diff", driver) == []

    def test_two_profiles_of_one_command_are_compared(self, driver: Diff) -> None:
        """At least one pair of one type is not refused."""
        pairs = (profiles.timed(), profiles.timed(wall=10**7)), (profiles.traced(), profiles.traced(2))
        assert any(not isinstance(differing(driver, *pair), PerfError) for pair in pairs)

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_a_profile_differs_from_itself_by_nothing(self, driver: Diff, sample: str) -> None:
        """Every amount of the result is zero, or is missing."""
        result = differing(driver, profiles.SAMPLES[sample](), profiles.SAMPLES[sample]())
        if not isinstance(result, PerfError):
            assert set(totals(result).values()) <= {0}

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_any_pair_is_compared_or_refused_with_a_reason(self, driver: Diff, sample: str) -> None:
        """Whatever the other is, of another type, empty, hostile: a profile that can be stored or a PerfError."""
        for target in SAMPLES:
            assert survives_storing(differing(driver, profiles.SAMPLES[sample](), profiles.SAMPLES[target]()))

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_both_profiles_stay_as_they_were(self, driver: Diff, sample: str) -> None:
        """A diff looks at its profiles and does not touch them."""
        before, after = profiles.SAMPLES[sample](), profiles.traced(2)
        differing(driver, before, after)
        differing(driver, after, before)
        assert (before, after) == (profiles.SAMPLES[sample](), profiles.traced(2))

    def test_the_same_pair_gives_the_same_result(self, driver: Diff) -> None:
        """Also where the profiles come from a store and their tables are any mapping."""
        for before, after in product((profiles.timed(3), profiles.traced(2)), repeat=2):
            first = differing(driver, before, after)
            assert same(first, differing(driver, before, after))
            assert same(first, differing(driver, profiles.stored(before), profiles.stored(after)))

    def test_amounts_are_target_minus_baseline(self, driver: Diff) -> None:
        """The direction counts: what the target has more is above zero."""
        if not self.additive:
            pytest.skip("the amounts are no sums")
        pairs = (profiles.timed(), profiles.timed(wall=10**7)), (profiles.traced(), profiles.traced(3))
        for baseline, target in pairs:
            result = differing(driver, baseline, target)
            if not isinstance(result, PerfError):
                before, after, changed = totals(baseline), totals(target), totals(result)
                assert changed == {name: after[name] - before[name] for name in changed}
                assert any(changed.values())


def differing(driver: Diff, baseline: Profile, target: Profile) -> Profile | PerfError:
    """The difference, or the PerfError that refused it."""
    return attempted(lambda: driver.diff(baseline, target))
