"""What a repository holds: tagit's objects, archives and files, and git's commits."""

from __future__ import annotations

import hashlib

import attrs
from perfcore_vcs_git import history
from perfcore_vcs_tagit import archive, cache, ignore, journal, line, tree, version
from perfcore_vcs_tagit.objects import Nowhere, Objects, inflated
from perfcore_vcs_tagit.objects import contents as packed

from .law import decoded, folder, summed, target, written

_ID = "ab" * 20


@target
def tagit_archive(data: bytes) -> None:
    """A tar or zip archive that is imported."""

    def read() -> str:
        with archive.opened(written(data), limit=1 << 24) as opened:
            for member in opened.members:
                parts = member.path.split(b"/")
                assert not {b"", b".", b".."} & set(parts), member
                assert b"\0" not in member.path
            return opened.store(Nowhere())

    decoded(read)


@target
def tagit_objects(data: bytes) -> None:
    """A tree, a version, and a pack."""
    entries = decoded(lambda: tree.decode(data))
    assert entries is None or tree.encode(entries) == data
    found = decoded(lambda: version.decode(data, _ID))
    if found is not None:
        assert version.decode(version.encode(found), _ID) == attrs.evolve(found, author=" ".join(found.author.split()))
    place = folder() / "packs"
    place.mkdir(exist_ok=True)
    (place / "one.pack").write_bytes(data)
    known = Objects(place)
    for pack in known.packs():
        for item in packed(pack):
            decoded(lambda item=item: [None for _ in inflated(item)])  # type: ignore[misc]


@target
def tagit_files(data: bytes) -> None:
    """The small files of `.tagit`, and what `.tagitignore` names."""
    body, _, _ = data.rpartition(b"sha1 ")
    signed = (body or data) + b"sha1 %s\n" % hashlib.sha1(body or data, usedforsecurity=False).hexdigest().encode()
    for refs in (data, signed):
        found = decoded(lambda refs=refs: line.read(written(refs)))  # type: ignore[misc]
        if found is not None:
            line.write(folder() / "again", found)
            assert line.read(folder() / "again") == found
    decoded(lambda: journal.read(written(data)))
    seen = cache.read(written(summed(data)))
    cache.write(folder() / "again", seen)
    assert cache.read(folder() / "again") == seen
    patterns = decoded(lambda: ignore.parse(folder() / "nothing", data))
    if patterns is not None:
        patterns.matches(b"a/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", folder=False)


@target
def git_commit(data: bytes) -> None:
    found = decoded(lambda: history.parse_commit(_ID, data))
    assert found is None or "\n" not in found.subject
