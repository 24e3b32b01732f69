"""A tree packed as bytes, for workers that cannot reach the repository: a tar archive, compressed by gzip.

Equal trees have equal bytes: names are sorted, and owners and times left out. `unpack` of
`perfcore_executor_local.trees` is the other way.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

from perfcore.errors import StorageError

_LEVEL = 6  # gzip's own default: the trees of source code are packed once and unpacked once


def pack(tree: Path) -> bytes:
    """The files, directories and symbolic links below a tree; no other kinds of file."""
    packed = io.BytesIO()
    try:
        with (
            # `mtime=0`: the header of gzip holds the time (RFC 1952), which would make equal trees differ.
            gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=_LEVEL, mtime=0) as compressed,
            tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(tree.rglob("*")):
                archive.add(path, arcname=os.fspath(path.relative_to(tree)), recursive=False, filter=_anonymous)
    except OSError as error:
        raise StorageError(f"cannot pack {tree}: {error.strerror or error}") from error
    return packed.getvalue()


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if not (member.isfile() or member.isdir() or member.issym()):
        return None
    # The user's numbers mean another user, or nobody, where the worker runs.
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
