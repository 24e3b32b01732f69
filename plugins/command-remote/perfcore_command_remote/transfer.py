"""The engine of push and pull: what one store has and another lacks is copied, and what both have is joined.

Objects are the same everywhere, so they are created once; indexes and lists of notes are joined entry by entry, and an
entry that was removed stays removed (`perfcore_command_remote.joining`). So the order of transfers does not matter, and
two of them at once lose nothing. Whatever an index or a list of notes refers to is there before it: a transfer that was
killed leaves objects that nothing refers to, and the next one goes on.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import attrs

from perfcore.errors import ConflictError, FormatError, KeyMissingError, PerfError
from perfcore.model import Entry
from perfcore.model.listener import Listener
from perfcore.profile import codec
from perfcore.store import notes
from perfcore.store.index import Index
from perfcore.store.store import Store, key_id, object_key, opened
from perfcore.text import plural, printable
from perfcore_command_remote.holdings import Holdings, decode_index, described, verified
from perfcore_command_remote.joining import join
from perfcore_command_remote.memory import Memory
from perfcore_command_remote.records import RecordChange, plan_marks, plan_records
from perfcore_command_remote.redaction import AsItIs, Redacting, Translation
from perfcore_command_remote.retention import EVERYTHING, Cutoff
from perfcore_command_remote.set_back import Pushed
from perfcore_command_remote.tag_rules import refused_tags
from perfcore_command_remote.writer import Writer, announced

_BATCH = 512  # indexes that are compared together: what is under their keys on the other side is read at once
_TRIES = 20  # while others write to the same place, each of whom succeeded in between
SCHEMA = 1


@attrs.frozen(kw_only=True)
class Transferred:
    """What a transfer brought: (version, entry) of each profile, and the number of objects with their bytes as they are
    stored. `tagged` counts profiles that got other tags, `removed` those taken off. `problems` says what could
    not be copied."""

    profiles: tuple[tuple[str, Entry], ...] = ()
    tagged: int = 0
    removed: int = 0
    notes: int = 0
    records: int = 0
    objects: int = 0
    bytes: int = 0
    problems: tuple[str, ...] = ()
    dry_run: bool = False

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/transfer.json`."""
        rows = [{"version": version, "profile": e.profile, "label": e.label} for version, e in self.profiles]
        return {"schema": SCHEMA, **attrs.asdict(self, recurse=False), "profiles": rows, "problems": [*self.problems]}


@attrs.frozen
class _IndexChange:
    """An index of the source, of which the target lacks something: what is there, and the entries that are new with the
    ids that each needs."""

    incoming: Index
    current: Index | None
    new: tuple[Entry, ...]
    needs: dict[Entry, frozenset[str]] = attrs.field(factory=dict)


@attrs.frozen
class _NotesChange:
    ids: tuple[str, ...]
    current: tuple[str, ...]


@attrs.define
class _Plan:
    """What the target lacks, by key, all keys of the source that are no objects, the entries of its indexes and the ids
    in its lists of notes that were read, and the profiles that could not be."""

    indexes: dict[str, _IndexChange] = attrs.field(factory=dict)
    notes: dict[str, _NotesChange] = attrs.field(factory=dict)
    records: dict[str, RecordChange] = attrs.field(factory=dict)
    marks: dict[str, bytes] = attrs.field(factory=dict)
    joinable: set[str] = attrs.field(factory=set)
    entries: list[Entry] = attrs.field(factory=list)
    noted: set[str] = attrs.field(factory=set)
    unread: set[str] = attrs.field(factory=set)
    problems: list[str] = attrs.field(factory=list)
    notices: list[str] = attrs.field(factory=list)

    def needed(self) -> dict[str, None]:
        """The ids of all objects that new entries and notes refer to; a profile after its tables."""
        ids = dict[str, None]()
        for change in self.indexes.values():
            for entry, needs in change.needs.items():
                ids |= dict.fromkeys(sorted(needs - {entry.profile}))
                ids[entry.profile] = None
        for notes_change in self.notes.values():
            ids |= dict.fromkeys(notes_change.ids)
        for record in self.records.values():
            ids |= dict.fromkeys(record.ids)
        return ids

    def keys(self) -> set[str]:
        """All keys that may be written."""
        return {*map(object_key, self.needed()), *self.indexes, *self.notes, *self.records, *self.marks}


