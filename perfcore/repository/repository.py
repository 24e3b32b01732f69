"""One opened repository: the API of scripts, of plugins and of the command line.

repository = Repository.open(Path.cwd())
head = repository.version()
for entry in repository.entries(head):
    print(entry.label, entry.profile)

The class is a facade. The work is done by the modules beside it, which a command imports when it needs them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfcore.config.layers import KEYS, LOCAL_FILE, Config
from perfcore.config.trust import Commands, Trust
from perfcore.digests import sha1
from perfcore.errors import FormatError, PerfError, PluginError, UsageError
from perfcore.hookspecs import STORAGE, VCS, VCS_BUILT
from perfcore.plugins.registry import Plugins
from perfcore.repository.location import DIRECTORY, UserPlaces, load_config, locate
from perfcore.store import pending
from perfcore.store.store import Store

if TYPE_CHECKING:
    from perfcore.hookspecs import Vcs
    from perfcore.model import Entry, MinorVersion, Profile
    from perfcore.plugins.installed import PluginInfo
    from perfcore.store.catalog import Catalog
    from perfcore.store.lookup import Ref
    from perfcore.store.pending import Pending


class Repository:
    """A working tree (`root`) and the folder that holds its `.perf` (`home`; the same for linked trees)."""

    def __init__(
        self, *, home: Path, root: Path, cwd: Path, config: Config, plugins: Plugins, places: UserPlaces
    ) -> None:
        self.home = home
        self.root = root
        self.cwd = cwd
        self.config = config
        self.plugins = plugins
        self.places = places
        self.trust = Trust(places.trust)
        self.commands = Commands(places.trust.with_name("commands"))
        self.left_out: list[PerfError] = []

    @classmethod
    def open(
        cls,
        start: Path,
        *,
        plugins: Plugins | None = None,
        places: UserPlaces | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Repository:
        """The repository around `start`. NotFoundError where no folder up from it has a `.perf`. Trees that killed
        commands left are removed."""
        user = places or UserPlaces.default()
        plugins, start = plugins or Plugins(memory=lambda: user.installed), start.resolve()
        home, root, config = locate(start, plugins, user, overrides)
        repository = cls(home=home, root=root, cwd=start, config=config, plugins=plugins, places=user)
        if any(path.suffix != ".lock" for path in repository.scratch.glob("tree-*")):
            from perfcore.repository.scratch import remove_left_trees

            remove_left_trees(repository)
        return repository

    @classmethod
    def init(
        cls,
        directory: Path,
        *,
        vcs: str | None = None,
        init_vcs: bool = False,
        options: Mapping[str, Any] | None = None,
        storage: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
        plugins: Plugins | None = None,
        places: UserPlaces | None = None,
    ) -> Repository:
        """Make a `.perf` beside the VCS that is found, or that `init_vcs` makes. PerfError where there is one."""
        from perfcore.repository.creation import create

        user = places or UserPlaces.default()
        plugins, directory = plugins or Plugins(memory=lambda: user.installed), directory.resolve()
        create(directory, vcs, init_vcs, options or {}, plugins, user, storage, storage_options or {})
        return cls.open(directory, plugins=plugins, places=user)

    @property
    def perf(self) -> Path:
        return self.home / DIRECTORY

    @functools.cached_property
    def vcs_name(self) -> str:
        name = self.config.get("vcs.name")
        if not name:
            raise UsageError(f"{self.perf / LOCAL_FILE} does not say which VCS this is", hint="set `vcs.name`")
        return str(name)

    @functools.cached_property
    def vcs(self) -> Vcs:
        """The VCS driver, completed by the core where it has only the required methods. A state that a killed command
        left behind is restored first."""
        options = self.plugin_options("vcs", self.vcs_name)
        plugin, driver = open_vcs(self.plugins, self.vcs_name, options, self.root, lambda: self.scratch)
        state = driver.saved_state()
        if state is not None:
            driver.restore_state(state)
            self.plugins.warn(f"{plugin} restored the changes that a killed command had put aside")
        return driver

    @functools.cached_property
    def scratch(self) -> Path:
        """The parent of this repository's temporary directories."""
        # Outside of it, so that a tool which searches parent directories does not find the user's files.
        name = sha1(os.fsencode(self.home)).hexdigest()[:10]
        return self.places.trees / name

    @functools.cached_property
    def store(self) -> Store:
        name = str(self.trusted("storage.name"))
        try:
            _, driver = self.plugins.make(STORAGE, name, self.plugin_options("storage", name), place=self.perf)
        except PluginError as error:
            if name == "local" and not self.plugins.names("storage"):  # the core alone brings no storage
                raise PluginError(error.message, hint="pip install perfcore-storage-local") from error
            raise
        warnings: Sequence[str] = driver.warnings() if hasattr(driver, "warnings") else ()
        for text in warnings:
            self.plugins.warn(text)
        store = Store(driver, self._read_model_folder(reliable=not warnings) / "derived.db")
        store.nearest_stacks, store.is_version = self._nearest_stacks, self.is_version
        return store

    def _read_model_folder(self, *, reliable: bool) -> Path:
        """The folder of the read model: the user's own where `.perf` cannot be written to, or is no `reliable` place
        for locks."""
        own = self.perf / "cache"
        if reliable and not own.is_symlink() and os.access(own if own.exists() else self.perf, os.W_OK):
            return own
        return self.places.trees.parent / "read-models" / self.scratch.name

    def _nearest_stacks(self, profile: Profile) -> Mapping[str, Sequence[str]]:
        from perfcore.repository import entries

        return entries.nearest_stacks(self, profile)

    def trusted(self, key: str) -> Any:
        """The value of a key that makes something run. UntrustedError unless it is the default, or trusted."""
        value = self.config.get(key)
        if value != KEYS[key].default:
            self.trust.require(self.config.origin(key))
        return value

    def plugin_options(self, kind: str, name: str) -> dict[str, Any]:
        """The configured options of a plugin. UntrustedError for options in an untrusted layer. A view only shows
        profiles, so it goes without such options."""
        name = name.rpartition(":")[2]  # options have the short name as key
        layers = [layer for layer in self.config.layers if name in layer.plugins(kind)]
        for layer in layers:
            if kind != "view":
                self.trust.require(layer)
            elif not self.trust.covers(layer):
                self.plugins.warn(f"options of the view {name} in {layer.path} are left out: you have not trusted it")
        return Config(tuple(layer for layer in layers if self.trust.covers(layer))).plugin_options(kind, name)

    def version(self, revision: str | None = None) -> str:
        """The full id of a revision; of the head for None."""
        return self.vcs.get_minor_head() if revision is None else self.vcs.massage_parameter(revision)

    def is_version(self, id: str) -> bool:
        """Whether this is the full id of a version that is here."""
        with contextlib.suppress(PerfError):
            self.vcs.check_minor_version_validity(id)
            return True
        return False

    def entries(self, version: str) -> tuple[Entry, ...]:
        """The registered profiles of a version, oldest first: their indexes are the numbers of `N@i`."""
        return self._complete(self.store.read_index(self.vcs_name, version).live)

    def readable_entries(self, version: str, catalog: Catalog | None = None) -> tuple[Entry, ...]:
        """The same for listings: a damaged index is a warning without entries. A `catalog` makes many cheap."""
        try:
            return self._complete(catalog.entries(self.vcs_name, version)) if catalog else self.entries(version)
        except FormatError as error:
            self.leave_out(error)
            return ()

    def leave_out(self, error: PerfError) -> None:
        """Warn that an answer lacks something damaged. `left_out` has them all, and a command that has any fails."""
        self.left_out.append(error)
        self.plugins.warn(f"{error.message} (left out; {error.hint or '`perf fsck` tells more'})")

    def catalog(self) -> contextlib.AbstractContextManager[Catalog]:
        """The content of all indexes, cheaper than reading them one by one; the read model keeps it."""
        from perfcore.repository import entries

        return entries.catalog(self)

    def walk(
        self, head: str | None = None, newest: int | None = None
    ) -> Iterator[tuple[MinorVersion, tuple[Entry, ...]]]:
        """Every version from `head` back with its profiles, newest first, streamed; damaged indexes are left out
        with a warning. Of the `newest` few only, the others are not looked at."""
        from perfcore.repository import entries

        return entries.walk(self, head, newest)

    def everywhere(self) -> list[tuple[str, Entry]]:
        """(version, entry) of every profile registered anywhere in the store; a damaged index is a warning."""
        from perfcore.repository import entries

        return entries.everywhere(self)

    def pending(self) -> list[Pending]:
        return pending.walk(self.store, outline="profile")

    def find(self, name: str, *, unregistered: bool = False) -> list[Ref]:
        """The profiles of a name, as `perfcore.store.lookup` describes them; with `unregistered`, a name that is
        no number is looked for only among pending profiles and files."""
        from perfcore.repository import entries

        return entries.find(self, name, unregistered=unregistered)

    def load(self, ref: Ref) -> Profile:
        """The profile behind a reference."""
        from perfcore.repository import entries

        return entries.load(self, ref)

    def read_file(self, path: Path, format: str | None = None) -> Profile:
        """The profile in a file of any format that a plugin knows, complete and verified."""
        from perfcore.repository.imports import read_profile_file

        return read_profile_file(self, path, format, self.store.get_piece).profile

    def save(self, profile: Profile) -> Pending:
        """Keep a profile as a pending one."""
        return pending.save(self.store, profile)

    def replace(self, earlier: Pending | None, profile: Profile) -> Pending:
        """Keep a profile in the place of a pending one; as a new one where that is gone, or was changed."""
        return pending.replace(self.store, earlier, profile)

    def register(self, ref: Ref, version: str | None = None, *, keep: bool = False) -> tuple[str, Entry]:
        """Register a pending profile or a file with a version (its origin, or else the head). The source is
        removed once the index is durable, unless it is to be kept."""
        from perfcore.repository import registration

        return registration.register(self, ref, version, keep=keep)

    def unregister(self, version: str, entry: Entry) -> None:
        """Take a profile off a version; the object stays until nothing refers to it and its grace is over."""
        from perfcore.repository import registration

        registration.unregister(self, version, entry)

    def tag(self, version: str, entry: Entry, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Entry:
        """The entry with other tags: the old one becomes a tombstone. NotFoundError where it was taken off."""
        from perfcore.repository import registration

        return registration.tag(self, version, entry, add=add, remove=remove)

    def facts(self) -> dict[str, Any]:
        """The machine, with what plugins add."""
        from perfcore import environment

        return environment.facts(self.plugins.emit("environment"))

    def _complete(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Entries of version 1 of the index have only name and time; their profiles have the rest."""
        for entry in entries:  # one or two for each of many versions
            if not entry.type:
                from perfcore.repository.entries import completed

                return tuple(entry if entry.type else completed(self, entry) for entry in entries)
        return entries


def open_vcs(
    plugins: Plugins, name: str, options: Mapping[str, Any], root: Path, directory: Callable[[], Path]
) -> tuple[PluginInfo, Vcs]:
    """A driver at a root. Methods that the core needs and the driver lacks work on a private copy in `directory`;
    PluginError where perfcore-vcs-kit, which makes it, is not installed."""
    plugin, driver = plugins.make(VCS, name, options, place=root)
    if all(hasattr(driver, method) for method in VCS_BUILT):
        return plugin, driver
    try:
        completed = importlib.import_module("perfcore_vcs_kit.completed").completed
    except ImportError as error:
        lacking = ", ".join(method for method in VCS_BUILT if not hasattr(driver, method))
        raise PluginError(f"{plugin} has no {lacking}", hint="pip install perfcore-vcs-kit") from error

    def open_at(place: Path) -> Vcs:
        return plugins.make(VCS, name, options, place=place)[1]

    return plugin, completed(driver, root, open_at, directory(), plugins.warn)


__all__ = ["Repository", "UserPlaces", "load_config", "open_vcs"]
