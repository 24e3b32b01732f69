"""What is counted, and by which source: the events that were asked for, or with `--fallback` the next best."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from perfcore.errors import PluginError
from perfcore.text import clip, printable
from perfcore_collect_papi import diagnosis, software
from perfcore_collect_papi.diagnosis import Cause, Machine, Probed
from perfcore_collect_papi.launcher import Group, Wanted
from perfcore_collect_papi.names import ARCHITECTURAL, DEFAULT_EVENTS, FORCED, PERF_EVENT

if TYPE_CHECKING:
    from perfcore_collect_papi.collector import PapiSettings

Probe = Callable[[Wanted, Sequence[str]], dict[str, Any]]
RUSAGE = ("cpu-time", "minor-faults", "major-faults", "context-switches")
_UNITS = {**software.UNITS, "cpu-time": "ns"}
_SHOWN = 60  # columns of a name in a message
_ALIKE = 0.75
_ESTIMATES = (
    "the values are estimates for all CPUs together: the events took turns on the counters, which would invent counts "
    "for a CPU that was idle meanwhile"
)


@attrs.frozen(kw_only=True)
class Choice:
    """How the runs of a session are counted. No groups: what the kernel says of every ended process (rusage)."""

    wanted: Wanted
    groups: tuple[Group, ...]
    source: str
    attribution: str
    notes: tuple[str, ...] = ()
    papi: str | None = None

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(event for group in self.groups for event in group.events) or RUSAGE

    @property
    def profile_type(self) -> str:
        """Profiles of one type can be compared: sources that count differently make different ones. What is counted
        beside the hardware has columns of its own."""
        kind = self.source.partition("+")[0].partition(":")[0].removeprefix("papi").strip("-")
        return ".".join(filter(None, ("papi", kind, "sampled" if self.attribution == "sampled" else "")))

    def unit(self, event: str) -> str:
        return _UNITS.get(event, "")


def choose(settings: PapiSettings, wanted: Wanted, machine: Machine, probe: Probe) -> Choice:
    """Raises PluginError with the cause when the events cannot be counted and nothing else was allowed."""
    events = tuple(dict.fromkeys(settings.event))
    kernels = tuple(event for event in events if event in software.EVENTS)
    hardware = tuple(event for event in events if event not in software.EVENTS)
    probed = probed_of(probe(wanted, hardware), wanted)
    if not hardware:
        return _software(wanted, machine, probed, kernels)
    for event in hardware:
        _check_spelling(event, probed)
    misread = _misread(wanted, probed, hardware)
    why = diagnosis.of_forced(wanted.force, misread) if misread else diagnosis.cause(machine, probed, hardware)
    if why is None:
        return _papi(wanted, machine, probed, hardware, kernels)
    if not settings.fallback or not why.whole:
        raise PluginError(why.text, hint=why.hint)
    for event in hardware:
        _check_known(event, probed)
    return next(_next_best(why, wanted, machine, probe, probed, hardware, kernels))


def _misread(wanted: Wanted, probed: Probed, hardware: Sequence[str]) -> tuple[str, ...]:
    """The events whose codes may mean something else, since PAPI was told to take the CPU for another one."""
    if not wanted.force:
        return ()
    processor = [index for index, component in enumerate(probed.components) if component["name"] == PERF_EVENT]
    return tuple(e for e in hardware if e not in ARCHITECTURAL and probed.component.get(e) in processor)


def _check_spelling(event: str, probed: Probed) -> None:
    """PluginError for a name that PAPI does not know and that is nearly one of the kernel's counters."""
    near = difflib.get_close_matches(event, software.EVENTS, n=1, cutoff=_ALIKE)
    if near and event not in probed.component:
        raise PluginError(f"there is no event {clip(printable(event), _SHOWN)}", hint=f"did you mean {near[0]!r}?")


def _check_known(event: str, probed: Probed) -> None:
    """PluginError for a name that nothing else should be counted for, as no machine has it. Of a processor that is
    not here, native events are told by the name of its unit (`skl::INST_RETIRED`)."""
    native = "::" in event and ":::" not in event
    if probed.papi is None or event in probed.component or native:
        return
    near = ", ".join(probed.near.get(event, ()))
    hint = (f"near: {near}; " if near else "") + "`perf papi events` lists them all"
    raise PluginError(
        f"there is no event {clip(printable(event), _SHOWN)}, so that nothing is counted for it", hint=hint
    )


