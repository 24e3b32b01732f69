"""Forbids the parts of a store one after the other and runs commands on it. Root does without its privileges meanwhile.

    python forbidden.py PROJECT

The store has registered profiles and a pending one. Every command either works or is refused with a message; when the
part is allowed again, everything is there. Prints how many parts there were, and how many commands were refused.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import struct
import sys
from pathlib import Path

from world import World, warm

CAPABILITY_VERSION = 0x20080522
COMMANDS = (
    ("add", "0@p"),
    ("rm", "0@i"),
    ("rm", "0@p"),
    ("tag", "new", "0@i"),
    ("gc", "--grace", "0s"),
    ("status",),
    ("fsck",),
)
MODES = (0o000, 0o555)
REFUSALS = range(3, 64)


def parts(perf: Path) -> list[Path]:
    """Every folder, and a file of each folder of objects and of jobs."""
    folders = [perf / name for name in ("jobs", "objects", "tmp", "locks")]
    folders += sorted(path for path in (perf / "objects").iterdir() if path.is_dir())
    return [*folders, *sorted(path for path in perf.glob("jobs/*")), *sorted(perf.glob("objects/??/*"))]


def stored(perf: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for name in ("objects", "jobs") for p in (perf / name).rglob("*") if p.is_file()}


def forgo_privileges() -> None:
    """Let permissions hold for root, too. (Another user may not be able to read the interpreter.)"""
    libc = ctypes.CDLL(None, use_errno=True)
    header, none = struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)
    if libc.capset(header, none):
        raise OSError(ctypes.get_errno(), "capset")


def main() -> None:
    project = Path(sys.argv[1])
    warm()
    world = World(project.parent)
    if os.geteuid() == 0:
        forgo_privileges()
    words: tuple[str, ...]
    for words in (("status",), ("show", "0@i"), ("fsck",)):
        done = world.run(*words)
        assert done.code == 0, done
    before = stored(world.perf)
    shutil.copytree(world.perf, world.base / "kept")
    refused = 0
    forbidden = parts(world.perf)
    for part in forbidden:
        for mode in MODES:
            for words in COMMANDS:
                usual = part.stat().st_mode
                part.chmod(mode if part.is_dir() else mode & 0o444)
                done = world.run(*words)
                if part.exists():
                    part.chmod(usual)
                what = (part, oct(mode), done)
                assert done.code in (0, *REFUSALS), what
                assert "Traceback" not in done.err, what
                assert done.code == 0 or "perf: " in done.err, what
                refused += done.code != 0
                after = stored(world.perf)
                lost = before.keys() - after.keys()
                assert not [key for key in lost if words[0] not in ("add", "rm", "gc") or "/jobs/" not in key], what
                assert not world.wrongs(), (what, world.wrongs())
                if after != before:
                    world.restore()
    print(json.dumps({"parts": len(forbidden), "refused": refused}))


if __name__ == "__main__":
    main()
