"""Whether a path is on a file system that other machines write to as well."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NETWORK = frozenset(
    """
    9p afpfs afs beegfs ceph cifs coda drvfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs pvfs2
    smb smb2 smb3 smbfs vboxsf vmhgfs webdav macfuse osxfuse
    fuse.ceph fuse.ceph-fuse fuse.curlftpfs fuse.davfs fuse.gcsfuse fuse.glusterfs fuse.goofys fuse.juicefs
    fuse.rclone fuse.s3fs fuse.sshfs fuse.vmhgfs-fuse
    """.split()  # noqa: SIM905  (words to be read and added to)
)
_OCTAL = re.compile(r"\\([0-7]{3})")
_MAC_MOUNT = re.compile(r".* on (?P<point>/.*) \((?P<type>[^,)]+)[,)]")

Mount = tuple[str, str]


def network_type(place: str) -> str | None:
    """The type of the network file system that holds the place, or None if it is a local one."""
    path = os.path.realpath(place)
    if sys.platform == "win32":
        return "a network share" if path.startswith("\\\\") and not path.startswith("\\\\?\\") else None
    if sys.platform == "darwin":
        found = type_at(path, parse_mac(_mac_mounts()))
    else:
        found = type_at(path, parse_linux(_linux_mounts()))
    return found if found in NETWORK else None


def type_at(path: str, mounts: Iterator[Mount]) -> str | None:
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
            yield _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[1]), fields[2]


def parse_mac(text: str) -> Iterator[Mount]:
    """(mount point, type) of each line that `mount` prints on macOS."""
    for match in map(_MAC_MOUNT.match, text.splitlines()):
        if match:
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
