"""How the laws of the kind check are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.check import CheckContract

from perfcore_check_shares import SharesCheck


class SharesContract(CheckContract):
    """Profiles without cells are those of runs, which the check `pair` compares."""

    @pytest.fixture
    def driver(self) -> SharesCheck:
        return SharesCheck()
