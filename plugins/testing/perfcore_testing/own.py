"""How the laws are tried on the format that perfcore brings itself: by its tests, and by `perf plugins check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from perfcore.profile.native import PerfFormat
from perfcore_testing.format import FormatContract

if TYPE_CHECKING:
    from perfcore.hookspecs import Format


class PerfContract(FormatContract):
    suffix = ".perf"

    @pytest.fixture
    def driver(self) -> Format:
        return cast("Format", PerfFormat())  # optional methods are missing
