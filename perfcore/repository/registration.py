"""Registering profiles with versions, taking them off again, and their tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfcore import files
from perfcore.errors import ConflictError, FormatError, NotFoundError, PerfError, StorageError, UsageError
from perfcore.model import Entry, is_tag, usable_tags
from perfcore.model.record import replace
from perfcore.named_tuple import NamedTuple
from perfcore.profile import codec
from perfcore.repository.imports import read_profile_file, verify
from perfcore.store import index as indexes
from perfcore.store import objects, pending
from perfcore.store.piece_buffer import PieceBuffer
from perfcore.store.store import Registration
from perfcore.text import brief

if TYPE_CHECKING:
    from perfcore.model import Profile
    from perfcore.repository.repository import Repository
    from perfcore.store.lookup import Ref
    from perfcore.store.pending import Pending

_MANY = 256  # profiles that are prepared before their index is written: a killed `add` prepares them again
_MANY_BYTES = 1 << 25  # of their tables as they are stored, which are in memory until then
_TAG_RULES = "no blanks, '@', ':' or slashes, and no hyphen in front"


class _Source(NamedTuple):
    """Where a profile that is to be registered comes from: `pending`, or the file at `path` as it was read. `buffer`
    has the pieces of its tables."""

    name: str
    profile: Profile
    data: bytes
    buffer: PieceBuffer
    pending: Pending | None = None
    path: Path | None = None
    stamp: tuple[int, ...] = ()


class _Prepared(NamedTuple):
    """A profile whose tables are in the store, on its way into the index of a version. `source` is without them."""

    source: _Source
    version: str
    registration: Registration


def register(repository: Repository, ref: Ref, version: str | None = None, *, keep: bool = False) -> tuple[str, Entry]:
    """`Repository.register`."""
    (result,) = register_many(repository, [(ref, version)], keep=keep)
    if isinstance(result, PerfError):
        raise result
    return result


def register_many(
    repository: Repository, refs: Iterable[tuple[Ref, str | None]], *, keep: bool = False
) -> Iterator[tuple[str, Entry] | PerfError]:
    """Register many, each with a version as `register` does; gives in their order (version, entry), or the error that
    left one out. The index of a version is written once for up to 256 that follow one another."""
    batch: list[_Prepared | PerfError] = []
    size, batch_version = 0, None
    for ref, version in refs:
        try:
            item = _prepare(repository, ref, version)
        except PerfError as error:
            batch.append(error)
            continue
        if batch_version not in (None, item.version):
            yield from _enter(repository, batch, keep)
            batch, size = [], 0
        batch.append(item)
        batch_version = item.version
        size += item.source.buffer.size
        # A tag is of one profile: the next one is to find those of this one in the index.
        if len(batch) >= _MANY or size > _MANY_BYTES or item.registration.entry.tags:
            yield from _enter(repository, batch, keep)
            batch, size = [], 0
    yield from _enter(repository, batch, keep)


def _prepare(repository: Repository, ref: Ref, version: str | None) -> _Prepared:
    source = _source(repository, ref)
    name, profile = source.name, source.profile
    if profile.dirty:
        raise UsageError(
            f"{name} was measured with uncommitted changes, so it belongs to no version",
            hint="commit and measure again; a dirty profile can be shown and compared as it is",
        )
    target = version or repository.version()
    if profile.origin is not None and profile.origin != target:
        raise UsageError(
            f"{name} was measured for version {profile.origin[:10]}, not for {target[:10]}",
            hint=f"register it where it belongs: --version {profile.origin[:10]}",
        )
    repository.vcs.check_minor_version_validity(target)
    objects.check_type("profile", profile.header.type, name)  # before any table of it is written
    chains = repository.store.earlier(profile)
    content, tables = codec.for_object(source.data, source.buffer.put_piece, where=name, earlier=chains)
    if shared := codec.shared_pieces(content, name):
        repository.store.stack_bases.note(profile, shared)
    id = objects.identify(objects.Object("profile", profile.header.type, content))
    entry = entry_of(profile, id, name, tables)._replace(tags=_usable_tags(repository, profile, id))
    pending = source.pending and source.pending._replace(profile=None)  # its tables may be decoded by now
    light = source._replace(profile=replace(profile, tables={}), data=b"", pending=pending)
    return _Prepared(light, target, Registration(content, profile.header.type, entry))


def _enter(
    repository: Repository, batch: Sequence[_Prepared | PerfError], keep: bool
) -> Iterator[tuple[str, Entry] | PerfError]:
    """Enter those that could be prepared into the index of their version."""
    prepared = [item for item in batch if isinstance(item, _Prepared)]
    registrations = [item.registration for item in prepared]
    version = prepared[0].version if prepared else ""

    def restore() -> None:
        for item in prepared:
            item.source.buffer.restore()

    try:
        entries = iter(repository.store.register_many(repository.vcs_name, version, registrations, restore=restore))
    except PerfError as error:
        if len(prepared) > 1:  # perhaps because of one of them
            yield from (result for item in batch for result in _enter(repository, [item], keep))
        else:
            yield from (error if isinstance(item, _Prepared) else item for item in batch)
        return
    for item in batch:
        if isinstance(item, PerfError):
            yield item
            continue
        entry = next(entries)
        repository.plugins.emit("profile_registered", entry=entry, version=version)
        if not keep:
            _remove_source(repository, item.source)
        yield version, entry


def unregister(repository: Repository, version: str, entry: Entry) -> None:
    """Take a profile off a version; the object stays until nothing refers to it and its grace is over."""

    def swap(index: indexes.Index) -> indexes.Index:
        current = indexes.current(index, entry)
        return index if current is None else indexes.bury(index, current)

    repository.store.update_index(repository.vcs_name, version, swap)


def tag(
    repository: Repository, version: str, entry: Entry, *, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> Entry:
    """The entry with other tags: the old one becomes a tombstone. NotFoundError where it was taken off."""
    for name in add:
        if not is_tag(name):
            raise UsageError(f"{name!r} is no tag: {_TAG_RULES}")
    tagged = [entry]

    def swap(index: indexes.Index) -> indexes.Index:
        current = indexes.current(index, entry)
        if current is None:
            raise NotFoundError(f"profile {entry.profile} is not registered for {version[:10]} any more")
        tags = tuple(dict.fromkeys(t for t in (*current.tags, *add) if t not in remove))
        if tags == current.tags:
            tagged[:] = [current]
            return index
        tagged[:] = [indexes.unburied(current._replace(tags=tags), index)]
        return indexes.add(indexes.bury(index, current), tagged[0])

    repository.store.update_index(repository.vcs_name, version, swap)
    return tagged[0]


def entry_of(profile: Profile, id: str, name: str, tables: tuple[str, ...]) -> Entry:
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


def _source(repository: Repository, ref: Ref) -> _Source:
    if ref.entry is not None:
        raise UsageError(f"{ref.name} is registered already")
    buffer = PieceBuffer(repository.store)
    if ref.pending is not None:
        waiting, data = ref.pending, b""
        if waiting.profile is not None:  # else it may be too large to be read
            waiting, data = pending.read(repository.store, waiting.name, buffer.get_piece)
        if waiting.profile is None:
            raise FormatError(waiting.damage, hint="it stays where it is; nothing was registered")
        verify(waiting.profile, waiting.name)
        return _Source(waiting.name, waiting.profile, data, buffer, pending=waiting)
    assert ref.path is not None
    profile, data, stamp = read_profile_file(repository, ref.path, None, buffer.get_piece)
    if not data:
        data, _ = codec.encode(profile, buffer.put_piece, earlier=repository.store.earlier(profile))
    return _Source(ref.path.name, profile, data, buffer, path=ref.path, stamp=stamp)


def _remove_source(repository: Repository, source: _Source) -> None:
    """Remove what was registered, unless it is something else by now."""
    try:
        if source.pending is not None:
            pending.remove(repository.store, source.pending)
        elif source.path is not None and files.is_unchanged(source.path, source.stamp):
            source.path.unlink(missing_ok=True)
        elif source.path is not None:
            raise ConflictError(f"{source.path} has changed")
    except (OSError, StorageError) as error:  # a warning: the profile is safe
        reason = error.strerror if isinstance(error, OSError) else error
        repository.plugins.warn(f"{source.name} is registered, but stays where it is: {reason}")


def _usable_tags(repository: Repository, profile: Profile, id: str) -> tuple[str, ...]:
    """The tags of a profile that fit the rules for tags of users. A malformed tag, or one that names another profile
    already, is left out with a warning."""
    if not profile.header.tags:
        return ()
    owners = {tag: entry.profile for _, entry in repository.everywhere() for tag in entry.tags if entry.profile != id}
    usable = usable_tags(tag for tag in profile.header.tags if tag not in owners)
    for tag in dict.fromkeys(profile.header.tags):
        if tag not in usable:
            why = f"it is one of {owners[tag][:10]}" if tag in owners else _TAG_RULES
            repository.plugins.warn(f"the tag {brief(tag)} of {id[:10]} is left out: {why}")
    return usable
