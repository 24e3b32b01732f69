"""Verification of the store: everything that is damaged or missing, key by key."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs
from perfcore_storage_kit import sets

from perfcore.config.layers import KEYS
from perfcore.errors import FormatError, NotFoundError, PerfError
from perfcore.profile import codec, pieces
from perfcore.store import index as indexes
from perfcore.store import notes, objects, pending
from perfcore.store.store import OBJECTS, Store, hidden_key, is_object_key, key_id, object_key, too_large
from perfcore.text import plural

if TYPE_CHECKING:
    from perfcore.hookspecs import Listed
    from perfcore.repository.repository import Repository
    from perfcore.store.pending import Pending

SCHEMA = 1
_NAMED = 3  # of the profiles that nothing refers to: a removal of many leaves many, which is no fault


@attrs.frozen(kw_only=True)
class Finding:
    """Something `fsck` says of one key. An `error` is a loss or a damage, a `note` is not."""

    key: str
    level: Literal["error", "note"]
    text: str


@attrs.frozen(kw_only=True)
class FsckResult:
    """Damaged and missing parts of the store, and notes."""

    findings: tuple[Finding, ...]

    @property
    def errors(self) -> int:
        return sum(finding.level == "error" for finding in self.findings)

    @property
    def newer(self) -> int:
        """How many of the errors are no damage: a newer perfcore wrote that."""
        return sum(finding.level == "error" and finding.text.endswith(indexes.UPGRADE) for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The form of `docs/schemas/fsck.json`."""
        return {"schema": SCHEMA, "findings": [attrs.asdict(finding) for finding in self.findings]}


def verify(repository: Repository) -> FsckResult:
    """Read everything in the store; nothing changes."""
    findings = examine(repository.store, sets.declared(repository.plugins))
    return FsckResult(findings=(*_lost_folder(repository), *findings))


def _lost_folder(repository: Repository) -> Iterator[Finding]:
    """The folder with the objects, which `perf init` makes: without it the store looks like a new one."""
    name = str(repository.config.get("storage.name")).rpartition(":")[2]
    folder = repository.perf / OBJECTS.rstrip("/")
    if name == KEYS["storage.name"].default and not folder.is_dir():
        text = f"the folder {folder} is gone, with everything that was in it: bring it back from a copy"
        yield Finding(key=OBJECTS, level="error", text=text)


def examine(store: Store, declared: Iterable[str] = ()) -> Iterator[Finding]:
    """Everything that is wrong with a store, key by key; all of it is read. `declared` are the names of the sets that
    plugins declare."""
    present: dict[str, str] = {}
    references: list[tuple[str, str, str]] = []
    refused: list[Finding] = []
    sources = set[str]()
    damage = store.storage.damaged(OBJECTS) if hasattr(store.storage, "damaged") else ()
    yield from (Finding(key=OBJECTS, level="error", text=text) for text in damage)
    is_broken = bool(damage)
    for key, data in store.read_many(_readable(store, refused, bool(damage))):
        try:
            if isinstance(data, PerfError):
                raise data
            present[key_id(key)] = _kind(key, data)
            references += [(id, kind, key) for id, kind in _references(key, data)]
        except PerfError as error:
            is_broken = True
            present.pop(key_id(key), None)
            text = f"{error.message}: {error.hint}" if error.hint == indexes.UPGRADE else error.message
            yield Finding(key=key, level="error", text=text)
    for id in [id for id, kind in present.items() if kind == "list of notes" and store.is_version(id)]:
        is_broken = True
        text = f"a list of notes stands where the index of version {id} should be"
        yield Finding(key=object_key(id), level="error", text=text)
    yield from refused
    for waiting in pending.walk(store):
        if damage := waiting.damage or _damage(waiting):
            yield Finding(key=waiting.key, level="error", text=damage)
        if waiting.profile is None:
            is_broken = True
            continue
        sources.update(waiting.profile.sources)
        content = store.read_key(waiting.key)
        if content is not None:
            references += [(id, kind, waiting.key) for id, kind in _references(waiting.key, content)]
    referred = {id for id, _, _ in references} | sources
    of_sets = list(_examine_sets(store, sets.held(store, declared), present, referred))
    yield from of_sets
    if not (is_broken or of_sets):  # or what a damaged index refers to would be named
        yield from _unreferred(present, referred)
    held = {id for id, _, by in references if _is_root(by, present)}
    for id, kind, by in dict.fromkeys(references):
        # Others may be writing: what seems to be missing is looked for once more, and so is the reference to it.
        actual = present.get(id) or _kind_now(store, id)
        if actual == kind or not _still_refers(store, by, id):
            continue
        wrong = f"{id} should be a {kind} and is a {actual}" if actual else f"{kind} {id} is missing or damaged"
        if _is_root(by, present) or key_id(by) in held:
            yield Finding(key=by, level="error", text=wrong)
        else:  # as after a collection of garbage that was killed half way
            yield Finding(key=by, level="note", text=f"{wrong}; nothing refers to this either: `perf gc` removes it")


