"""The contract of postprocessors, for the ways of scaling."""

from __future__ import annotations

import pytest
from perfcore_postprocess_normalizer import Normalizer, NormalizerSettings

from perfcore.testing.postprocessor import PostprocessorContract

WAYS = {
    "maximum": NormalizerSettings(),
    "total": NormalizerSettings(to="total", unit="%"),
    "runs": NormalizerSettings(to="total", per="run"),
    "milliseconds": NormalizerSettings(unit="ms"),
    "one metric": NormalizerSettings(metric=("wall",), unit="s"),
    "whole numbers": NormalizerSettings(metric=("signed",), unit="ps"),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> NormalizerSettings:
    return WAYS[request.param]


class TestNormalizer(PostprocessorContract):
    @pytest.fixture
    def driver(self, way: NormalizerSettings) -> Normalizer:
        return Normalizer(way)