@attrs.frozen(kw_only=True)
class _Transfer:
    """What a transfer is of: everything, or some `versions`, as the translation says, but for what the cutoff covers;
    the two stores; and the objects that its tries wrote, with their bytes: a later one finds them there."""

    source: Store
    target: Store
    declared: tuple[str, ...]
    versions: Container[str] | None
    translation: Translation
    cutoff: Cutoff
    pushed: Pushed | None
    verify: bool
    dry_run: bool
    written: dict[str, int] = attrs.field(factory=dict)


def transfer(
    source: Store,
    target: Store,
    memory: Memory,
    listener: Listener,
    *,
    declared: Iterable[str] = (),
    versions: Container[str] | None = None,
    translation: Translation | None = None,
    cutoff: Cutoff = EVERYTHING,
    pushed: Pushed | None = None,
    verify: bool = False,
    dry_run: bool = False,
) -> Transferred:
    """Bring everything from the source to the target, or the profiles of some versions only, as the translation says,
    except for those that the target does not keep; of sets, those that are `declared`. What the source lacks that was
    `pushed` to it is named, and so is what is damaged on either side and left out. To `verify`, the target is read: the
    source's whole objects take the place of its damaged ones."""
    scope = _Transfer(
        source=source,
        target=target,
        declared=tuple(declared),
        versions=versions,
        translation=translation or AsItIs(),
        cutoff=cutoff,
        pushed=pushed,
        verify=verify,
        dry_run=dry_run,
    )
    for _ in range(_TRIES):
        try:
            done = _once(scope, memory, listener)
        except ConflictError:  # somebody else was faster: what they wrote is read, and joined with ours
            forget_listings(source, target)
            continue
        if done.problems:  # the next one looks at everything
            forget_listings(source, target)
        return done
    raise ConflictError(f"others keep writing to the same place: {_TRIES} tries failed", hint="try again")


def forget_listings(*stores: Store) -> None:
    """Let those storages list all their keys that remember them."""
    for store in stores:
        if hasattr(store.storage, "forget_listing"):
            store.storage.forget_listing()


def _once(scope: _Transfer, memory: Memory, listener: Listener) -> Transferred:
    target, translation = scope.target, scope.translation
    listener.progress(0, 0, "comparing")
    ours, theirs = Holdings.of(scope.source), Holdings.of(target, verify=scope.verify)
    plan = _planned(scope, ours, theirs, memory)
    if scope.pushed is not None:
        plan.problems += scope.pushed.lacking(ours, theirs)
    for notice in plan.notices:
        listener.note(notice)
    plan.records = plan_records(scope.source, theirs, scope.declared, scope.versions, translation, plan.problems)
    plan.marks = plan_marks(target, plan.records)
    if isinstance(translation, Redacting) and translation.withheld:
        records = plural(translation.withheld, "record")
        listener.note(f"{records} not sent: rules apply to their names, or their plugin knows no rules")
    if not scope.dry_run:
        translation.secure()
    missing = [id for id in plan.needed() if not theirs.has(id) and id not in plan.unread]
    if scope.dry_run:
        lost = set[str]()
        objects, size = len(missing), _sizes(ours, map(translation.original, missing))
        profiles, tagged, removed = _without(plan, plan.unread)
    else:
        writer = Writer(target)
        with announced(target, plan.keys()):
            lost = _copied(scope, ours, missing, theirs, writer, plan.problems, listener)
            profiles, tagged, removed = _without(plan, lost | plan.unread)
            _join(plan, theirs, writer)
        objects, size = len(scope.written), sum(scope.written.values())
        if scope.versions is None and not plan.problems:
            memory.remember(ours, Holdings.of(target), plan.joinable)
    return Transferred(
        profiles=tuple(profiles),
        tagged=tagged,
        removed=removed,
        notes=sum(len(change.ids) for change in plan.notes.values()),
        records=len(plan.records),
        objects=objects,
        bytes=size,
        problems=tuple(plan.problems),
        dry_run=scope.dry_run,
    )


