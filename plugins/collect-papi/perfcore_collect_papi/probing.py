"""What can be counted here, found out by trying."""

from __future__ import annotations

from typing import Any

REFERENCE = "PAPI_TOT_INS"  # what every CPU with counters can count


def probe(options: dict[str, Any]) -> dict[str, Any]:
    """What can be counted here, event by event."""
    from perfcore_collect_papi import software

    attachment = {"cpu": options["cpus"][0] if options["per_cpu"] and options["pid"] is None else None}
    how = {**attachment, "pid": options["pid"], "inherit": True, "domain": options["domain"]}
    facts: dict[str, Any] = {"software": software.errors(list(software.EVENTS), **how), "papi": None, "why": ""}
    facts["allowed"] = software.errors(["task-clock"])["task-clock"]
    try:
        from perfcore_collect_papi import binding

        papi = binding.library()
    except ImportError as error:
        return {**facts, "why": str(error)}
    facts["papi"] = papi.version
    facts["components"] = [
        {"name": c.name, "disabled": c.disabled, "reason": c.reason, "pmus": list(c.pmus)} for c in papi.components
    ]
    return {**facts, **_asked(options, how)}


def _asked(options: dict[str, Any], how: dict[str, Any]) -> dict[str, Any]:
    """The component of each event that was asked for, and what PAPI says when it is added."""
    from perfcore_collect_papi import binding
    from perfcore_collect_papi.failure import PapiFailure

    papi = binding.library()
    component: dict[str, int] = {}
    codes: dict[str, int] = {}
    for event in options["events"]:
        try:
            component[event] = papi.component_of(event)
        except PapiFailure as error:
            codes[event] = error.code
    for index in sorted(set(component.values())):
        events = [event for event, of in component.items() if of == index]
        honest = papi.components[index].counts_cpus
        codes |= binding.codes(events, index, **({**how, "multiplex": options["multiplex"]} if honest else {}))
    reference = binding.codes([REFERENCE], 0, **how)[REFERENCE]
    near = {
        event: _near(papi, event, every=reference != 0)
        for event, code in codes.items()
        if code == -7 and (reference == 0 or event not in component)
    }
    return {"component": component, "codes": codes, "near": near, "reference": reference}


def _near(papi: Any, event: str, *, every: bool) -> list[str]:
    """The names that are most like this one, of what can be counted or of every event."""
    import difflib

    names = [e.name for component in papi.components for e in papi.events(component) if e.available or every]
    return difflib.get_close_matches(event, names, n=3, cutoff=0.5)


def listing(options: dict[str, Any]) -> dict[str, Any]:
    """Every event of the kernel and of every component: (name, description, unit, component, preset, whether it can
    be counted here, which is tried)."""
    from perfcore_collect_papi import software

    kernel_events = [
        (name, software.DESCRIPTIONS[name], software.UNITS.get(name, ""), "kernel", False, errno == 0)
        for name, errno in software.errors(list(software.EVENTS)).items()
    ]
    try:
        from perfcore_collect_papi import binding

        papi = binding.library()
    except ImportError:
        return {"events": kernel_events}
    for component in papi.components:
        for event in papi.events(component):
            countable = event.available and binding.codes([event.name], component.index)[event.name] == 0
            kernel_events.append((event.name, event.description, event.units, event.component, event.preset, countable))
    return {"events": kernel_events}
