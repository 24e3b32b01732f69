"""A release archive as the next version of a line."""

from __future__ import annotations

from pathlib import Path

import attrs

from perfcore_vcs_tagit import archive
from perfcore_vcs_tagit.failures import told
from perfcore_vcs_tagit.objects import Writer
from perfcore_vcs_tagit.repository import Repository, Saved
from perfcore_vcs_tagit.state import State


@attrs.frozen
class Imported:
    """What came of an archive: how many files it has, the folder around all that was taken off."""

    saved: Saved
    files: int
    top: bytes


def import_archive(
    repository: Repository,
    path: Path,
    tag: str | None,
    *,
    message: str,
    author: str,
    date: int,
    limit: int = archive.LIMIT,
    keep_top: bool = False,
) -> Imported:
    """Save what is in an archive, and put the working tree at it. Nothing is written before all of it was checked."""
    state = State(repository)
    name = archive.tag_of(path) if tag is None else tag
    with archive.opened(path, limit=limit, keep_top=keep_top) as archived, repository.writing(), told("import"):
        repository.refuse_journal()
        refs = repository.refs()
        repository.refuse_name(refs, name)
        state.refuse_changes()
        with Writer(repository.objects) as writer:
            tree = archived.store(writer)
            saved = repository.add_version(writer, refs, tree, name, message=message, author=author, date=date)
            pack = writer.finish()
        try:
            state.adopt(saved.id, tree, lambda: repository.advance(refs, saved))
        except BaseException:
            if pack is not None and not repository.places.journal.exists():
                pack.unlink(missing_ok=True)
            raise
    files = sum(member.data is not None for member in archived.members)
    return Imported(attrs.evolve(saved, left_out=archived.left_out), files, archived.top)
