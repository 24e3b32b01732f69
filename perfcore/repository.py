"""One opened repository: the API of scripts, of plugins and of the command line.

repository = Repository.open(Path.cwd())
head = repository.version()
for entry in repository.entries(head):
    print(entry.label, entry.profile)
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from perfcore import environment, files, inhouse
from perfcore.config import LOCAL_FILE, PROJECT_FILE, Config, Layer, LayerName, read_layer, set_value
from perfcore.errors import ConflictError, FormatError, NotFoundError, PerfError, PluginError, StorageError, UsageError
from perfcore.model import Entry, is_tag
from perfcore.plugins import Plugins, guard
from perfcore.store import index as indexes
from perfcore.store import objects, pending
from perfcore.store.recent import Recent
from perfcore.store.store import Kept, Store
from perfcore.text import brief, printable
from perfcore.trust import Commands, Trust

if TYPE_CHECKING:
    from perfcore.hookspecs import Storage, Vcs
    from perfcore.model import MinorVersion, Profile, Subject
    from perfcore.profile import codec
    from perfcore.store.catalog import Catalog
    from perfcore.store.lookup import Ref
    from perfcore.store.pending import Pending

DIRECTORY = ".perf"
SNIFFED = 4096
LAYOUT = 1  # of `.perf`
_NO_TAG = "no blanks, '@', ':' or slashes, and no hyphen in front"
_UNFINISHED = f"{DIRECTORY}-unfinished-"
_FOLDERS = ("jobs", "logs", "objects", "cache", "tmp")


class UserPlaces(NamedTuple):
    """The user's own files: configuration, list of trusted contents, room for trees that are measured, and for what
    is known of the plugins."""

    config: Path
    trust: Path
    trees: Path
    installed: Path | None = None

    @classmethod
    def default(cls) -> UserPlaces:
        import platformdirs

        config = Path(platformdirs.user_config_dir("perfcore"))
        cache = Path(platformdirs.user_cache_dir("perfcore"))
        trusted = Path(platformdirs.user_data_dir("perfcore")) / "trusted"
        return cls(config / "config.yml", trusted, cache / "trees", cache / "installed")


class _Source(NamedTuple):
    """Where a profile that is to be registered comes from: `pending`, or the file at `path` as it was read. `kept`
    has the pieces of its tables."""

    name: str
    profile: Profile
    data: bytes
    kept: Kept
    pending: Pending | None = None
    path: Path | None = None
    stamp: tuple[int, ...] = ()


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

    @classmethod
    def open(
        cls,
        start: Path,
        *,
        plugins: Plugins | None = None,
        places: UserPlaces | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Repository:
        """The repository around `start`. NotFoundError where no folder up from it has a `.perf`."""
        own = places = places or UserPlaces.default()
        plugins, start = plugins or Plugins(memory=lambda: own.installed), start.resolve()
        home = _home_above(start) or _home_by_vcs(start, plugins)
        if home is None:
            raise NotFoundError(f"{start} is not inside a perfcore repository", hint=_without_file(start))
        local = read_layer("local", home / DIRECTORY / LOCAL_FILE)
        _refuse_newer(home / DIRECTORY, local)
        name = _text_of(local, "vcs", "name")
        trust = Trust(places.trust)
        plugins.bring(inhouse.named_in(Config((local,)), {"local": home}), trust)  # one of them may be the VCS
        root = _working_tree(home, start, name, plugins)
        config = load_config(root, places, local=local, overrides=overrides)
        plugins.disabled |= frozenset(config.get("plugins.disabled"))
        folders: dict[LayerName, Path] = {
            "user": places.config.parent,
            "project": root,
            "local": home,
            "command line": start,
        }
        plugins.bring(inhouse.named_in(config, folders), trust)
        return cls(home=home, root=root, cwd=start, config=config, plugins=plugins, places=places)

    @classmethod
    def init(
        cls,
        directory: Path,
        *,
        vcs: str | None = None,
        init_vcs: bool = False,
        options: Mapping[str, Any] | None = None,
        plugins: Plugins | None = None,
        places: UserPlaces | None = None,
    ) -> Repository:
        """Make a `.perf` beside the VCS that is found, or that `init_vcs` makes. PerfError where there is one."""
        own = places = places or UserPlaces.default()
        plugins, directory = plugins or Plugins(memory=lambda: own.installed), directory.resolve()
        if not directory.is_dir():
            raise NotFoundError(f"{directory} is not a folder")
        name, root = _choose_vcs(directory, vcs, init_vcs, options or {}, plugins)
        home = _home_of(plugins, name, root)
        _make_folder(home / DIRECTORY, name)
        return cls.open(directory, plugins=plugins, places=places)

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
        """The VCS driver. A state that a killed command left behind is restored first."""
        found, driver = self.plugins.make(
            "vcs", self.vcs_name, self.plugin_options("vcs", self.vcs_name), place=self.root
        )
        state = driver.saved_state()
        if state is not None:
            driver.restore_state(state)
            self.plugins.warn(f"{found} put back what a killed command had put aside")
        return driver  # type: ignore[no-any-return]

    @functools.cached_property
    def store(self) -> Store:
        name = str(self.trusted("storage.name"))
        try:
            _, driver = self.plugins.make("storage", name, self.plugin_options("storage", name), place=self.perf)
        except PluginError as error:
            if name == "local" and not self.plugins.names("storage"):
                raise PluginError(error.message, hint="pip install perfcore-storage-local") from error
            raise
        warnings: Callable[[], Sequence[str]] = getattr(driver, "warnings", tuple)
        for text in warnings():
            self.plugins.warn(text)
        storage: Storage = driver
        return Store(storage, Recent(self.perf / "cache" / "stacks"))

    def trusted(self, key: str) -> Any:
        """The value of a configuration key that makes something run. UntrustedError unless the user trusted it."""
        self.trust.require(self.config.origin(key))
        return self.config.get(key)

    def plugin_options(self, kind: str, name: str) -> dict[str, Any]:
        """The configured options of a plugin. UntrustedError for those that nobody has trusted; views, which are
        only looked at, do without them."""
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

    def entries(self, version: str) -> tuple[Entry, ...]:
        """The registered profiles of a version, oldest first: their places are the numbers of `N@i`."""
        return self._complete(self.store.read_index(self.vcs_name, version).live)

    def readable_entries(self, version: str, catalog: Catalog | None = None) -> tuple[Entry, ...]:
        """The same for listings, which go on where an index is damaged: a warning, and nothing. Whoever asks for
        many versions asks a `catalog`."""
        try:
            if catalog is None:
                return self.entries(version)
            return self._complete(catalog.entries(self.vcs_name, version))
        except FormatError as error:
            self._leave_out(error)
            return ()

    @contextlib.contextmanager
    def catalog(self) -> Iterator[Catalog]:
        """What the indexes say now, quicker than reading them one by one; what it learned is kept for the next."""
        from perfcore.store.catalog import Catalog

        catalog = Catalog(self.store, self.perf / "cache" / "indexes")
        try:
            yield catalog
        finally:
            catalog.save()

    def walk(self, head: str | None = None) -> Iterator[tuple[MinorVersion, tuple[Entry, ...]]]:
        """Every version from `head` back with its profiles, newest first, streamed; damaged indexes are left out
        with a warning."""
        with self.catalog() as catalog:
            for version in self.vcs.walk_minor_versions(head or self.version()):
                yield version, self.readable_entries(version.id, catalog)

    def everywhere(self) -> list[tuple[str, Entry]]:
        """(version, entry) of every profile registered anywhere in the store; damaged indexes are left out with a
        warning."""
        found = []
        with self.catalog() as catalog:
            for row in catalog.everywhere():
                if isinstance(row, FormatError):
                    self._leave_out(row)
                else:
                    found += [(row[0], entry) for entry in row[1]]
        return found

    def pending(self) -> list[Pending]:
        return pending.walk(self.store)

    def find(self, name: str, *, unregistered: bool = False) -> list[Ref]:
        """The profiles of a name, as `perfcore.store.lookup` describes them; with `unregistered`, a name that is
        no number is looked for only among pending profiles and files."""
        from perfcore.store import lookup

        only = unregistered and not lookup.is_number(name)
        places = lookup.Places(
            version=self.version,
            entries=(lambda version: ()) if only else self.entries,
            pending=self.pending,
            everywhere=(lambda: ()) if only else self.everywhere,
            cwd=self.cwd,
        )
        return lookup.resolve(name, places)

    def load(self, ref: Ref) -> Profile:
        """The profile that was found."""
        if ref.entry is not None:
            return self.store.load(ref.entry.profile)
        if ref.pending is not None:
            if ref.pending.profile is None:
                raise FormatError(ref.pending.damage)
            return ref.pending.profile
        assert ref.path is not None
        return self.read_file(ref.path)

    def read_file(self, path: Path, format: str | None = None) -> Profile:
        """The profile in a file of any format that a plugin knows, complete and verified."""
        return self._parsed(path, format, self.store.get_piece)[0]

    def save(self, profile: Profile) -> Pending:
        """Keep a profile as a pending one."""
        return pending.save(self.store, profile)

    def register(self, ref: Ref, version: str | None = None, *, keep: bool = False) -> tuple[str, Entry]:
        """Register a pending profile or a file with a version (its origin, or else the head). The source is
        removed once the index is durable, unless it is to be kept."""
        from perfcore.profile import codec

        source = self._source(ref)
        name, profile = source.name, source.profile
        if profile.dirty:
            raise UsageError(
                f"{name} was measured with uncommitted changes, so it is of no version",
                hint="commit and measure again; a dirty profile can be shown and compared as it is",
            )
        target = version or self.version()
        if profile.origin is not None and profile.origin != target:
            raise UsageError(
                f"{name} was measured for version {profile.origin[:10]}, not for {target[:10]}",
                hint=f"register it where it belongs: --version {profile.origin[:10]}",
            )
        self.vcs.check_minor_version_validity(target)
        objects.check_type("profile", profile.header.type, name)
        earlier = self.store.earlier(profile)
        content, tables = codec.for_object(source.data, source.kept.put_piece, where=name, earlier=earlier)
        entry = self.store.register(
            self.vcs_name,
            target,
            content,
            profile.header.type,
            self._entry(name, profile, content, tables),
            restore=source.kept.restore,
        )
        self.store.recent.note(profile, codec.shared_pieces(content, name))
        self.plugins.emit("profile_registered", entry=entry, version=target)
        if not keep:
            self._remove_source(source)
        return target, entry

    def unregister(self, version: str, entry: Entry) -> None:
        """Take a profile off a version; the object stays until nothing refers to it and its grace is over."""

        def swap(index: indexes.Index) -> indexes.Index:
            current = indexes.current(index, entry)
            return index if current is None else indexes.bury(index, current)

        self.store.update_index(self.vcs_name, version, swap)

    def tag(self, version: str, entry: Entry, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Entry:
        """The entry with other tags: the old one becomes a tombstone. NotFoundError where it was taken off."""
        for tag in add:
            if not is_tag(tag):
                raise UsageError(f"{tag!r} is no tag: {_NO_TAG}")
        tagged = [entry]

        def swap(index: indexes.Index) -> indexes.Index:
            current = indexes.current(index, entry)
            if current is None:
                raise NotFoundError(f"profile {entry.profile} is not registered for {version[:10]} any more")
            tags = tuple(dict.fromkeys(t for t in (*current.tags, *add) if t not in remove))
            if tags == current.tags:
                tagged[:] = [current]
                return index
            tagged[:] = [indexes.unburied(attrs.evolve(current, tags=tags), index)]
            return indexes.add(indexes.bury(index, current), tagged[0])

        self.store.update_index(self.vcs_name, version, swap)
        return tagged[0]

    def subject(self, refs: Sequence[Ref]) -> Subject:
        """What a view is given for these profiles."""
        from perfcore.model import Subject

        versions = [self.vcs.get_minor_version_info(ref.version) if ref.version else None for ref in refs]
        return Subject(
            profiles=tuple(self.load(ref) for ref in refs),
            names=tuple(ref.name for ref in refs),
            versions=tuple(versions),
            source=self._source_at,
        )

    def facts(self) -> dict[str, Any]:
        """The machine, with what plugins add."""
        return environment.facts(self.plugins.emit("environment"))

    def _source_at(self, version: str, path: str) -> bytes | None:
        with contextlib.suppress(PerfError):
            return self.vcs.read_file(version, path)
        return None

    def _leave_out(self, error: FormatError) -> None:
        self.plugins.warn(f"{error.message} (left out; `perf fsck` tells more)")

    def _complete(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        for entry in entries:
            if not entry.type:
                return tuple(each if each.type else self._completed(each) for each in entries)
        return entries

    def _completed(self, entry: Entry) -> Entry:
        """An entry of version 1 of the index, which says only name and time, with the rest from its profile."""
        from perfcore.profile import codec

        with contextlib.suppress(FormatError, NotFoundError):
            profile = self.store.load(entry.profile)
            tables = codec.piece_ids(self.store.get(entry.profile, "profile").content, entry.name)
            return attrs.evolve(
                _entry_of(profile, entry.profile, entry.name, tables), created=entry.created, tags=entry.tags
            )
        return attrs.evolve(entry, type="unreadable")

    def _source(self, ref: Ref) -> _Source:
        from perfcore.profile import codec

        if ref.entry is not None:
            raise UsageError(f"{ref.name} is registered already")
        kept = Kept(self.store)
        if ref.pending is not None:
            waiting, data = ref.pending, b""
            if waiting.profile is not None:  # else it may be too large to be read
                waiting, data = pending.read(self.store, waiting.name, kept.get_piece)
            if waiting.profile is None:
                raise FormatError(waiting.damage, hint="it stays where it is; nothing was registered")
            _verify(waiting.profile, waiting.name)
            return _Source(waiting.name, waiting.profile, data, kept, pending=waiting)
        assert ref.path is not None
        profile, data, stamp = self._parsed(ref.path, None, kept.get_piece)
        if not data:
            data, _ = codec.encode(profile, kept.put_piece, earlier=self.store.earlier(profile))
        return _Source(ref.path.name, profile, data, kept, path=ref.path, stamp=stamp)

    def _parsed(self, path: Path, format: str | None, get: codec.GetPiece) -> tuple[Profile, bytes, tuple[int, ...]]:
        """(profile, its JSON where that is what the file holds, the stamp of the file)."""
        from perfcore.profile import codec

        content = self._read(path)
        head, stamp = content.data[:SNIFFED], content.stamp
        if format in (None, "perf") and _is_own(content.data):
            profile = codec.decode(content.data, get, where=str(path))
            try:
                _verify(profile, str(path))
            except NotFoundError as error:
                raise FormatError(
                    f"{path} refers to tables that are not in this store: {error}",
                    hint="write it with `perf export` where it was made",
                ) from error
            return profile, content.data, stamp
        del content  # the plugin reads the file itself
        return self._foreign(path, head, format), b"", stamp

    def _remove_source(self, source: _Source) -> None:
        """Remove what was registered, unless it is something else by now. The profile is safe: a source that
        cannot be removed is a warning."""
        try:
            if source.pending is not None:
                pending.remove(self.store, source.pending)
            elif source.path is not None and files.is_unchanged(source.path, source.stamp):
                source.path.unlink(missing_ok=True)
            elif source.path is not None:
                raise ConflictError(f"{source.path} has changed")
        except (OSError, StorageError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self.plugins.warn(f"{source.name} is registered, but stays where it is: {reason}")

    def _entry(self, name: str, profile: Profile, content: bytes, tables: tuple[str, ...]) -> Entry:
        id = objects.identify(objects.Object("profile", profile.header.type, content))
        return attrs.evolve(_entry_of(profile, id, name, tables), tags=self._usable_tags(profile, id))

    def _usable_tags(self, profile: Profile, id: str) -> tuple[str, ...]:
        """The tags that a profile brings, by the rules of those that users give: what is none, or names another
        profile already, is left out with a warning."""
        if not profile.header.tags:
            return ()
        owners = {tag: entry.profile for _, entry in self.everywhere() for tag in entry.tags if entry.profile != id}
        usable = []
        for tag in dict.fromkeys(profile.header.tags):
            if not is_tag(tag):
                self.plugins.warn(f"the tag {brief(tag)} of {id[:10]} is left out: {_NO_TAG}")
            elif tag in owners:
                self.plugins.warn(f"the tag {tag} of {id[:10]} is left out: it is one of {owners[tag][:10]}")
            else:
                usable.append(tag)
        return tuple(usable)

    def _read(self, path: Path) -> files.Content:
        limit = int(self.config.get("limits.profile_bytes"))
        return files.read(path, limit, hint="raise `limits.profile_bytes` if it really is a profile")

    def _foreign(self, path: Path, head: bytes, format: str | None) -> Profile:
        for name in [format] if format else self.plugins.names("format"):
            try:
                _, driver = self.plugins.make("format", name, self.plugin_options("format", name))
            except PluginError as error:
                if format:
                    raise
                self.plugins.warn(f"{error} (left out)")
                continue
            if hasattr(driver, "read") and (format or driver.sniff(head, path.name)):
                return driver.read(path)  # type: ignore[no-any-return]
        known = ", ".join(self.plugins.names("format"))
        raise FormatError(f"{path} is not a profile in any format known here ({known})")


def load_config(
    root: Path | None,
    places: UserPlaces,
    *,
    local: Layer | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Config:
    """All layers for a working tree; outside of one only the user's."""
    layers = [read_layer("user", places.config)]
    if root is not None:
        layers.append(read_layer("project", root / PROJECT_FILE))
    if local is not None:
        layers.append(local)
    config = Config(tuple(layers))
    return config.with_layer("command line", overrides) if overrides else config


