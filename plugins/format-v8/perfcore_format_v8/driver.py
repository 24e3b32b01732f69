"""Reading the profiles that V8 writes: `node --cpu-prof`, `node --heap-prof`, the DevTools of Chrome."""

from __future__ import annotations

from pathlib import Path

import msgspec
from perfcore_sample_kit import contents, start_of

from perfcore.errors import FormatError
from perfcore.model import Profile
from perfcore.text import encodable, printable
from perfcore_format_v8 import cpu, heap
from perfcore_format_v8.document import CpuProfile, HeapProfile

_SUFFIXES = (".cpuprofile", ".heapprofile")
_FRAME = b'"callFrame"'
_TRACE = b'"traceEvents"'  # of Chrome, whose events may hold pieces of profiles
_TREES = (b'"nodes"', b'"head"')


class V8Format:
    """CPU profiles (`.cpuprofile`) and sampled heap profiles (`.heapprofile`) of V8."""

    contract = "perfcore_format_v8.contract:CpuContract"

    def sniff(self, head: bytes, name: str) -> bool:
        start = start_of(head).lstrip()
        if not start.startswith(b"{"):
            return False
        return name.removesuffix(".gz").endswith(_SUFFIXES) or (
            _FRAME in start and _TRACE not in start and any(tree in start for tree in _TREES)
        )

    def read(self, path: Path) -> Profile:
        """The samples of a CPU profile, or what each stack of a heap profile holds. FormatError says what is wrong."""
        name, created = path.name.removesuffix(".gz"), path.stat().st_mtime_ns
        for suffix in _SUFFIXES:
            name = name.removesuffix(suffix)
        try:
            data = contents(path)
            fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
            if "head" in fields:
                return heap.profile(msgspec.json.decode(data, type=HeapProfile), name=name, created=created)
            return cpu.profile(msgspec.json.decode(data, type=CpuProfile), name=name, created=created)
        except FormatError as error:
            raise FormatError(f"{printable(str(path))}: {printable(error.message)}", hint=error.hint) from error
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise FormatError(f"{printable(str(path))} is no profile of V8: {encodable(str(error))}") from error
