"""How the laws of the kind command are tried: by the tests, and by `perf plugins check`."""

from __future__ import annotations

import pytest
from perfcore_testing.command import CommandContract

from perfcore_command_doctor.driver import DoctorCommand


class DoctorCommandContract(CommandContract):
    examples = (["--seconds", "0.1"], ["--seconds", "0.1", "--json"])

    @pytest.fixture
    def driver(self) -> DoctorCommand:
        return DoctorCommand()
