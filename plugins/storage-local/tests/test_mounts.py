"""A place on a network file system is told from one on a local disk."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from perfcore_storage_local.mounts import mounted, parse_linux, parse_mac, type_at, warnings

from perfcore.files import sync

if TYPE_CHECKING:
    from perfcore_storage_local import LocalStorage

LINUX = r"""
/dev/vda / ext4 rw,relatime 0 0
proc /proc proc rw,relatime 0 0
systemd-1 /home autofs rw,fd=46 0 0
server:/export/home /home nfs4 rw,relatime,vers=4.2,addr=10.0.0.1 0 0
/dev/vdb /home/me/local\040disk xfs rw 0 0
me@host:/data /mnt/far\134away fuse.sshfs rw,user_id=0 0 0
//nas/team /srv/team cifs rw,vers=3.1.1 0 0
broken
"""
MAC = """
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse)
//me@nas._smb._tcp.local/team on /Volumes/team on nas (smbfs, nodev, nosuid, mounted by me)
map auto_home on /home (autofs)
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/src/project/.perf", "ext4"),
        ("/homestead", "ext4"),
        ("/home", "nfs4"),
        ("/home/me/project", "nfs4"),
        ("/home/me/local disk/project", "xfs"),
        ("/mnt/far\\away/project", "fuse.sshfs"),
        ("/srv/team", "cifs"),
    ],
)
def test_the_innermost_mount_counts_on_linux(path: str, kind: str) -> None:
    assert type_at(path, parse_linux(LINUX)) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/Users/me", "apfs"), ("/Volumes/team on nas/x", "smbfs"), ("/home", "autofs"), ("/Volumes/team", "apfs")],
)
def test_the_innermost_mount_counts_on_macos(path: str, kind: str) -> None:
    assert type_at(path, parse_mac(MAC)) == kind


def test_nothing_is_known_without_mounts() -> None:
    assert type_at("/a", parse_linux("")) is None
    assert warnings("/a", parse_linux("")) == ()


@pytest.mark.skipif(sys.platform == "win32", reason="these are paths of POSIX")
def test_a_network_file_system_is_warned_about_and_a_local_one_is_not() -> None:
    (text,) = warnings("/nowhere/\x1b[31m", [("/", "ext4"), ("/nowhere", "nfs")])
    assert "network file system (nfs)" in text
    assert text.isprintable()
    assert warnings("/nowhere", [("/", "nfs"), ("/nowhere", "ext4")]) == ()


def test_the_warning_of_a_place_is_told_by_the_driver(storage: LocalStorage) -> None:
    assert storage.warnings() == warnings(str(storage.place), mounted())


@pytest.mark.skipif(sys.platform != "linux", reason="knows what Linux mounts")
def test_what_is_mounted_here_is_read() -> None:
    assert type_at("/proc/self", mounted()) == "proc"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows syncs no pipes")
def test_what_cannot_be_synced_is_no_failure() -> None:
    """As some network and FUSE file systems say of their files what the kernel says of a pipe."""
    reader, writer = os.pipe()
    try:
        with pytest.raises(OSError, match=r"Invalid argument|not supported"):
            os.fsync(writer)
        sync(writer)
    finally:
        os.close(reader)
        os.close(writer)
