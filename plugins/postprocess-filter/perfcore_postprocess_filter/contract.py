"""How the laws of the kind postprocessor are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.postprocessor import PostprocessorContract

from perfcore_postprocess_filter.driver import Filter, FilterSettings

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


class FilterContract(PostprocessorContract):
    """For the ways in which rows are chosen: without one there is nothing to do."""

    @pytest.fixture(params=WAYS)
    def driver(self, request: pytest.FixtureRequest) -> Filter:
        return Filter(WAYS[request.param])
