"""The contract of postprocessors. Inherit from it in your tests:

    class TestDouble(PostprocessorContract):
        @pytest.fixture
        def driver(self):
            return Double()

Each law is tried on every profile of `perfcore_testing.profiles`; those that the driver cannot work on it
refuses, in `before` or in `postprocess`, with a PerfError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from perfcore.errors import PerfError
from perfcore.model import Tool
from perfcore.model.record import replace
from perfcore_testing import profiles
from perfcore_testing.kinds import misfits
from perfcore_testing.transforming import SAMPLES, attempted, same, survives_storing

if TYPE_CHECKING:
    from perfcore.hookspecs import Postprocessor
    from perfcore.model import Profile

KEPT = ("created", "collector", "machine", "environment_id", "sources", "origin", "dirty")


class PostprocessorContract:
    """What every postprocessor keeps. Override `driver`."""

    @pytest.fixture
    def driver(self) -> Postprocessor:
        raise NotImplementedError("override the fixture `driver` and return a postprocessor")

    def test_it_fits_the_kind(self, driver: Postprocessor) -> None:
        """Its methods have the specification's arguments, its options say what they are for."""
        assert misfits("postprocessor", driver) == []

    def test_some_profile_is_worked_on(self, driver: Postprocessor) -> None:
        """At least one of the samples is not refused."""
        results = [processed(driver, profiles.SAMPLES[sample]()) for sample in SAMPLES]
        assert any(not isinstance(result, PerfError) for result in results)

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_the_old_profile_stays_as_it_was(self, driver: Postprocessor, sample: str) -> None:
        """The result is a new profile; whoever holds the old one sees no change."""
        profile = profiles.SAMPLES[sample]()
        processed(driver, profile)
        assert profile == profiles.SAMPLES[sample]()

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_the_result_can_be_stored(self, driver: Postprocessor, sample: str) -> None:
        """What comes out is a profile like any other, written and read back unchanged."""
        assert survives_storing(processed(driver, profiles.SAMPLES[sample]()))

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_the_same_profile_gives_the_same_result(self, driver: Postprocessor, sample: str) -> None:
        """Twice with one driver: nothing of the first time is left, and neither time nor chance plays a part."""
        first = processed(driver, profiles.SAMPLES[sample]())
        assert same(first, processed(driver, profiles.SAMPLES[sample]()))

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_a_stored_profile_gives_the_same_result(self, driver: Postprocessor, sample: str) -> None:
        """The tables of a profile from a store are any mapping, not a dict."""
        stored = profiles.stored(profiles.SAMPLES[sample]())
        plain = replace(stored, tables=dict(stored.tables))
        assert same(processed(driver, stored), processed(driver, plain))

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_the_result_says_where_it_comes_from(self, driver: Postprocessor, sample: str) -> None:
        """Collector, command, machine, origin and earlier postprocessors stay in the profile. perfcore enters
        the driver itself with its version and options."""
        previous_tools = (Tool(name="earlier", version="1", params={"by": 2}),)
        profile = replace(
            profiles.SAMPLES[sample](), postprocessors=previous_tools, origin="a" * 40, dirty=True, sources=("b" * 40,)
        )
        result = processed(driver, profile)
        if not isinstance(result, PerfError):
            assert result.postprocessors[:1] == previous_tools
            assert (result.header.argv, result.header.label) == (profile.header.argv, profile.header.label)
            assert [name for name in KEPT if getattr(result, name) != getattr(profile, name)] == []

    @pytest.mark.parametrize("sample", SAMPLES)
    def test_after_can_end_what_failed(self, driver: Postprocessor, sample: str) -> None:
        """`after` is called with the old profile where `postprocess` failed, and then the driver works again."""
        profile = profiles.SAMPLES[sample]()
        if not isinstance(processed(driver, profile), PerfError):
            driver.before(profile)
            driver.after(profile)
            assert not isinstance(processed(driver, profile), PerfError)


def processed(driver: Postprocessor, profile: Profile) -> Profile | PerfError:
    """The result of the three phases as perfcore calls them, or the PerfError that ended them."""

    def phases() -> Profile:
        driver.before(profile)
        result = profile
        try:
            result = driver.postprocess(profile)
        finally:
            driver.after(result)
        return result

    return attempted(phases)
