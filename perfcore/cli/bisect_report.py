"""What `perf bisect` says: what was read and what is believed, after every measurement, and the result."""

from __future__ import annotations

import math
import shlex
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

import attrs
import msgspec
from perfcore_command_bisect import bisection
from perfcore_command_bisect.bisection import Belief
from perfcore_command_bisect.journal import Journal

from perfcore.analysis import sparkline
from perfcore.cli.bisecting import Step, Verdict
from perfcore.cli.console import Console
from perfcore.measure import stored_command
from perfcore.model import MinorVersion
from perfcore.repository.repository import Repository
from perfcore.text import clip, percent, plural, printable, quantity, width

SCHEMA = 1
_BAR, _SUBJECT, _REASON = 32, 40, 60
_NOTHING = "·"
_MORE = (2, 4, 8)
_TIMES = ("ns", "us", "ms", "s")
_UNTOLD = {
    "runs": "after {runs}",
    "time": "in the time there was",
    "stuck": "after {runs}: nothing that can be measured would tell more",
}


def begin(console: Console, verdict: Verdict) -> None:
    found = verdict.journal
    what = printable(found.function or found.metric)
    known = f", {plural(verdict.belief.runs[2], 'run')} taken already" if verdict.belief.runs[2] else ""
    command = stored_command.label(found.command.job)
    subject = f"{what} of {command}" if what else command
    row = f"{found.versions[0][:10]} (good) to {found.versions[-1][:10]} (bad)"
    console.line(f"{subject}: {plural(len(found.versions) - 1, 'version')} from {row}{known}")


@attrs.frozen
class Telling:
    """Tells what was read and what is believed now."""

    console: Console

    def __call__(self, step: Step, verdict: Verdict) -> None:
        subject = clip(printable(step.version.subject), _SUBJECT)
        gap = " " * (_SUBJECT - width(subject))
        self.console.line(f"{step.version.short}  {subject}{gap}  {_read(step, verdict)}")
        if step.more:
            return
        self.console.line(f"            {_bar(verdict.belief)}  {_state(verdict)}")


def quiet(step: Step, verdict: Verdict) -> None:
    """Tells nothing."""


def conclusion(console: Console, verdict: Verdict) -> Iterator[str]:
    """The result, and what to do next."""
    runs = plural(verdict.belief.runs[2], "run")
    good, bad = verdict.journal.versions[0][:10], verdict.journal.versions[-1][:10]
    yield ""
    if verdict.stopped == "identical":
        yield from _identical(verdict.journal, good, bad)
    elif verdict.stopped == "same":
        yield from _alike(verdict, good, bad, runs)
    else:
        yield from _found(console, verdict, runs)


def _identical(asked: Journal, good: str, bad: str) -> Iterator[str]:
    """That there is nothing to find. Where a change was undone, versions between may still be slow."""
    if asked.programs.get(asked.versions[0]) == asked.programs.get(asked.versions[-1]):
        yield f"{good} and {bad} build the same program, with the same inputs: there is nothing to find"
        if len(asked.versions) > 2:
            yield "what lies between them may differ from both; --again measures in any case"
    else:
        yield f"no one version between {good} and {bad} made a change: the program went to and fro between theirs"
        yield "take ends that lie closer together; --again measures in any case"


def as_json(repository: Repository, verdict: Verdict) -> dict[str, Any]:
    found, belief = verdict.journal, verdict.belief
    gap = belief.gap
    exact = math.exp if belief.logarithmic else float
    return {
        "schema": SCHEMA,
        "stopped": verdict.stopped,
        "found": [attrs.asdict(info) for info in _likeliest(repository, verdict)] if verdict.stopped == "found" else [],
        "ends_from": found.ends_from or None,
        "probability": verdict.answer.probability,
        "no_change": belief.nothing,
        "command": found.command.job.label,
        "argv": list(found.command.argv),
        "collector": found.command.collector,
        "metric": found.metric,
        "function": found.function or None,
        "unit": found.unit,
        "change": {
            "as": "ratio" if belief.logarithmic else "difference",
            "value": exact(belief.step),
            "low": exact(belief.low),
            "high": exact(belief.high),
        },
        "ends": gap and {"value": exact(gap.value), "low": exact(gap.low), "high": exact(gap.high)},
        "threshold": verdict.threshold,
        "runs": belief.runs[2],
        "versions": [
            {"id": version, "probability": p, "broken": found.broken.get(version)}
            for version, p in zip(found.versions, belief.probabilities, strict=True)
        ],
        "readings": [msgspec.to_builtins(reading) for reading in found.readings],
    }


def _read(step: Step, verdict: Verdict) -> str:
    if step.like:
        return f"the same program as {step.like[:10]}"
    if step.broken:
        why = step.broken.splitlines()[0].rstrip(":")
        return f"skipped: {clip(printable(why), _REASON)}"
    amount = statistics.median(step.read)
    belief, against = verdict.belief, ""
    if belief.logarithmic and amount > 0:
        against = percent(amount / math.exp(belief.good))
    return f"{quantity(amount, verdict.journal.unit):>9}  {against:>8}  {plural(len(step.read), 'run')}"