def _entry_of(profile: Profile, id: str, name: str, tables: tuple[str, ...]) -> Entry:
    header = profile.header
    return Entry(
        profile=id,
        created=profile.created,
        name=name,
        type=header.type,
        tables=tables,
        cmd=header.cmd,
        args=header.args,
        workload=header.workload,
        collector=profile.collector.name,
        postprocessors=tuple(tool.name for tool in profile.postprocessors),
        tags=header.tags,
        config_id=profile.config_id,
        environment_id=profile.environment_id,
    )


def _verify(profile: Profile, name: str) -> None:
    """Read every table; the error says which profile it is of."""
    from perfcore.profile import codec

    try:
        codec.verify(profile)
    except FormatError as error:
        raise FormatError(f"{printable(name)}: {error.message}", hint=error.hint) from error


def _without_file(start: Path) -> str:
    """What to do where there is no repository, or one that lost its file."""
    for folder in (start, *start.parents):
        if (folder / DIRECTORY / "objects").is_dir():
            return f"{folder / DIRECTORY} has lost its {LOCAL_FILE}: write `vcs: {{name: git}}` into it, or what it was"
    return "make one with `perf init`"


def _home_above(start: Path) -> Path | None:
    for folder in (start, *start.parents):
        if (folder / DIRECTORY / LOCAL_FILE).is_file():
            return folder
    return None


