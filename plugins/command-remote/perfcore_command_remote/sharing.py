"""Push and pull: the stores of a repository and of a remote, and a transfer from one to the other."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from perfcore.model.listener import Listener, SilentListener
from perfcore_command_remote import remotes
from perfcore_command_remote.memory import Memory
from perfcore_command_remote.transfer import Transferred, transfer

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository


def push(
    repository: Repository,
    remote: str | None = None,
    *,
    versions: Container[str] | None = None,
    dry_run: bool = False,
    listener: Listener | None = None,
) -> Transferred:
    """Bring to a remote what it lacks."""
    place = remotes.named(repository, remote)
    memory = Memory.read(remotes.memory_file(repository, place, "push"))
    there = remotes.opened(repository, place)
    return transfer(repository.store, there, memory, listener or SilentListener(), versions=versions, dry_run=dry_run)


def pull(
    repository: Repository,
    remote: str | None = None,
    *,
    versions: Container[str] | None = None,
    dry_run: bool = False,
    listener: Listener | None = None,
) -> Transferred:
    """Bring from a remote what is not here. What comes is data: nothing of it runs."""
    place = remotes.named(repository, remote)
    memory = Memory.read(remotes.memory_file(repository, place, "pull"))
    there = remotes.opened(repository, place)
    return transfer(there, repository.store, memory, listener or SilentListener(), versions=versions, dry_run=dry_run)