def _planned(scope: _Transfer, ours: Holdings, theirs: Holdings, memory: Memory) -> _Plan:
    joined = {key for key in ours.rows if memory.is_joined(key, ours, theirs)}
    plan = _Plan(problems=[*ours.refused], joinable=set(joined))
    others: list[str] = []
    joinable = ours.joinable(memory.objects, joined, lambda key, data: not theirs.has(key_id(key)), others.append)
    while batch := dict(itertools.islice(joinable, _BATCH)):
        plan.joinable |= batch.keys()
        current = dict(_there(theirs, batch))
        for key, data in batch.items():
            there = current.get(key)
            try:
                if notes.is_list(data):
                    ours.store.check_list(key)
                    _plan_notes(plan, theirs, key, data, there, scope.translation)
                else:
                    _plan_index(plan, scope, theirs, key, data, there)
                    plan.notices += refused_tags(key, data)
            except FormatError as error:
                plan.problems.append(described(error))
    # What an index or a list refers to is verified when it is copied or looked at. Of the others nobody would notice
    # that they have taken the place of an index.
    unreferred = set(map(key_id, others)) - plan.noted
    plan.problems += (error.message for _, error in ours.store.misplaced(unreferred, plan.entries))
    _look_up_needs(plan, ours, theirs)
    return plan