def _home_by_vcs(start: Path, plugins: Plugins) -> Path | None:
    """Where a linked working tree keeps its `.perf`: with the tree it is linked to."""
    for name in plugins.names("vcs"):
        with contextlib.suppress(PluginError):
            root = _detected(plugins, name, start)
            if root is not None:
                home = _home_of(plugins, name, root)
                if (home / DIRECTORY / LOCAL_FILE).is_file():
                    return home
    return None


def _detected(plugins: Plugins, name: str, place: Path) -> Path | None:
    """The root of the working tree that a VCS sees around a place."""
    found, driver = plugins.load("vcs", name)
    with guard(found, "detect"):
        return driver.detect(place)  # type: ignore[no-any-return]


def _home_of(plugins: Plugins, name: str, root: Path) -> Path:
    found, driver = plugins.make("vcs", name, place=root)
    with guard(found, "home"):
        return driver.home()  # type: ignore[no-any-return]


def _working_tree(home: Path, start: Path, name: str | None, plugins: Plugins) -> Path:
    """The tree around `start` if it is linked to the one at `home`, else `home` itself."""
    if name is None or start == home:
        return home
    root = _detected(plugins, name, start)
    if root is None or root == home:
        return home
    return root if _home_of(plugins, name, root) == home else home


def _choose_vcs(
    directory: Path, vcs: str | None, init_vcs: bool, options: Mapping[str, Any], plugins: Plugins
) -> tuple[str, Path]:
    names = [vcs] if vcs else list(plugins.names("vcs"))
    if not names:
        raise PluginError("no plugin for a version control system is installed", hint="pip install perfcore-vcs-git")
    found = {}
    for name in names:
        try:
            root = _detected(plugins, name, directory)
        except PluginError:
            if vcs:
                raise
            continue
        if root is not None:
            found[name] = root
    if len(found) > 1:
        raise UsageError(f"this is a repository of {' and of '.join(found)}", hint="choose one with --vcs")
    if found:
        return next(iter(found.items()))
    if not init_vcs:
        listed = " or ".join(names)
        raise NotFoundError(f"{directory} is not in a {listed} repository", hint="make one with `perf init --init-vcs`")
    name = vcs or ("git" if "git" in names else names[0])
    _, driver = plugins.make("vcs", name, options, place=directory)
    driver.init()
    return name, directory


