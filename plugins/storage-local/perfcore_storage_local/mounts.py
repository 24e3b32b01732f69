"""Whether a path is on a file system that other machines write to as well."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from perfcore.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NETWORK = frozenset(
    """
    9p afpfs afs beegfs ceph cifs coda drvfs glusterfs gpfs lustre ncpfs nfs nfs4 orangefs pvfs2
    smb smb2 smb3 smbfs vboxsf vmhgfs webdav
    fuse.ceph fuse.ceph-fuse fuse.curlftpfs fuse.davfs fuse.gcsfuse fuse.glusterfs fuse.goofys fuse.juicefs
    fuse.rclone fuse.s3fs fuse.sshfs fuse.vmhgfs-fuse
    """.split()  # noqa: SIM905  (words to be read and added to)
)
# Blanks, tabs, line feeds and backslashes in paths (getmntent(3)).
_OCTAL = r"\\([0-7]{3})"
_MAC_MOUNT = r".* on (?P<point>/.*) \((?P<type>[^,)]+)[,)]"

Mount = tuple[str, str]


def warnings(place: str, mounts: Iterable[Mount]) -> tuple[str, ...]:
    """What people should know about a place, given what is mounted."""
    path = os.path.realpath(place)
    kind = "smb" if path.startswith("\\\\") else type_at(path, mounts)
    if kind not in NETWORK:
        return ()
    return (
        f"{printable(place)} is on a network file system ({printable(kind)}): locks may not hold there between"
        " machines, so write to it from one machine only, or keep it on a local disk",
    )


def mounted() -> Iterator[Mount]:
    """(mount point, type) of everything that is mounted here; nothing on Windows, where paths tell."""
    if sys.platform == "darwin":
        return parse_mac(_mac_mounts())
    return parse_linux(_linux_mounts())


def type_at(path: str, mounts: Iterable[Mount]) -> str | None:
    """The type of the innermost mount that holds the path; of several at one point the last one counts."""
    best: Mount = ("", "")
    for point, kind in mounts:
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1] or None


def parse_linux(text: str) -> Iterator[Mount]:
    """(mount point, type) of each line of `/proc/self/mounts`, where blanks in names are octal escapes."""
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) > 2:
            yield re.sub(_OCTAL, lambda match: chr(int(match[1], 8)), fields[1]), fields[2]


def parse_mac(text: str) -> Iterator[Mount]:
    """(mount point, type) of each line that `mount` prints on macOS."""
    for line in text.splitlines():
        if match := re.match(_MAC_MOUNT, line):
            yield match["point"], match["type"]


def _linux_mounts() -> str:
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _mac_mounts() -> str:
    import subprocess

    try:
        return subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=5).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