def _there(theirs: Holdings, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """What the target has under these keys and is not known to be damaged. The error of what cannot be read is
    raised."""
    for key, data in theirs.contents.read(key for key in keys if key in theirs.rows and not theirs.is_damaged(key)):
        if isinstance(data, PerfError):
            raise data
        yield key, data


def _plan_index(plan: _Plan, scope: _Transfer, theirs: Holdings, key: str, data: bytes, there: bytes | None) -> None:
    incoming = decode_index(key, data)
    plan.entries += incoming.entries
    if scope.versions is not None and incoming.version not in scope.versions:
        return
    current = decode_index(key, there) if there is not None else None
    if theirs.is_damaged(key):
        version = printable(incoming.version[:10])
        plan.notices.append(
            f"the damaged index of {version} is made anew: `perf fsck` names profiles that only the old one listed"
        )
    incoming = scope.cutoff.kept(scope.translation.index(incoming, current, plan.problems), current)
    if not incoming.entries and current is None:
        return
    joined = join(current, incoming)
    present = set(current.entries) if current is not None else set()
    sent = {entry.profile for entry in incoming.live}
    # What a collection of garbage took between two tries, or what got lost there, is brought again.
    new = [e for e in joined.live if e.profile in sent and (e not in present or not _is_whole(e, theirs))]
    if joined == current and not new:
        return
    plan.indexes[key] = _IndexChange(incoming, current, tuple(new))


def _is_whole(entry: Entry, holdings: Holdings) -> bool:
    return all(map(holdings.has, (entry.profile, *entry.tables)))


def _plan_notes(
    plan: _Plan, theirs: Holdings, key: str, data: bytes, there: bytes | None, translation: Translation
) -> None:
    current = notes.decode(there, f"the list of notes {key}") if there is not None else ()
    listed = notes.decode(data, f"the list of notes {key}")
    plan.noted.update(listed)
    incoming = translation.notes(listed, plan.problems)
    if new := tuple(id for id in incoming if id not in set(current) or not theirs.has(id)):
        plan.notes[key] = _NotesChange(new, current)


def _look_up_needs(plan: _Plan, ours: Holdings, theirs: Holdings) -> None:
    """Find the ids of all objects of each new profile. Of one that is damaged or missing it is itself alone, which is
    said when it is to be copied. One that cannot be read now is left out: if it could be a moment later, it would come
    without its tables."""
    profiles = dict.fromkeys(object_key(entry.profile) for change in plan.indexes.values() for entry in change.new)
    pieces: dict[str, Sequence[str]] = {}
    for key, data in ours.contents.read(profiles):
        id = key_id(key)
        if isinstance(data, PerfError):
            if not theirs.has(id):
                plan.unread.add(id)
                plan.problems.append(data.message)
            continue
        try:
            content = opened(id, data, "profile").content
            pieces[id] = codec.piece_ids(content, f"profile {id}")
        except FormatError:
            continue
        if not theirs.has(id):
            ours.contents.hold(key, data)
    for key, change in plan.indexes.items():
        needs = {
            entry: frozenset((entry.profile, *entry.tables, *pieces[entry.profile]))
            if entry.profile in pieces
            else frozenset((entry.profile,))
            for entry in change.new
        }
        plan.indexes[key] = attrs.evolve(change, needs=needs)


def _sizes(ours: Holdings, ids: Iterable[str]) -> int:
    return sum(ours.rows[object_key(id)].size for id in ids if ours.has(id))


def _copied(
    scope: _Transfer,
    ours: Holdings,
    missing: list[str],
    theirs: Holdings,
    writer: Writer,
    problems: list[str],
    listener: Listener,
) -> set[str]:
    """Copy objects. Gives the ids of those that are damaged or missing in the source."""
    lost, sizes = dict.fromkeys(missing), dict[str, int]()
    try:
        for done, (key, data) in enumerate(ours.contents.read(map(object_key, missing)), 1):
            listener.progress(done, len(missing), "objects")
            try:
                whole = verified(key, data)
            except FormatError as error:
                problems.append(error.message)
                continue
            sizes[key] = len(whole)
            if key in theirs.rows:
                writer.put(key, whole, theirs.tag(key))
            else:
                writer.create(key, whole)
            lost.pop(key_id(key), None)
        problems += [f"object {id} is missing" for id in lost if not ours.has(id)]
        writer.flush()
    finally:
        unwritten = {key for key, _, _ in writer.waiting}
        scope.written.update((key, size) for key, size in sizes.items() if key not in unwritten)
    return set(lost)


def _without(plan: _Plan, lost: set[str]) -> tuple[list[tuple[str, Entry]], int, int]:
    """Take out of the plan what needs a lost object. Gives the profiles that are left, how many get other tags, and
    how many are taken off."""
    profiles: list[tuple[str, Entry]] = []
    tagged = removed = 0
    for key, change in plan.indexes.items():
        whole = [entry for entry, needs in change.needs.items() if not needs & lost]
        left_out = {entry.profile for entry in change.needs.keys() - set(whole)}
        incoming = change.incoming._replace(
            entries=tuple(e for e in change.incoming.entries if e.tombstone or e.profile not in left_out)
        )
        needs = {entry: change.needs[entry] for entry in whole}
        plan.indexes[key] = attrs.evolve(change, incoming=incoming, needs=needs)
        before = set(change.current.live) if change.current is not None else set()
        # A profile that got another tag is a new entry and a removed one; it is not news.
        known = {entry.profile for entry in before}
        profiles += [(incoming.version, entry) for entry in whole if entry.profile not in known]
        tagged += len({entry.profile for entry in whole if entry not in before} & known)
        removed += len(known - {entry.profile for entry in join(change.current, incoming).live})
    for key, notes_change in plan.notes.items():
        plan.notes[key] = attrs.evolve(notes_change, ids=tuple(id for id in notes_change.ids if id not in lost))
    plan.records = {key: record for key, record in plan.records.items() if not lost.intersection(record.ids)}
    return profiles, tagged, removed


def _join(plan: _Plan, theirs: Holdings, writer: Writer) -> None:
    """Write the indexes and lists of notes, whose objects are all there."""
    for key, change in plan.indexes.items():
        writer.join_index(key, change.incoming, change.current, theirs.tag(key))
    for key, notes_change in plan.notes.items():
        is_damaged = theirs.is_damaged(key)
        writer.join_notes(key, notes_change.ids, notes_change.current, theirs.tag(key), is_damaged=is_damaged)
    for key, data in plan.marks.items():
        writer.put(key, data, None)
    for key, record in plan.records.items():
        writer.put(key, record.data, record.tag)
    writer.flush()
    _secure(plan, theirs.store, writer.together)


def _secure(plan: _Plan, store: Store, together: bool) -> None:
    """Make what was there already look new, now that it is referred to: or `gc` might take it for garbage. A storage
    that writes together removes nothing while an index changes, so there it is enough to look. ConflictError where
    something went meanwhile, so that the transfer begins again."""
    if together:
        for id in store.missing(plan.needed()):
            raise ConflictError(f"object {id} went: a collection of garbage was faster")
        return
    try:
        store.touch(plan.needed())
    except KeyMissingError as error:
        raise ConflictError(f"{error.message}: a collection of garbage was faster") from error
