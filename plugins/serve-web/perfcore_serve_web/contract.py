"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandContract

from perfcore_serve_web.driver import Serve


class ServeContract(CommandContract):
    @pytest.fixture
    def driver(self) -> Serve:
        return Serve()
