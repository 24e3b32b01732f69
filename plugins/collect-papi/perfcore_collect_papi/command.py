"""The command `papi`: what can be counted here, and why the rest cannot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer

from perfcore.errors import PluginError
from perfcore.text import clip, printable

if TYPE_CHECKING:
    from perfcore.hookspecs import Output
    from perfcore_collect_papi.diagnosis import Cause, Machine, Probed

_SCHEMA = 1
_NARROW = 100
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class PapiCommand:
    """Hardware counters: the events of this machine, and why there are none."""

    contract = "perfcore_collect_papi.contract:PapiCommandContract"

    def app(self) -> typer.Typer:
        app = typer.Typer(
            help="Hardware counters: the events of this machine, and why there are none.",
            rich_markup_mode=None,
            add_completion=False,
            pretty_exceptions_enable=False,
            no_args_is_help=True,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        app.command("events")(events)
        app.command("doctor")(doctor)
        return app


def events(
    ctx: typer.Context,
    pattern: Annotated[str, typer.Argument(metavar="[PATTERN]", help="Part of a name or description.")] = "",
    available: Annotated[bool, typer.Option("--available", help="Only events that can be counted here.")] = False,
    as_json: AsJson = False,
) -> None:
    """List presets and native events of PAPI, and the counters of the kernel."""
    from perfcore_collect_papi import launcher

    output: Output = ctx.obj
    word = pattern.casefold()
    rows = [
        row
        for row in _asked(launcher.events)
        if (row[5] or not available) and (word in row[0].casefold() or word in row[1].casefold())
    ]
    if as_json:
        names = ("name", "description", "unit", "component", "preset", "available")
        _print_json(output, {"events": [dict(zip(names, row, strict=True)) for row in rows]})
        return
    width = max((len(row[0]) for row in rows), default=0)
    for name, description, _, component, _, countable in rows:
        line = f"{'*' if countable else ' '} {name:<{width}}  {component:<10}  {description}".rstrip()
        output.write(clip(printable(line), output.width or _NARROW) + "\n")
    counted = sum(row[5] for row in rows)
    if not rows and pattern:
        noun = "event that can be counted here" if available else "event"
        output.say(f"no {noun} has {clip(printable(repr(pattern)), _NARROW)} in its name or description")
        return
    output.say(f"{counted} of {len(rows)} events can be counted here (*)")


def doctor(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Say whether hardware events can be counted here, and if not, why."""
    from perfcore_collect_papi import diagnosis

    output: Output = ctx.obj
    machine = diagnosis.machine()
    probed = _probe()
    why = diagnosis.cause(machine, probed, tuple(probed.codes) or ("PAPI_TOT_INS",))
    if as_json:
        _print_json(output, _facts(machine, probed, why))
        return
    output.write("\n".join(printable(line) for line in _lines(machine, probed, why)) + "\n")


def _lines(machine: Machine, probed: Probed, why: Cause | None) -> Sequence[str]:
    kernels = [event for event, errno in probed.software.items() if errno == 0]
    return [
        f"verdict: {why.text if why else 'hardware events can be counted'}",
        *([f"  what to do: {why.hint}"] if why else []),
        f"kernel: {machine.kernel}, perf_event_paranoid {_or_none(machine.paranoid)}",
        f"CPU: {', '.join(dict.fromkeys(filter(None, (machine.name, machine.cpu))))}",
        f"counting units under /sys: {', '.join(machine.units) or 'none'}",
        f"PAPI: {probed.papi or 'cannot be loaded: ' + probed.why}",
        *(f"  component {component['name']}: {_state(component)}" for component in probed.components),
        *(["LIBPFM_FORCE_PMU: " + probed.forced] if probed.forced else []),
        f"counters of the kernel: {', '.join(kernels) or 'none'}",
    ]


def _state(part: Any) -> str:
    pmus = ", ".join(part["pmus"]) or "none"
    return f'disabled, "{part["reason"]}"' if part["disabled"] else f"can be used (PMUs: {pmus})"


def _facts(machine: Machine, probed: Probed, why: Cause | None) -> dict[str, Any]:
    return {
        "cause": attrs.asdict(why) if why else None,
        "machine": attrs.asdict(machine),
        "papi": {
            "version": probed.papi,
            "error": probed.why or None,
            "components": list(probed.components),
            "forced": probed.forced or None,
            "codes": dict(probed.codes),
        },
        "kernel_counters": {event: errno == 0 for event, errno in probed.software.items()},
    }


def _probe() -> Probed:
    import os

    from perfcore_collect_papi import choice, launcher
    from perfcore_collect_papi.names import DEFAULT_EVENTS

    force = os.environ.get("LIBPFM_FORCE_PMU", "")
    request = launcher.Wanted(per_cpu=True, cpus=launcher.online(), force=force)
    return choice.probed_of(_asked(launcher.probe, request, DEFAULT_EVENTS), request)


def _asked(function: Any, *arguments: Any) -> Any:
    from perfcore_collect_papi.wire import FailedError

    try:
        return function(*arguments)
    except FailedError as error:
        raise PluginError(f"PAPI cannot be asked: {printable(str(error.frame[-1]))}") from error


def _or_none(number: int | None) -> str:
    return "is not there" if number is None else str(number)


def _print_json(output: Output, value: dict[str, Any]) -> None:
    output.write(json.dumps({"schema": _SCHEMA, **value}, indent=2) + "\n")
