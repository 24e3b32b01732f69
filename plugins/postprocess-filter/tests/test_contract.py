"""The contract of postprocessors, for the ways in which rows are chosen."""

from __future__ import annotations

import pytest
from perfcore_postprocess_filter import Filter, FilterSettings

from perfcore.testing.postprocessor import PostprocessorContract

WAYS = {
    "expression": FilterSettings(expression="< 20ms"),
    "text": FilterSettings(expression="uid not like '%a%' or uid is missing"),
    "dropped": FilterSettings(expression=">= 1", drop=True),
    "top": FilterSettings(top=2),
    "share": FilterSettings(share=80),
    "over": FilterSettings(over=10, per="run"),
    "runs": FilterSettings(top=1, by="wall", per="run"),
    "other table": FilterSettings(expression="strength > 0.6", table="entanglement"),
}


@pytest.fixture(params=WAYS)
def driver(request: pytest.FixtureRequest) -> Filter:
    return Filter(WAYS[request.param])


class TestFilter(PostprocessorContract):
    @pytest.fixture
    def driver(self, driver: Filter) -> Filter:
        return driver
