"""The machine's hardware threads, and what they share: from /sys, or from a file that hwloc wrote."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from perfcore import files
from perfcore.errors import PerfError, UsageError
from perfcore.profile.table import ColumnSpec
from perfcore.text import brief, clip, printable

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

CACHES = ("l1d", "l1i", "l2", "l3")
SIZES = (*(f"{cache}_size" for cache in CACHES), "numa_memory")
COLUMNS = (
    ColumnSpec("cpu", "i64"),
    *(ColumnSpec(name, "i64") for name in ("core", "die", "package", "numa")),
    *(ColumnSpec(name, "str") for name in (*CACHES, "kind")),
    *(ColumnSpec(name, "i64", "B") for name in SIZES),
)
LEVELS = ("core", *CACHES, "numa", "package")
_LARGEST, _MOST, _LARGEST_SIZE = 64 << 20, 1 << 32, 1 << 63
_HINT = "`lstopo --of xml FILE` writes one"
_KINDS = {"cpu_core": "performance", "cpu_atom": "efficiency"}
_PLACES = {"Package": "package", "Socket": "package", "Die": "die", "Core": "core", "NUMANode": "numa"}
_HWLOC_CACHES = {"L1Cache": "l1d", "L1iCache": "l1i", "L2Cache": "l2", "L3Cache": "l3"}


@attrs.frozen(kw_only=True)
class Cpu:
    """A hardware thread: where it is, and for each cache the CPUs that share it (`0-3,8`) and its bytes, as for the
    memory of its NUMA node. None is not known."""

    cpu: int
    core: int | None = None
    die: int | None = None
    package: int | None = None
    numa: int | None = None
    l1d: str | None = None
    l1i: str | None = None
    l2: str | None = None
    l3: str | None = None
    kind: str | None = None
    l1d_size: int | None = None
    l1i_size: int | None = None
    l2_size: int | None = None
    l3_size: int | None = None
    numa_memory: int | None = None


@attrs.frozen(kw_only=True)
class Part:
    """A part of the machine with all its hardware threads: a core, a cache, a NUMA node or a package. `size` is that of
    the cache or the memory in bytes."""

    level: str
    cpus: tuple[int, ...]
    size: int | None = None


def parts(cpus: Collection[Cpu], level: str) -> tuple[Part, ...]:
    """The parts of a level, one of LEVELS; none where it is not known. UsageError for another name."""
    if level not in LEVELS:
        raise UsageError(f"there is no level {brief(level)}", hint=f"the levels are {', '.join(LEVELS)}")
    members: dict[tuple[Any, ...], list[Cpu]] = {}
    around = ("package", "die") if level == "core" else ()  # where numbers of cores begin anew
    for cpu in cpus:
        if getattr(cpu, level) is not None:
            members.setdefault((*(getattr(cpu, name) for name in around), getattr(cpu, level)), []).append(cpu)
    size = {"numa": "numa_memory", **{cache: f"{cache}_size" for cache in CACHES}}.get(level, "")
    return tuple(
        Part(level=level, cpus=tuple(cpu.cpu for cpu in part), size=getattr(part[0], size, None))
        for part in members.values()
    )


def of_system(root: Path = Path("/")) -> tuple[Cpu, ...]:
    """The CPUs that are online, from /sys below `root`; none where it does not tell."""
    system = root / "sys/devices/system"
    numa = _members(system / "node", "node")
    memory = {node: _memory(_text(system / f"node/node{node}/meminfo")) for node in numa.values()}
    kinds = {
        cpu: kind for unit, kind in _KINDS.items() for cpu in _cpus(root / f"sys/bus/event_source/devices/{unit}/cpus")
    }
    return tuple(_of_folder(system / f"cpu/cpu{cpu}", cpu, numa, memory, kinds) for cpu in _cpus(system / "cpu/online"))


def of_file(path: Path) -> tuple[Cpu, ...]:
    """The CPUs of a file that `lstopo --of xml` wrote. PerfError when it is none."""
    from xml.etree import ElementTree

    path_text = printable(str(path))
    try:
        text = files.read(path, _LARGEST, hint=_HINT).data
        if b"<!ENTITY" in text:
            raise PerfError(f"{path_text} defines entities, which no topology does")
        threads = tuple(sorted(_cpus_of(ElementTree.fromstring(text)), key=lambda cpu: cpu.cpu))
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise PerfError(f"{path_text} is no topology: {clip(printable(str(error)), 100)}", hint=_HINT) from error
    if not threads:
        raise PerfError(f"{path_text} is no topology: it has no CPU", hint=_HINT)
    return _with_shared(threads)


def parse_list(text: str) -> tuple[int, ...]:
    """The numbers of `0,2-3`, as the kernel writes them. Raises ValueError."""
    cpus: list[int] = []
    for span in filter(None, text.strip().split(",")):
        low, _, high = span.partition("-")
        cpus.extend(range(int(low), int(high or low) + 1))
    return tuple(cpus)


def format_list(cpus: tuple[int, ...]) -> str:
    """`0,2-3` for 0 2 3."""
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def _of_folder(
    folder: Path, cpu: int, numa: dict[int, int], memory: Mapping[int, int | None], kinds: dict[int, str]
) -> Cpu:
    return Cpu(
        cpu=cpu,
        core=_number(folder / "topology/core_id"),
        die=_number(folder / "topology/die_id"),
        package=_number(folder / "topology/physical_package_id"),
        numa=numa.get(cpu),
        kind=kinds.get(cpu),
        numa_memory=memory.get(numa.get(cpu, -1)),
        **dict(_shared(folder / "cache")),
    )


def _memory(text: str) -> int | None:
    """Of a NUMA node in bytes, from its meminfo."""
    match = re.search(r"MemTotal:\s*(\d+) kB", text)
    return int(match[1]) * 1024 if match else None


def _shared(folder: Path) -> Iterator[tuple[str, Any]]:
    for index in sorted(folder.glob("index*")):
        level, kind = _text(index / "level"), _text(index / "type")
        name = f"l{level}" + ({"Data": "d", "Instruction": "i"}.get(kind, "") if level == "1" else "")
        if name in CACHES:
            with contextlib.suppress(ValueError):
                yield name, format_list(parse_list(_text(index / "shared_cpu_list")))
            size = _text(index / "size")
            if size.endswith("K") and size[:-1].isdecimal():
                yield f"{name}_size", int(size[:-1]) * 1024


def _members(folder: Path, prefix: str) -> dict[int, int]:
    """The node of each CPU."""
    nodes = [
        (int(match[1]), path)
        for path in folder.glob(f"{prefix}*")
        if (match := re.fullmatch(rf"{prefix}(\d+)", path.name))
    ]
    return {cpu: node for node, path in sorted(nodes) for cpu in _cpus(path / "cpulist")}


def _cpus(path: Path) -> tuple[int, ...]:
    try:
        return parse_list(_text(path))
    except ValueError:
        return ()


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _cpus_of(root: Element) -> Iterator[Cpu]:
    numbers: dict[Element, int] = {}
    for place in dict.fromkeys(_PLACES.values()):
        objects = [element for element in root.iter("object") if _PLACES.get(element.get("type", "")) == place]
        numbers.update(zip(objects, _numbered(objects), strict=True))
    return _below(root, {}, numbers)


def _numbered(objects: Sequence[Element]) -> Sequence[int]:
    """The numbers of the system, or the order of the file where hwloc knows none for one of them: virtual machines
    and some ARM boards have no numbers of packages."""
    known = all("os_index" in element.keys() for element in objects)  # noqa: SIM118  (an element has children)
    return [_index(element) for element in objects] if known else range(len(objects))


def _below(element: Element, around: dict[str, int], numbers: Mapping[Element, int]) -> Iterator[Cpu]:
    """The hardware threads below an object of hwloc, each with the objects around it. A NUMA node stands beside
    what it serves (hwloc 2) or around it (hwloc 1). Caches are numbered by the first CPU below them."""
    around = dict(around)
    for child in element.iterfind("object"):
        if child.get("type") == "NUMANode" and child.find("object") is None:
            around |= {"numa": numbers[child], **_size(child, "local_memory", "numa_memory")}
    kind = element.get("type", "")
    if kind in _PLACES:
        around[_PLACES[kind]] = numbers[element]
        around |= _size(element, "local_memory", "numa_memory")
    if kind == "PU":
        index = _index(element)
        caches = {name: str(around[name]) for name in CACHES if name in around}
        places = {name: around.get(name) for name in set(_PLACES.values())}
        sizes = {name: around.get(name) for name in SIZES}
        yield Cpu(cpu=index, **places, **caches, **sizes)  # type: ignore[arg-type]
        return
    if kind in _HWLOC_CACHES or (kind == "Cache" and element.get("depth") in ("1", "2", "3")):
        name = _HWLOC_CACHES.get(kind) or _old_cache(element)
        around |= {name: id(element), **_size(element, "cache_size", f"{name}_size")}
    for child in element.iterfind("object"):
        yield from _below(child, around, numbers)


def _size(element: Element, attribute: str, name: str) -> dict[str, int]:
    text = element.get(attribute, "")
    return {name: int(text)} if text.isdecimal() and 0 < int(text) < _LARGEST_SIZE else {}


def _old_cache(element: Element) -> str:
    """Of hwloc 1, where a cache says its level as a number."""
    level = element.get("depth", "")
    return f"l{level}" + (("i" if element.get("cache_type") == "2" else "d") if level == "1" else "")


def _with_shared(cpus: tuple[Cpu, ...]) -> tuple[Cpu, ...]:
    """Which cache it is becomes the CPUs that have the same one."""
    for name in CACHES:
        sharing: dict[str | None, list[int]] = {}
        for cpu in cpus:
            sharing.setdefault(getattr(cpu, name), []).append(cpu.cpu)
        lists = {cache: None if cache is None else format_list(tuple(same)) for cache, same in sharing.items()}
        cpus = tuple(_evolved(cpu, name, lists[getattr(cpu, name)]) for cpu in cpus)
    return cpus


def _evolved(cpu: Cpu, name: str, value: str | None) -> Cpu:
    changes: Any = {name: value}
    return attrs.evolve(cpu, **changes)


def _index(element: Element) -> int:
    text = element.get("os_index", "")
    if not text:
        raise ValueError("a CPU has no os_index")
    index = int(text)
    if not 0 <= index < _MOST:
        raise ValueError(f"nothing has the number {index}")
    return index
