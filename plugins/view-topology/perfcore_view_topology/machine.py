"""The machine of a profile as boxes in boxes: packages, NUMA nodes, dies, caches, cores, and their threads."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import attrs

from perfcore.errors import NotFoundError
from perfcore.text import printable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from perfcore.model import Profile
    from perfcore.profile.table import Table, Value

LEVELS = ("package", "numa", "die", "l3", "l2", "l1", "core")
"""The kinds of boxes, each usually around the next."""
WORDS = {"package": "package", "numa": "NUMA", "die": "die", "l3": "L3", "l2": "L2", "l1": "L1", "core": "core"}
PLURALS = {**{level: f"{word}s" for level, word in WORDS.items()}, "numa": "NUMA nodes", "l1": "L1 caches"}
PLURALS |= {"l2": "L2 caches", "l3": "L3 caches"}
CACHES = ("l3", "l2", "l1")
_PLACES, _TEXTS = ("core", "die", "package", "numa"), ("l1d", "l1i", "l2", "l3", "kind")

_Keys: TypeAlias = "Mapping[int, Hashable]"


@attrs.frozen(kw_only=True)
class Cpu:
    """A hardware thread as the table `topology` has it. None is not known."""

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


@attrs.frozen
class Part:
    """A part of the machine: the package 0, or the fourth L2. Caches are numbered by their first CPU; cores and dies
    have the numbers of the system, which begin anew in each package, so `rank` tells them apart."""

    level: str
    number: int
    rank: int

    @property
    def label(self) -> str:
        mark = "#" if self.level in CACHES else ""
        return f"{WORDS[self.level]} {mark}{self.number}"


@attrs.frozen
class Box:
    """Parts that hold the same CPUs, drawn as one; `inner` holds some or all of the CPUs again."""

    parts: tuple[Part, ...]
    cpus: tuple[int, ...]
    inner: tuple[Box, ...] = ()

    @property
    def label(self) -> str:
        """`package 0 · NUMA 0`; of a core only that, as its own caches go without saying."""
        cache_is_core = self.is_core and self.parts[0].level in (*CACHES, "core")
        return " · ".join(component.label for component in (self.parts[-1:] if cache_is_core else self.parts))

    @property
    def is_core(self) -> bool:
        return self.parts[-1].level == "core"

    @property
    def loose(self) -> tuple[int, ...]:
        """The CPUs that stand in no inner box."""
        held = {cpu for box in self.inner for cpu in box.cpus}
        return tuple(cpu for cpu in self.cpus if cpu not in held)

    def walk(self) -> Iterator[Box]:
        """This box and all in it, each before what it holds."""
        yield self
        for box in self.inner:
            yield from box.walk()


@attrs.frozen
class Machine:
    """The CPUs by number, the outermost boxes, and CPUs that stand in none."""

    cpus: Mapping[int, Cpu]
    boxes: tuple[Box, ...]
    loose: tuple[int, ...]
    parts: Mapping[int, tuple[Part, ...]]
    telling: tuple[str, ...] = attrs.field(init=False)
    """The levels that divide the machine, each in another way: a cache that each core has for itself is left out, and
    NUMA nodes that are the packages."""

    @telling.default
    def _telling(self) -> tuple[str, ...]:
        partitions: set[frozenset[tuple[int, ...]]] = set()
        levels = []
        for level in ("package", "core", "numa", "die", "l3", "l2", "l1"):
            division = frozenset(self.groups(level).values())
            if len(division) > 1 and division not in partitions:
                partitions.add(division)
                levels.append(level)
        return tuple(sorted(levels, key=LEVELS.index))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of cores, as they can be shown."""
        return tuple(sorted({cpu.kind for cpu in self.cpus.values() if cpu.kind}))

    def groups(self, level: str) -> dict[str, tuple[int, ...]]:
        """What the parts of a level are called, with their CPUs. Parts that share a number are named with all that
        they stand in."""
        groups: dict[Part, list[int]] = {}
        for cpu in self.cpus:
            for part in self.parts[cpu]:
                if part.level == level:
                    groups.setdefault(part, []).append(cpu)
        same = Counter(part.number for part in groups)
        names: dict[str, tuple[int, ...]] = {}
        for part in sorted(groups, key=lambda part: (part.number if level in ("package", "numa") else 0, part.rank)):
            cpus = tuple(groups[part])
            name = part.label if same[part.number] == 1 else self._full(part, cpus[0])
            names[f"{name} (CPU {listed(cpus)})" if name in names else name] = cpus
        return names

    def by_kind(self) -> dict[str, tuple[int, ...]]:
        """The CPUs of each kind of core."""
        return {kind: tuple(cpu.cpu for cpu in self.cpus.values() if cpu.kind == kind) for kind in self.kinds}

    def place(self, cpu: int) -> str:
        """`package 0 · NUMA 0 · L3 #0 · core 1`: what a core has for itself goes without saying."""
        levels = {*self.telling, "package", "numa", "l3", "core"}
        return " · ".join(component.label for component in self.parts.get(cpu, ()) if component.level in levels)

    def _full(self, part: Part, cpu: int) -> str:
        parts = self.parts[cpu]
        around = [outer for outer in parts[: parts.index(part)] if outer.level not in CACHES]
        return " · ".join(outer.label for outer in (*around, part))


