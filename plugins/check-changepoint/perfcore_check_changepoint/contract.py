"""How the laws of the kind check are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.scan import ScanContract

from perfcore_check_changepoint import ChangepointCheck, ChangepointSettings


class ChangepointContract(ScanContract):
    """Those of checks that scan."""

    @pytest.fixture
    def driver(self) -> ChangepointCheck:
        return ChangepointCheck(ChangepointSettings())
