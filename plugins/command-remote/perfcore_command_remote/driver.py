"""The drivers of `perf remote`, `perf push`, `perf pull` and `perf fetch`: command lines are imported when used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from perfcore.library import History
    from perfcore_command_remote.transfer import Transferred


class RemoteCommand:
    """Name places to push to and pull from."""

    chapter = "Share"
    contract = "perfcore_command_remote.contract:RemoteCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_remote.remote_command import new_app

        return new_app()


class PushCommand:
    """Bring profiles to a remote."""

    chapter = "Share"
    after = "remote"
    contract = "perfcore_command_remote.contract:PushCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_remote.transfer_commands import new_push

        return new_push()

    def call(self, history: History, arguments: Mapping[str, Any]) -> Transferred:
        """What was brought to a remote. The arguments are `remote` (None for the only one, or `origin`), `versions`
        (ids; None for all), `dry_run` and `listener`."""
        from perfcore_command_remote.sharing import push

        return push(history.repository, **arguments)


class PullCommand:
    """Bring profiles from a remote."""

    chapter = "Share"
    after = "push"
    contract = "perfcore_command_remote.contract:PullCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_remote.transfer_commands import new_pull

        return new_pull()

    def call(self, history: History, arguments: Mapping[str, Any]) -> Transferred:
        """What was brought from a remote. The arguments are those of `push`."""
        from perfcore_command_remote.sharing import pull

        return pull(history.repository, **arguments)


class FetchCommand(PullCommand):
    """Bring profiles from a remote: the same as pull."""

    after = "pull"
    contract = "perfcore_command_remote.contract:FetchCommandContract"

    def app(self) -> typer.Typer:
        from perfcore_command_remote.transfer_commands import new_fetch

        return new_fetch()