def _bar(belief: Belief) -> str:
    """The probabilities of the versions, oldest first; several share a column where they are many."""
    columns = [math.fsum(p or 0.0 for p in part) for part in sparkline.columns_of(belief.probabilities[1:], _BAR)]
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    levels, nothing = (sparkline.BLOCKS, _NOTHING) if unicode else (sparkline.PLAIN, " ")
    most = max(columns) or 1.0
    return "".join(
        levels[min(len(levels) - 1, int(column / most * len(levels)))] if column > 1e-4 else nothing
        for column in columns
    )


def _state(verdict: Verdict) -> str:
    belief, level = verdict.belief, verdict.journal.confidence
    if belief.runs[2] and belief.runs[2] == sum(belief.runs[:2]) and belief.gap is not None:
        gap = belief.gap
        return f"the ends differ by {_size((gap.value, gap.low, gap.high), verdict)}"
    first, last = bisection.credible(belief, level)
    count = sum(p > 0 for p in belief.probabilities[first : last + 1])
    within = "in one version" if count == 1 else f"among {plural(count, 'version')}"
    return f"{_percentage(level)} sure: it is {within}; the likeliest has {_percentage(max(belief.probabilities))}"


def _found(console: Console, verdict: Verdict, runs: str) -> Iterator[str]:
    infos, belief = _likeliest(console.repository, verdict), verdict.belief
    sure = _percentage(verdict.answer.probability)
    if verdict.stopped == "found":
        lead = "this version" if len(infos) == 1 else "one of these versions, which no measurement tells apart,"
        size = f"{_word(belief, verdict.journal)}: {_size((belief.step, belief.low, belief.high), verdict)}"
        yield console.paint(f"{lead} made it {size}; probability {sure}, {runs}", "bold")
    else:
        yield f"cannot tell {_UNTOLD[str(verdict.stopped)].format(runs=runs)}; the likeliest, with {sure}:"
    for info in infos:
        yield ""
        yield f"  {info.id}"
        yield f"  {printable(info.author)} <{printable(info.email)}>, {_date(info)}"
        yield f"  {printable(info.subject)}"
    yield ""
    yield from _next(verdict, infos)


def _next(verdict: Verdict, infos: list[MinorVersion]) -> Iterator[str]:
    if verdict.stopped == "runs":
        yield f"go on: perf bisect --max-runs {2 * verdict.journal.max_runs}"
    elif verdict.stopped == "time":
        yield "go on: perf bisect"
    elif verdict.stopped == "found":
        command = verdict.journal.command
        before = infos[0].parents[0] if infos[0].parents else verdict.journal.versions[0]
        words = command.argv[0] if command.shell else shlex.join(command.argv)
        pair = f"-v {before[:10]} -v {infos[-1].short}"
        yield f"see where: perf collect sample {pair} {'--shell ' * command.shell}-- {printable(words)}"
        yield "and then:  perf diff 0@p 1@p"


def _likeliest(repository: Repository, verdict: Verdict) -> list[MinorVersion]:
    versions = verdict.journal.versions
    return [repository.vcs.get_minor_version_info(versions[place]) for place in verdict.answer.places]


def _alike(verdict: Verdict, good: str, bad: str, runs: str) -> Iterator[str]:
    """That the ends hardly differ, or that nobody knows."""
    gap = verdict.belief.gap
    assert gap is not None
    smallest = f"{verdict.threshold * 100:.3g} %"
    size = _size((gap.value, gap.low, gap.high), verdict)
    if gap.negligible:
        yield f"cannot tell: {good} and {bad} differ by {size}, less than {smallest}; {runs}"
        yield "look for a smaller change (perf bisect --threshold X), or take ends that lie further apart"
    else:
        yield f"cannot tell: {good} and {bad} differ by {size}, which is not surely more than {smallest}; {runs}"
        yield f"measure {_more(verdict)}on a quieter machine, or take ends that lie further apart"


def _more(verdict: Verdict) -> str:
    """How many runs may tell, where a number that anyone would wait for does."""
    asked = verdict.journal
    for times in _MORE:
        if not bisection.alike(verdict.belief, times * asked.max_runs, asked.confidence):
            return f"more (perf bisect --max-runs {times * asked.max_runs}), "
    return ""


def _date(info: MinorVersion) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(info.date))


def _percentage(p: float) -> str:
    return f"{math.floor(p * 1000) / 10:g} %" if p < 1 else "100 %"


def _size(values: tuple[float, float, float], verdict: Verdict) -> str:
    if verdict.belief.logarithmic:
        size, low, high = (_unsigned(percent(math.exp(value))) for value in values)
    else:
        size, low, high = (quantity(value, verdict.journal.unit) for value in values)
    return size if size == low == high else f"{size} ({low} to {high})"


def _unsigned(shown: str) -> str:
    """Nothing has no sign."""
    return shown[1:] if shown in ("+0.0 %", "-0.0 %") else shown


def _word(belief: Belief, found: Journal) -> str:
    worse = (belief.step > 0) == (found.better != "higher")
    if found.unit in _TIMES:
        return "slower" if worse else "faster"
    return "worse" if worse else "better"
