"""Walk a place in the order of its keys, one folder in memory at a time."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from perfcore.hookspecs import Listed
from perfcore_storage_local import files
from perfcore_storage_local.keys import OWN, folder_stamp, is_part, is_segment, stat_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from perfcore_storage_local.packs import PackedRow, Packs

    OpenPacks = Callable[[], "Packs | None"]  # asked again and again: the first pack may be written meanwhile

# The coarsest times that a file system has, those of FAT.
_SETTLED_NS = 2_000_000_000
# The clock of a file system ticks every 2 s at most, and some milliseconds behind that of the processor.
_TELLING_NS = 3_000_000_000


def walk(packs: OpenPacks, folder: str, start: str, partial: str) -> Iterator[Listed]:
    """The keys below `folder`, which begin with `start`, if the next part of their key begins with `partial`. What
    is not a folder is listed, whatever it is: `read` tells what is wrong with it."""
    levels = [_entries(packs, folder, start, partial)]
    while levels:
        for key, path, is_folder, packed in levels[-1]:
            if is_folder:
                levels.append(_entries(packs, path, f"{key}/"))
                break
            # A file that is gone may have gone into a pack.
            row = packed.listed(key) if packed else _row(key, path) or _packed(packs, key)
            if row is not None:
                yield row
        else:
            levels.pop()


def stamps(packs: OpenPacks, folder: str, start: str, partial: str, *, reliable: bool) -> dict[str, str]:
    """The stamps of the folders in `folder`. Whatever is made, replaced or removed in a folder changes its times;
    but for some moments after a change the next one could leave them the same, and then they tell nothing."""
    folder_stamps = {}
    packs_stamps: dict[str, str | None] = {}
    for key, path, is_folder, _ in _entries(packs, folder, start, partial):
        # What has the place of a part is told when it is listed.
        if not (is_folder or is_part(key.rpartition("/")[2])):
            continue
        space = key.partition("/")[0]
        if space not in packs_stamps:
            packs_stamps[space] = opened.stamp(space) if (opened := packs()) else ""
        packed = packs_stamps[space]
        try:
            status = os.lstat(path)
            settled = reliable and is_folder and time.time_ns() - status.st_mtime_ns > _TELLING_NS
            own = folder_stamp(status)
        except files.MISSING:
            settled, own = reliable and is_folder, "-"  # all of it is in packs
        folder_stamps[f"{key}/"] = f"{own}{packed}" if settled and packed is not None else ""
    return folder_stamps


_Entry = tuple[str, str, bool, "PackedRow | None"]


def _entries(packs: OpenPacks, folder: str, start: str, partial: str = "") -> Iterator[_Entry]:
    """(key, path, whether it is a folder, where it is in a pack), sorted by key: a folder counts as its name with a
    slash."""
    with files.explained("list", folder):
        names = _names(folder)
        # After the files: what went into a pack since they were read is in it, and has been listed twice.
        packed = opened.names(start) if (opened := packs()) else {}
    is_folder = {**{name: row is None for name, row in packed.items()}, **names}
    hidden = () if start else OWN
    # Of packs, rows have names of digits alone.
    right_names = (name for name in is_folder if packed.get(name) or is_segment(name))
    visible_names = [name for name in right_names if name.startswith(partial) and name.lower() not in hidden]
    for name in sorted(visible_names, key=lambda name: f"{name}/" if is_folder[name] else name):
        yield start + name, f"{folder}{os.sep}{name}", is_folder[name], None if name in names else packed[name]


def _names(folder: str) -> dict[str, bool]:
    """The names in a folder, with whether each is a folder itself.

    A folder that is being written is read twice: some file systems (btrfs) give a replaced file a new place
    in its folder, and one reading may pass between the old and the new.
    """
    folder_names: dict[str, bool] = {}
    try:
        for _ in range(2):
            with os.scandir(folder) as entries:
                folder_names.update((entry.name, _is_folder(entry)) for entry in entries)
            if time.time_ns() - os.stat(folder).st_mtime_ns > _SETTLED_NS:
                break
    except files.MISSING:
        return {}
    return folder_names


def _is_folder(entry: os.DirEntry[str]) -> bool:
    if not entry.is_dir(follow_symlinks=False):
        return False
    return os.name != "nt" or not files.is_link(entry.stat(follow_symlinks=False))


def _packed(packs: OpenPacks, key: str) -> Listed | None:
    opened = packs()
    row = opened.find(key) if opened else None
    return row.listed(key) if row else None


def _row(key: str, path: str) -> Listed | None:
    try:
        status = os.lstat(path)
    except files.MISSING:
        return None
    except OSError as error:  # not `explained`, which would take longer than all the rest
        raise files.failure("list", path, error) from error
    return Listed(key, status.st_size, status.st_mtime_ns, stat_tag(status))