def _unreferred(present: Mapping[str, str], referred: Container[str]) -> Iterator[Finding]:
    """The profiles and notes that nothing refers to, such as those of an index that was lost."""
    for kind in ("profile", "note"):
        if ids := sorted(id for id, actual in present.items() if actual == kind and id not in referred):
            named = ", ".join(id[:10] for id in ids[:_NAMED]) + (", …" if len(ids) > _NAMED else "")
            text = f"nothing refers to {plural(len(ids), kind)}: {named}; `perf gc` removes them after their grace"
            yield Finding(key=OBJECTS, level="note", text=text)


def _examine_sets(
    store: Store, names: Iterable[str], present: Mapping[str, str], referred: set[str]
) -> Iterator[Finding]:
    """What is wrong with the records of sets, whose ids are added to `referred`."""
    for name in names:
        for key, data in store.read_many(row.key for row in store.storage.list(sets.space(name))):
            try:
                if isinstance(data, PerfError):
                    raise data
                for id in sets.decode(data, key).ids:
                    referred.add(id)
                    if id not in present and _kind_now(store, id) is None and store.read_key(key) == data:
                        yield Finding(key=key, level="error", text=f"object {id} is missing or damaged")
            except PerfError as error:
                yield Finding(key=key, level="error", text=error.message)


def _readable(store: Store, refused: list[Finding], is_damaged: bool) -> Iterator[str]:
    """The keys of objects. What is none, or too large to be one, goes to `refused`. A storage that is known to be
    damaged may list a part of them."""
    for row in _listed(store.storage.list(OBJECTS), is_damaged):
        if not is_object_key(row.key):
            refused.append(_foreign(row.key))
        elif text := too_large(row):
            refused.append(Finding(key=row.key, level="error", text=text))
        else:
            yield row.key


def _listed(rows: Iterator[Listed], is_damaged: bool) -> Iterator[Listed]:
    try:
        yield from rows
    except FormatError:
        if not is_damaged:
            raise


def _damage(waiting: Pending) -> str:
    """What is wrong with the tables of a pending profile, besides those that are missing."""
    assert waiting.profile is not None
    try:
        codec.verify(waiting.profile)
    except NotFoundError:
        return ""
    except FormatError as error:
        return error.message
    return ""


def is_damage(key: str) -> bool:
    """Whether a key that is no object's shows that the place of an object is taken."""
    return _foreign(key).level == "error"


def _foreign(key: str) -> Finding:
    """What is said of a key that is no object's."""
    if hidden_key(key):
        return Finding(key=key, level="error", text="a folder stands where an object should be")
    return Finding(key=key, level="note", text="this is no object; it is left alone")


def _is_root(key: str, present: Mapping[str, str]) -> bool:
    """Whether what stands under a key is kept for its own sake: a pending profile, an index, a list of notes."""
    return not is_object_key(key) or present.get(key_id(key)) in ("index", "list of notes")


def _kind(key: str, data: bytes) -> str:
    """What stands under a key, verified; FormatError where it is damaged."""
    id = key_id(key)
    if indexes.is_index(data):
        indexes.decode(data, where=f"the index {key}", key=id)
        return "index"
    if notes.is_list(data):
        notes.decode(data, f"list of notes {key}")
        return "list of notes"
    item = objects.decode(data, id)
    if item.kind == "table":
        pieces.decode(item.content, f"object {id}")
    return item.kind


def _references(key: str, data: bytes) -> Iterator[tuple[str, str]]:
    """(id, kind) of all that these bytes refer to: those of an index, a list of notes, an object, or a pending
    profile."""
    if not is_object_key(key):
        yield from ((piece, "table") for piece in codec.piece_ids(data, key))
    elif indexes.is_index(data):
        for entry in indexes.decode(data, where=f"index {key}").live:
            yield entry.profile, "profile"
            yield from ((table, "table") for table in entry.tables)
    elif notes.is_list(data):
        yield from ((note, "note") for note in notes.decode(data, f"list of notes {key}"))
    else:
        item = objects.inflate(data, f"object {key_id(key)}")
        if item.kind == "profile":
            yield from ((piece, "table") for piece in codec.piece_ids(item.content, f"profile {key_id(key)}"))


def _kind_now(store: Store, id: str) -> str | None:
    try:
        data = store.read_key(object_key(id))
        return None if data is None else _kind(object_key(id), data)
    except FormatError:
        return None


def _still_refers(store: Store, key: str, id: str) -> bool:
    try:
        data = store.read_key(key)
    except FormatError:  # which is said of this key itself
        return False
    return data is not None and any(target == id for target, _ in _references(key, data))