def _next_best(
    why: Cause,
    wanted: Wanted,
    machine: Machine,
    probe: Probe,
    probed: Probed,
    hardware: Sequence[str],
    kernels: Sequence[str],
) -> Iterator[Choice]:
    """The other sources that can be had, in order."""
    forced = wanted.force or FORCED.get(machine.vendor)
    architectural = [event for event in hardware if event in ARCHITECTURAL]
    untried = not wanted.force or why.id == "forced"
    if machine.units and forced and architectural and probed.papi and untried:
        retried = attrs.evolve(wanted, force=forced)
        probed_again = probed_of(probe(retried, architectural), retried)
        if diagnosis.cause(machine, probed_again, architectural) is None:
            choice = _papi(retried, machine, probed_again, architectural, kernels)
            yield _noted(choice, why, "counted as on a CPU that PAPI knows")
    if any(probed.software.get(event) == 0 for event in software.USUAL):
        events = tuple(dict.fromkeys((*kernels, *software.USUAL)))
        explanation = f"{_instead(hardware)}these are the kernel's own counters"
        yield _noted(_software(wanted, machine, probed, events), why, explanation)
    others = tuple(event for event in hardware if event in probed.component and probed.countable(event))
    if others:
        groups = tuple(_by_component(probed, others))
        rusage_choice = Choice(wanted=wanted, groups=groups, source="component", attribution="none", papi=probed.papi)
        yield _noted(rusage_choice, why, f"only {', '.join(others)} could be counted")
    rusage_choice = Choice(wanted=wanted, groups=(), source="rusage", attribution="none", papi=probed.papi)
    yield _noted(rusage_choice, why, f"{_instead(hardware)}this is what the kernel says of ended processes")


def _instead(hardware: Sequence[str]) -> str:
    """Events that were asked for by name are told when they are not counted."""
    hardware_events = [event for event in hardware if event not in DEFAULT_EVENTS]
    return f"instead of {clip(printable(', '.join(hardware)), _SHOWN)} " if hardware_events else ""


def _papi(wanted: Wanted, machine: Machine, probed: Probed, hardware: Sequence[str], kernels: Sequence[str]) -> Choice:
    groups = tuple(_by_component(probed, hardware))
    extra = _software(wanted, machine, probed, kernels).groups if kernels else ()
    return Choice(
        wanted=wanted,
        groups=(*groups, *extra),
        source=source_of((*groups, *extra), wanted.force),
        attribution=_attribution(wanted, (*groups, *extra)),
        notes=(_ESTIMATES,) if wanted.multiplex else (),
        papi=probed.papi,
    )


def source_of(groups: Sequence[Group], force: str) -> str:
    """What counts: hardware before all else, by PAPI or by a PMU that it was told to see."""
    sources = {group.source for group in groups}
    hardware = f"papi-forced:{force}" if force else "papi"
    of_papi = hardware if "papi" in sources else "component"
    return "+".join([of_papi] * (sources != {"software"}) + ["software"] * ("software" in sources))


def _software(wanted: Wanted, machine: Machine, probed: Probed, events: Sequence[str]) -> Choice:
    refused = {event: errno for event in events if (errno := probed.software.get(event, 0))}
    countable = tuple(event for event in events if event not in refused)
    if not countable:
        why = diagnosis.of_software(machine, probed, next(iter(refused.values())), tuple(refused))
        raise PluginError(why.text, hint=why.hint)
    absent = f"{', '.join(refused)} cannot be counted here: {diagnosis.IN_KERNEL}" if refused else ""
    groups = (Group(source="software", events=countable),)
    return Choice(
        wanted=wanted,
        groups=groups,
        source="software",
        attribution=_attribution(wanted, groups),
        notes=(absent,) if absent else (),
        papi=probed.papi,
    )


def _by_component(probed: Probed, events: Sequence[str]) -> Iterator[Group]:
    """A set holds events of one component."""
    for index in sorted({probed.component[event] for event in events}):
        honest = probed.components[index]["name"] == PERF_EVENT
        members = tuple(event for event in events if probed.component[event] == index)
        yield Group(source="papi" if honest else "component", events=members, component=index)


def _attribution(wanted: Wanted, groups: Sequence[Group]) -> str:
    if all(group.source == "component" for group in groups):
        return "none"
    if wanted.pid is not None:
        return "sampled"
    return "kernel" if wanted.per_cpu else "none"


def _noted(choice: Choice, why: Cause, what: str) -> Choice:
    return attrs.evolve(choice, notes=(f"{clip(printable(why.text), 300)}; {what}", *choice.notes))


def probed_of(facts: dict[str, Any], wanted: Wanted) -> Probed:
    """What a probe found."""
    field_names = {field.name for field in attrs.fields(Probed)}
    fields = {key: value for key, value in facts.items() if key in field_names}
    request = {"forced": wanted.force, "domain": wanted.domain, "pid": wanted.pid}
    return Probed(**{**fields, "components": tuple(facts.get("components", ())), **request})