def _make_folder(perf: Path, vcs: str) -> None:
    """Make `.perf` under another name and rename it, so that a killed init leaves nothing that looks made."""
    _refuse_existing(perf)
    try:
        temporary = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=perf.parent))
        for folder in _FOLDERS:
            (temporary / folder).mkdir()
        (temporary / ".gitignore").write_text("*\n")
        set_value(temporary / LOCAL_FILE, "format", LAYOUT)
        set_value(temporary / LOCAL_FILE, "vcs.name", vcs)
        (temporary / f"{LOCAL_FILE}.lock").unlink(missing_ok=True)
        temporary.chmod(0o777 & ~_umask())
        temporary.rename(perf)
    except OSError as error:
        with contextlib.suppress(UnboundLocalError):
            shutil.rmtree(temporary, ignore_errors=True)
        _refuse_existing(perf)
        if perf.exists():
            raise PerfError(f"{perf} is there already and is no perfcore repository: move it away") from error
        raise StorageError(f"cannot make {perf}: {error.strerror}") from error
    for left in perf.parent.glob(f"{_UNFINISHED}*"):  # by a killed init; another one at work fails anyway now
        shutil.rmtree(left, ignore_errors=True)


def _refuse_existing(perf: Path) -> None:
    if (perf / LOCAL_FILE).exists():
        raise PerfError(f"{perf} is there already", hint="`perf status` shows what it holds")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _is_own(data: bytes) -> bool:
    return data.lstrip()[:1] == b"{" and b'"collector_info"' in data[: 1 << 20] and b'"format"' in data[:64]


def _refuse_newer(perf: Path, local: Layer) -> None:
    layout = local.values.get("format", LAYOUT)
    if layout not in range(1, LAYOUT + 1):
        raise FormatError(
            f"{perf} has layout {layout}, and this perfcore knows {LAYOUT}",
            hint="a newer perfcore made it: use that one, or `pip install --upgrade perfcore`",
        )


def _text_of(layer: Layer, section: str, key: str) -> str | None:
    values = layer.values.get(section)
    value = values.get(key) if isinstance(values, Mapping) else None
    return value if isinstance(value, str) else None


__all__ = ["Repository", "UserPlaces", "load_config"]
