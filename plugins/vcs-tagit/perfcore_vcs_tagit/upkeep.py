"""Looking for damage, and taking away what no version needs."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from perfcore.errors import FormatError, PerfError
from perfcore_vcs_tagit import objects, tree
from perfcore_vcs_tagit.objects import Pack
from perfcore_vcs_tagit.repository import Repository


@attrs.frozen
class Health:
    """What there is, and what is wrong with it."""

    versions: int
    objects: int
    damage: tuple[str, ...]


@attrs.frozen
class Swept:
    """What was taken away."""

    packs: int
    size: int


def fsck(repository: Repository) -> Health:
    """Read everything. Nothing is written."""
    refs = repository.refs()
    damage, count = [], 0
    packs = list(repository.objects.packs())
    damage += [error.message for error in repository.objects.damaged]
    for pack in packs:
        for stored_object in objects.contents(pack):
            count += 1
            try:
                for _ in objects.inflated(stored_object):
                    pass
            except FormatError as error:
                damage.append(error.message)
    _, missing = _reached(repository, refs.tags.values())
    return Health(len(refs.tags), count, tuple(dict.fromkeys([*damage, *missing])))


def gc(repository: Repository) -> Swept:
    """Take away the packs in which no version has anything: what killed saves left. FormatError where there is
    damage, as then nobody can tell."""
    with repository.writing():
        repository.refuse_journal()
        packs = list(repository.objects.packs())
        reached, missing = _reached(repository, repository.refs().tags.values())
        if missing or repository.objects.damaged:
            raise FormatError("nothing is removed, because the store is damaged", hint="`tagit fsck` tells what it is")
        # Whole packs only: a pack never changes, so that readers need no lock.
        swept = [pack for pack in packs if not _is_needed(pack, reached)]
        size = sum(pack.path.stat().st_size for pack in swept)
        for pack in swept:
            pack.path.unlink()
        repository.objects.forget()
    return Swept(len(swept), size)


def _is_needed(pack: Pack, reached: set[str]) -> bool:
    return any(id.hex() in reached for id in pack.ids)


def _reached(repository: Repository, versions: Iterable[str]) -> tuple[set[str], list[str]]:
    """(ids of all objects of these versions, what is wrong on the way)."""
    reached: set[str] = set()
    missing: list[str] = []
    trees: list[str] = []
    for id in versions:
        try:
            reached.add(id)
            trees.append(repository.tree_of(id))
        except PerfError as error:
            missing.append(error.message)
    while trees:
        id = trees.pop()
        if id in reached or id == tree.EMPTY:
            reached.add(id)
            continue
        reached.add(id)
        try:
            for entry in repository.get(id):
                if entry.is_folder:
                    trees.append(entry.id)
                elif entry.id not in reached:
                    repository.objects.find(entry.id, "blob")
                    reached.add(entry.id)
        except PerfError as error:
            missing.append(error.message)
    return reached, missing
