"""How the laws of the kind postprocessor are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.postprocessor import PostprocessorContract

from perfcore_postprocess_normalizer.driver import Normalizer, NormalizerSettings

WAYS = {
    "maximum": NormalizerSettings(),
    "total": NormalizerSettings(to="total", unit="%"),
    "runs": NormalizerSettings(to="total", per="run"),
    "milliseconds": NormalizerSettings(unit="ms"),
    "one metric": NormalizerSettings(metric=("wall",), unit="s"),
    "whole numbers": NormalizerSettings(metric=("signed",), unit="ps"),
}


class NormalizerContract(PostprocessorContract):
    """For the ways of scaling."""

    @pytest.fixture(params=WAYS)
    def driver(self, request: pytest.FixtureRequest) -> Normalizer:
        return Normalizer(WAYS[request.param])
