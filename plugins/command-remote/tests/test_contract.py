"""The commands as plugins."""

from __future__ import annotations

from perfcore_command_remote.contract import (
    FetchCommandContract,
    PullCommandContract,
    PushCommandContract,
    RemoteCommandContract,
)


class TestRemoteCommand(RemoteCommandContract):
    """Every law of the kind command."""


class TestPushCommand(PushCommandContract):
    """Every law of the kind command."""


class TestPullCommand(PullCommandContract):
    """Every law of the kind command."""


class TestFetchCommand(FetchCommandContract):
    """Every law of the kind command."""