def machine(profile: Profile) -> Machine:
    """The machine that a profile was collected on. NotFoundError where it does not say."""
    table = profile.table("topology")
    cpus = {} if table is None else _cpus(table)
    if not cpus:
        raise NotFoundError(
            "the profile does not say which machine it is from: it has no table `topology`, or an empty one",
            hint="`perf collect papi` records it; a difference or a sum has none: perf show BASELINE TARGET topology",
        )
    levels = _levels(cpus)
    parts = {
        level: _parts(level, keys, cpus)
        for level, keys in levels.items()
        if level != "die" or _divides(keys, levels.get("package", {}))
    }
    ordered = sorted(parts, key=lambda level: (-_extent(parts[level]), LEVELS.index(level)))
    boxes = _boxes(tuple(cpus), [parts[level] for level in ordered])
    held = {cpu for box in boxes for cpu in box.cpus}
    return Machine(
        cpus,
        boxes,
        tuple(cpu for cpu in cpus if cpu not in held),
        {cpu: tuple(parts[level][cpu] for level in ordered if cpu in parts[level]) for cpu in cpus},
    )


def listed(cpus: Iterable[int]) -> str:
    """`0,2-3` for 0 2 3."""
    spans: list[list[int]] = []
    for cpu in sorted(cpus):
        if spans and cpu == spans[-1][1] + 1:
            spans[-1][1] = cpu
        else:
            spans.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def _cpus(table: Table) -> dict[int, Cpu]:
    """By number, in order; a row without a number is none, and of two rows of a number the first counts."""
    cpus: dict[int, Cpu] = {}
    for row in table.iter_rows():
        cpu_number = _number(row.get("cpu"))
        if cpu_number is None:
            continue
        places = {name: _number(row.get(name)) for name in _PLACES}
        texts = {name: _text(row.get(name)) for name in _TEXTS}
        cpus.setdefault(cpu_number, Cpu(cpu=cpu_number, **places, **texts))  # type: ignore[arg-type]
    return dict(sorted(cpus.items()))


def _number(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _text(value: Value) -> str | None:
    return (printable(value).strip() or None) if isinstance(value, str) else None


def _levels(cpus: Mapping[int, Cpu]) -> dict[str, _Keys]:
    """For each level what tells its parts apart. Numbers of cores and dies are those within a package; some systems
    number the cores of each cluster anew, which their caches tell."""
    keys: dict[str, _Keys] = {
        "package": {cpu.cpu: cpu.package for cpu in cpus.values() if cpu.package is not None},
        "numa": {cpu.cpu: cpu.numa for cpu in cpus.values() if cpu.numa is not None},
        "die": {cpu.cpu: (cpu.package, cpu.die) for cpu in cpus.values() if cpu.die is not None},
        "l3": {cpu.cpu: cpu.l3 for cpu in cpus.values() if cpu.l3},
        "l2": {cpu.cpu: cpu.l2 for cpu in cpus.values() if cpu.l2},
        "l1": {cpu.cpu: cpu.l1d for cpu in cpus.values() if cpu.l1d},
        "core": {cpu.cpu: (cpu.package, cpu.die, cpu.core, cpu.l1d) for cpu in cpus.values() if cpu.core is not None},
    }
    return {level: mapping for level, mapping in keys.items() if mapping}


def _parts(level: str, keys: _Keys, cpus: Mapping[int, Cpu]) -> dict[int, Part]:
    """The part of each CPU."""
    ranks = {key: rank for rank, key in enumerate(dict.fromkeys(keys.values()))}
    cache = level in CACHES
    return {
        cpu: Part(level, ranks[key] if cache else getattr(cpus[cpu], level), ranks[key]) for cpu, key in keys.items()
    }


def _divides(keys: _Keys, others: _Keys) -> bool:
    """Whether a part of the others holds several of these."""
    return len(set(keys.values())) > len({others.get(cpu) for cpu in keys})


def _extent(parts: Mapping[int, Part]) -> float:
    """How many CPUs the part of a CPU holds on the average: what is larger is drawn around what is smaller."""
    # The mean over CPUs, not over parts: a level of which one part is large and many are small counts as large.
    return sum(size * size for size in Counter(parts.values()).values()) / len(parts)


def _boxes(cpus: Sequence[int], levels: Sequence[Mapping[int, Part]]) -> tuple[Box, ...]:
    """The boxes of these CPUs, by the first level, each with those of the next ones in it. What lacks a part of a
    level stands in those of the next."""
    if not levels:
        return ()
    level, *further = levels
    groups: dict[Part, list[int]] = {}
    for cpu in cpus:
        if cpu in level:
            groups.setdefault(level[cpu], []).append(cpu)
    boxes = [_box(component, tuple(members), further) for component, members in groups.items()]
    outside = [cpu for cpu in cpus if cpu not in level]
    return (
        tuple(sorted((*boxes, *_boxes(outside, further)), key=_order)) if outside else tuple(sorted(boxes, key=_order))
    )


def _box(part: Part, cpus: tuple[int, ...], further: Sequence[Mapping[int, Part]]) -> Box:
    inner = _boxes(cpus, further)
    if len(inner) == 1 and inner[0].cpus == cpus:
        return Box((part, *inner[0].parts), cpus, inner[0].inner)
    return Box((part,), cpus, inner)


def _order(box: Box) -> tuple[int, int]:
    """Packages and NUMA nodes by number, all others by their first CPU."""
    component = box.parts[0]
    return (component.number if component.level in ("package", "numa") else box.cpus[0], box.cpus[0])
