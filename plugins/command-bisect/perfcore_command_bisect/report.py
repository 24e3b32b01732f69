"""The report of `perf bisect` in words: each step with the belief after it, and the result."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from perfcore_view_history import sparkline

from perfcore.analysis.verdict_text import TIMES
from perfcore.measure import commands
from perfcore.model import MinorVersion
from perfcore.text import clip, percent, plural, printable, quantity, width
from perfcore_command_bisect import ancestry, bayes, consent
from perfcore_command_bisect.journal import Journal
from perfcore_command_bisect.result import BisectResult, Status, Step
from perfcore_command_bisect.search import Belief, credible

if TYPE_CHECKING:
    from perfcore.hookspecs import CommandContext
    from perfcore.repository import Repository

_BAR, _SUBJECT, _REASON = 32, 40, 60  # columns
_NOTHING = "·"
_MORE = (2, 4, 8)  # times as many runs as were allowed: nobody waits for sixteen times as many
_INCONCLUSIVE = {
    "runs": "after {runs}",
    "time": "in the time there was",
    "stuck": "after {runs}: nothing that can be measured would tell more",
}


def heading(status: Status) -> str:
    """The first line: the metric, the command, the versions and the runs so far."""
    journal = status.journal
    metric = printable(journal.function or journal.metric)
    reused_runs = f", {plural(status.belief.runs[2], 'run')} taken already" if status.belief.runs[2] else ""
    label = commands.label(journal.command.job)
    subject = f"{metric} of {label}" if metric else label
    versions = f"{journal.versions[0][:10]} (good) to {journal.versions[-1][:10]} (bad)"
    return f"{subject}: {plural(len(journal.versions) - 1, 'version')} from {versions}{reused_runs}"


@attrs.frozen
class StepReport:
    """Writes each step: the values of the version, and the belief after it."""

    context: CommandContext

    def __call__(self, step: Step, status: Status) -> None:
        subject = clip(printable(step.version.subject), _SUBJECT)
        gap = " " * (_SUBJECT - width(subject))
        self.context.line(f"{step.version.short}  {subject}{gap}  {_read(step, status)}")
        if step.more:
            return
        self.context.line(f"            {_bar(status.belief)}  {_state(status)}")


def conclusion(context: CommandContext, result: BisectResult) -> Iterator[str]:
    """The result, and the next step for the user."""
    status = result.status
    runs = plural(result.runs, "run")
    good, bad = status.journal.versions[0][:10], status.journal.versions[-1][:10]
    yield ""
    if status.stopped == "identical":
        yield from _identical(status.journal, good, bad)
    elif status.stopped == "same":
        yield from _alike(status, good, bad, runs)
    else:
        yield from _found(context, result, runs)
    if result.known and status.stopped not in ("runs", "time"):
        yield "nothing was measured now, as this bisection had ended; with --reset, the same command line begins anew"


def _identical(asked: Journal, good: str, bad: str) -> Iterator[str]:
    """That there is nothing to find. Where a change was undone, versions between may still be slow."""
    if asked.programs.get(asked.versions[0]) == asked.programs.get(asked.versions[-1]):
        yield f"{good} and {bad} build the same program, with the same inputs: there is nothing to find"
        if len(asked.versions) > 2:
            yield "what lies between them may differ from both; --again measures in any case"
    else:
        yield f"no one version between {good} and {bad} made a change: the program went to and fro between theirs"
        yield "take ends that lie closer together; --again measures in any case"


def _read(step: Step, status: Status) -> str:
    if step.like:
        return f"the same program as {step.like[:10]}"
    if step.broken:
        why = step.broken.splitlines()[0].rstrip(":")
        return f"skipped: {clip(printable(why), _REASON)}"
    amount = statistics.median(step.values)
    belief, against = status.belief, ""
    if belief.logarithmic and amount > 0:
        against = percent(amount / math.exp(belief.good))
    return f"{quantity(amount, status.journal.unit):>9}  {against:>8}  {plural(len(step.values), 'run')}"


def _bar(belief: Belief) -> str:
    """The probabilities of the versions, oldest first; several share a column where they are many."""
    columns = [math.fsum(p or 0.0 for p in segment) for segment in sparkline.columns_of(belief.probabilities[1:], _BAR)]
    # Blocks in an encoding that lacks them would end the command with a UnicodeEncodeError.
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    levels, nothing = (sparkline.BLOCKS, _NOTHING) if unicode else (sparkline.PLAIN, " ")
    most = max(columns) or 1.0
    return "".join(
        levels[min(len(levels) - 1, int(column / most * len(levels)))] if column > 1e-4 else nothing
        for column in columns
    )


def _state(status: Status) -> str:
    belief, level = status.belief, status.journal.confidence
    if belief.runs[2] and belief.runs[2] == sum(belief.runs[:2]) and belief.gap is not None:
        gap = belief.gap
        return f"the ends differ by {_size((gap.value, gap.low, gap.high), status)}"
    first, last = credible(belief, level)
    count = sum(p > 0 for p in belief.probabilities[first : last + 1])
    within = "in one version" if count == 1 else f"among {plural(count, 'version')}"
    return f"{_percentage(level)} sure: it is {within}; the likeliest has {_percentage(max(belief.probabilities))}"


def _found(context: CommandContext, result: BisectResult, runs: str) -> Iterator[str]:
    status, versions = result.status, result.versions
    belief = status.belief
    sure = _percentage(status.candidates.probability)
    if status.stopped == "found":
        lead = "this version" if len(versions) == 1 else "one of these versions, which no measurement tells apart,"
        word = _word(status)
        if not status.is_worse:
            yield f"the bad end is not worse than the good one: it is {word}"
        if status.own_change_is_sure:
            made = f"{lead} made it {word}: {_size(belief.change, status)}; probability {sure}, {runs}"
            yield context.paint(made, "bold")
        else:
            yield context.paint(f"{lead} made it {word}; probability {sure}, {runs}", "bold")
            gap = belief.gap
            ends = f"; the ends differ by {_size((gap.value, gap.low, gap.high), status)}" if gap else ""
            yield f"the size of its own change is less sure: {_size(belief.change, status)}{ends}"
        if not status.is_worse:
            direction = "lower" if status.journal.better == "higher" else "higher"
            yield f"if this is what you look for, say so: --better {direction}"
    else:
        yield f"inconclusive {_INCONCLUSIVE[str(status.stopped)].format(runs=runs)}; the likeliest, with {sure}:"
        if belief.effect is not None and status.candidates.probability >= status.journal.confidence:
            smallest = f"{status.threshold * 100:.3g} %"
            yield f"its own change, {_size(belief.change, status)}, is not surely more than {smallest}"
    for version in versions:
        yield ""
        yield f"  {version.id}"
        yield f"  {printable(version.author)} <{printable(version.email)}>, {_date(version)}"
        yield f"  {printable(version.subject)}"
    yield ""
    yield from _next(context.history.repository, status, versions)


def _next(repository: Repository, status: Status, versions: Sequence[MinorVersion]) -> Iterator[str]:
    if status.stopped == "runs":
        yield f"go on: perf bisect --max-runs {2 * status.journal.max_runs}"
    elif status.stopped == "time":
        yield "go on: perf bisect"
    elif status.stopped == "found":
        yield from _side_line(repository, status.journal, versions)
        yield from _where(repository, status, versions)


def _side_line(repository: Repository, journal: Journal, versions: Sequence[MinorVersion]) -> Iterator[str]:
    """Of a merge that made the change: how to look for it among the versions that it brought. Those that do not contain
    the good end were no candidates."""
    if len(versions) != 1:
        return
    candidates = set(journal.versions)
    for parent in versions[0].parents[1:]:
        if parent in candidates or not (fork := ancestry.fork(repository.vcs, journal.versions[0], parent)):
            continue
        options = f"--function {printable(shlex.quote(journal.function))} " if journal.function else ""
        line = consent.command_line(journal.command.job, fork, parent).removeprefix("perf bisect ")
        yield f"it is a merge: to search among what it brought: perf bisect {options}{line}"


def _where(repository: Repository, status: Status, versions: Sequence[MinorVersion]) -> Iterator[str]:
    """How to compare the call stacks of the found version and of the one before."""
    if _starts_program(repository, status.journal):
        command = status.journal.command
        before = versions[0].parents[0] if versions[0].parents else status.journal.versions[0]
        folder = "" if command.cwd == "." else f"--cwd {shlex.quote(command.cwd)} "
        variables = "".join(f"-e {shlex.quote(f'{name}={value}')} " for name, value in sorted(command.env.items()))
        options = f"{folder}{variables}{'--shell ' * command.shell}{'--no-build ' * (not command.build)}"
        pair = before[:10], versions[-1].short
        revisions = " ".join(f"-v {version}" for version in pair)
        words = printable(f"{options}-- {command.argv[0] if command.shell else shlex.join(command.argv)}")
        yield f"see where: perf collect sample {revisions} --add {words}"
        # Registered ones stand behind those that the version has; the numbers of pending ones depend on all of them.
        counts = (len(repository.entries(version)) for version in (before, versions[-1].id))
        names = (f"{version}:{count}@i" for version, count in zip(pair, counts, strict=True))
        yield f"and then:  perf diff {' '.join(names)}"


def _starts_program(repository: Repository, journal: Journal) -> bool:
    """Whether the first word is a program, as far as anyone can tell without the tree of a version: the collectors of
    suites get folders and files instead, which no other collector can start."""
    command = journal.command
    if command.shell:
        return True
    path = Path(repository.root, command.cwd, command.argv[0])
    if "/" in command.argv[0]:  # of one that is not there, a build may make it
        return not path.exists() or (path.is_file() and os.access(path, os.X_OK))
    return not path.is_dir() and shutil.which(command.argv[0]) is not None


def _alike(status: Status, good: str, bad: str, runs: str) -> Iterator[str]:
    """That the ends hardly differ, or that nobody knows."""
    gap = status.belief.gap
    assert gap is not None
    smallest = f"{status.threshold * 100:.3g} %"
    size = _size((gap.value, gap.low, gap.high), status)
    if gap.negligible:
        yield f"inconclusive: {good} and {bad} differ by {size}, less than {smallest}; {runs}"
        yield "look for a smaller change (perf bisect --threshold X), or take ends that lie further apart"
    else:
        yield f"inconclusive: {good} and {bad} differ by {size}, which is not surely more than {smallest}; {runs}"
        yield f"measure {_more(status)}on a quieter machine, or take ends that lie further apart"


def _more(status: Status) -> str:
    """How many runs may tell, where a number that anyone would wait for does."""
    journal = status.journal
    for times in _MORE:
        if not bayes.alike(status.belief, times * journal.max_runs, journal.confidence):
            return f"more (perf bisect --max-runs {times * journal.max_runs}), "
    return ""


def _date(version: MinorVersion) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(version.date))


def _percentage(p: float) -> str:
    # Rounded down: 99.96 % must not read as certainty.
    return f"{math.floor(p * 1000) / 10:g} %" if p < 1 else "100 %"


def _size(values: tuple[float, float, float], status: Status) -> str:
    if status.belief.logarithmic:
        size, low, high = (_unsigned(percent(math.exp(value))) for value in values)
    else:
        size, low, high = (quantity(value, status.journal.unit) for value in values)
    return size if size == low == high else f"{size} ({low} to {high})"


def _unsigned(shown: str) -> str:
    """Nothing has no sign."""
    return shown[1:] if shown in ("+0.0 %", "-0.0 %") else shown


def _word(status: Status) -> str:
    if status.journal.unit in TIMES:
        return "slower" if status.rises else "faster"
    return "worse" if status.is_worse else "better"
