"""Push and pull: the stores of a repository and of a remote, and a transfer from one to the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from perfcore_storage_kit import sets

from perfcore.errors import PluginError
from perfcore.hookspecs import SET
from perfcore.model.listener import Listener, SilentListener
from perfcore.plugins.drivers import guard
from perfcore.text import printable
from perfcore_command_remote import remotes, retention
from perfcore_command_remote.leaving import Leaving, leaving
from perfcore_command_remote.links import Links
from perfcore_command_remote.memory import Memory, is_told, keep_told
from perfcore_command_remote.redaction import AsItIs, Redacting, Restoring, SetDriver, Translation
from perfcore_command_remote.remotes import Remote
from perfcore_command_remote.rules import Rules
from perfcore_command_remote.set_back import Pushed
from perfcore_command_remote.tag_rules import tell_doubled
from perfcore_command_remote.transfer import Transferred, forget_listings, transfer

if TYPE_CHECKING:
    from perfcore.repository.repository import Repository
    from perfcore.store.store import Store

_ANY_RULES = "told"  # the name of what was told to a remote by any rules


def push(
    repository: Repository,
    remote: str | None = None,
    *,
    versions: Container[str] | None = None,
    full: bool = False,
    dry_run: bool = False,
    listener: Listener | None = None,
) -> Transferred:
    """Bring to a remote what it lacks, redacted by the rules of the configuration. In `full`, whatever is remembered of
    earlier transfers, and what is damaged there, too."""
    translation = _redaction(repository, dry_run)
    return _push(repository, remote, translation, versions, full, dry_run, listener or SilentListener())


def first_look(
    repository: Repository,
    remote: str | None = None,
    *,
    versions: Container[str] | None = None,
    full: bool = False,
    listener: Listener | None = None,
) -> Leaving | None:
    """What a push would tell about the machine and its users. None where `agree` was called for this remote and these
    rules."""
    rules, listener = Rules.of(repository.config), listener or SilentListener()
    if is_told(repository.store.read_model, _agreement(repository, remote, rules)):
        return None
    translation = _redaction(repository, True)
    done = _push(repository, remote, translation, versions, full, True, listener)
    ids = [translation.original(entry.profile) for _, entry in done.profiles]
    look = leaving(repository.store, ids, rules, listener)
    look.tags = {tag for _, entry in done.profiles for tag in entry.tags}
    return look


def agree(repository: Repository, remote: str | None = None) -> None:
    """Remember that what leaves for a remote by these rules was told."""
    model, place = repository.store.read_model, remotes.named(repository, remote)
    keep_told(model, _agreement(repository, remote, Rules.of(repository.config)))
    keep_told(model, remotes.transfers_name(place, _ANY_RULES))


def is_first(repository: Repository, remote: str | None = None) -> bool:
    """Whether `agree` was never called for a remote, by whatever rules."""
    model, place = repository.store.read_model, remotes.named(repository, remote)
    # An earlier perfcore kept it by the rules alone, and without rules by none.
    return not any(is_told(model, remotes.transfers_name(place, name)) for name in (_ANY_RULES, "push"))


def pull(
    repository: Repository,
    remote: str | None = None,
    *,
    versions: Container[str] | None = None,
    full: bool = False,
    dry_run: bool = False,
    listener: Listener | None = None,
) -> Transferred:
    """Bring from a remote what is not here; in `full`, whatever is remembered of earlier transfers, and what is damaged
    here, too. What comes is data: nothing of it runs."""
    place, listener = remotes.named(repository, remote), listener or SilentListener()
    remotes.check_place(repository, place)
    if remotes.is_empty(place):
        listener.note(f"there is no store at {printable(place.url)} yet")
    there = _opened(repository, place, full)
    # What rules made of profiles is not compared with them.
    links = _links(repository)
    is_redacted = bool(Rules.of(repository.config) or links.originals)
    pushed = None if is_redacted else Pushed(_memory(repository, place, "push"), retention.read(there))
    done = transfer(
        there,
        repository.store,
        _memory(repository, place, "pull", full),
        listener,
        declared=sets.declared(repository.plugins),
        versions=versions,
        translation=Restoring(links),
        pushed=pushed,
        verify=full,
        dry_run=dry_run,
    )
    remotes.remember_store(repository, place)
    if done.profiles or done.tagged:
        tell_doubled(repository, listener)
    return done


def _push(
    repository: Repository,
    remote: str | None,
    translation: Translation,
    versions: Container[str] | None,
    full: bool,
    dry_run: bool,
    listener: Listener,
) -> Transferred:
    place = remotes.named(repository, remote)
    if not full:
        remotes.check_not_lost(repository, place)
    memory = _memory(repository, place, f"push{Rules.of(repository.config).digest}", full)
    there = _opened(repository, place, full)
    if (cutoff := retention.read(there)).before:
        listener.note(f"{place.name} keeps no profiles made before {cutoff.date}, unless they have a tag")
    done = transfer(
        repository.store,
        there,
        memory,
        listener,
        declared=sets.declared(repository.plugins),
        versions=versions,
        translation=translation,
        cutoff=cutoff,
        verify=full,
        dry_run=dry_run,
    )
    remotes.remember_store(repository, place)
    return done


def _redaction(repository: Repository, dry_run: bool) -> Translation:
    rules = Rules.of(repository.config)
    links = _links(repository)
    if not rules and not links.originals:
        return AsItIs()
    return Redacting(repository.store, rules, links, dry_run, functools.cache(_set_drivers(repository)))


def _set_drivers(repository: Repository) -> Callable[[str], SetDriver | None]:
    """What redacts the records of a set, by its name; None, and a warning, where its plugin does not work."""

    def of(name: str) -> SetDriver | None:
        try:
            info, driver = repository.plugins.make(SET, name)
        except PluginError as error:
            repository.plugins.warn(f"records of {name} stay here: {error}")
            return None
        if not hasattr(driver, "redacted"):
            return None

        def redacted(key: str, data: bytes, rules: sets.Rules) -> bytes | None:
            with guard(info, "redacted"):
                return driver.redacted(key, data, rules)

        return redacted

    return of


def _opened(repository: Repository, remote: Remote, full: bool) -> Store:
    there = remotes.opened(repository, remote, recall=remotes.DAY)
    if full:
        forget_listings(there)
    return there


def _memory(repository: Repository, remote: Remote, direction: str, full: bool = False) -> Memory:
    model, group = repository.store.read_model, remotes.transfers_name(remote, direction)
    return Memory(model, group) if full else Memory.read(model, group)


def _agreement(repository: Repository, remote: str | None, rules: Rules) -> str:
    return remotes.transfers_name(remotes.named(repository, remote), f"push{rules.digest}")


def _links(repository: Repository) -> Links:
    return Links.read(repository.perf / "redacted")
