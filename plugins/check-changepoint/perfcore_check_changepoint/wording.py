"""The evidence for a change, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfcore.analysis.verdict_text import environment
from perfcore.text import percent, plural, printable, quantity
from perfcore_check_changepoint.points import ChangePoint

if TYPE_CHECKING:
    from perfcore_check_changepoint.located import MachineStep
    from perfcore_check_changepoint.replacement import Continuation
    from perfcore_check_changepoint.session_boundaries import NewSession

SHARED = "without what the benchmarks of a run share"


def short(version: str) -> str:
    return printable(version[:10])


def level(change: ChangePoint, unit: str, interval: str) -> str:
    return f"level {quantity(change.before, unit)} → {quantity(change.after, unit)}{interval}"


def drift(change: ChangePoint, unit: str, interval: str) -> str:
    return f"drift {quantity(change.before, unit)} → {quantity(change.after, unit)}{interval}"


def pace(ratio: float, versions: int) -> str:
    return f"{percent(ratio)} a version over {plural(versions, 'version')}"


def interval(low: float, high: float, confidence: float) -> str:
    return f" ({confidence * 100:g} %: {percent(low)} to {percent(high)})"


def noise(change: ChangePoint, unit: str, interval: str) -> str:
    return f"noise ±{quantity(change.before, unit)} → ±{quantity(change.after, unit)}{interval}"


def where(base: str, first: str, last: str, *, measured: bool) -> str:
    """The versions that may have brought the change, all of them after `base`; whether the first was measured."""
    text = f"came after {short(base)}, "
    text += f"with {short(last)}" if first == last else f"between {short(first)} and {short(last)}"
    return text if measured else f"{text}, not all of which were measured"


def session(new: NewSession, before: str, after: str) -> str:
    common = f"only {plural(new.shared, 'version')}" if new.shared else "no version"
    told = f"shares {common} with those before it, so this may be the machine"
    if new.is_likelier:
        told = "measured the version before as slow or fast as the next, so this is likelier the machine"
    decide = f"to decide: perf compare {short(before)} {short(after)} -- COMMAND"
    return f"session {printable(new.name[:12])} began here and {told}; {decide}"


def why_open(new: NewSession) -> str:
    return "came with a session" if new.is_likelier else "sessions may differ as much"


def strength(change: ChangePoint) -> str:
    return f"evidence {change.gain:.1f} nats, p={change.p_value:.2g}"


def undone(version: str | None) -> str:
    return f"undone in {short(version)}" if version else ""


def machine(before: str, after: str, *, goes_on: bool) -> str:
    """`goes_on` is whether the machine before measures later versions, too."""
    if goes_on:
        return (
            f"{environment(after)} measures beside {environment(before)} from here on: their amounts are not compared"
        )
    names = f"{environment(before)} → {environment(after)}"
    return f"the machine changed here (environment {names}): amounts before and after are not compared"


def continued(step: Continuation, version: str, factor: tuple[float, float, float], confidence: float) -> str:
    before, after = environment(step.before), environment(step.after)
    ratio, low, high = (f"{number:.4g}" for number in factor)
    size = f"by a factor of {ratio} ({confidence * 100:g} %: {low} to {high})"
    told = plural(step.count, "turn") if step.by_turns else f"{plural(step.count, 'version')} measured on both"
    if step.in_turns:
        return f"machines {before} and {after} take turns and differ {size}, from {told}"
    return f"machine {after} continues {before} from {short(version)} on {size}, from {told}"


def shared(step: MachineStep, ratio: float, until: str) -> str:
    """Of series that moved at once, or little by little until a version."""
    text = f"{step.series} of {plural(step.measured, 'series', 'series')} moved together by {percent(ratio)}"
    text += f", little by little until {short(until)}: " if until else ": "
    if step.came_with_session:
        return f"{text}a session measured the version before as slow or fast as the next: likelier the machine"
    if until or 2 * step.series <= step.measured:
        return f"{text}a machine that measures these, or code that all of these share"
    return f"{text}put down to the machine and taken out of all of them"


def either(before: str, after: str) -> str:
    """Of series that moved together, few or half of a suite: it may be the machine or the code of all of them."""
    return (
        "moved together: the machine, or the code of all; to decide, measure both versions in one session: "
        f"perf collect COLLECTOR --version {short(before)} --version {short(after)} --add -- COMMAND"
    )
