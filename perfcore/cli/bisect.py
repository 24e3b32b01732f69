"""`perf bisect`: which version made it slower, found by measuring as little as it takes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Optional

import msgspec
import typer
from perfcore_command_bisect import journal
from perfcore_command_bisect.journal import Journal

from perfcore.analysis.fail_on import INCONCLUSIVE
from perfcore.cli import bisect_report as report
from perfcore.cli import consent
from perfcore.cli.bisect_question import Wish, ask
from perfcore.cli.bisecting import Bisection
from perfcore.cli.console import Console
from perfcore.cli.options import COMMAND, WithCommand, check_threshold
from perfcore.config.settings import parse_seconds
from perfcore.errors import PerfError, UsageError
from perfcore.locks import Lock
from perfcore.measure import stored_command
from perfcore.text import clip, printable

_CONFIDENCE, _MAX_RUNS = 0.95, 120
_SHOWN = 60  # columns of a command in a message


app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command(cls=WithCommand)
def bisect(
    ctx: typer.Context,
    what: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="[GOOD BAD] [-- COMMAND [ARG]...]",
            help="A version before the change, one with it, and what to run (default: what was measured for them).",
            show_default=False,
        ),
    ] = None,
    auto: Annotated[
        bool,
        typer.Option("--auto", help="Take the ends from the history: its last degradation, or else its largest step."),
    ] = False,
    metric: Annotated[
        str, typer.Option("--metric", "-m", metavar="NAME", help="What is asked about (default: CPU time, if any).")
    ] = "",
    function: Annotated[
        str, typer.Option("--function", metavar="NAME", help="Only what this function took, with all it called.")
    ] = "",
    collector: Annotated[
        Optional[str],
        typer.Option("--collector", metavar="NAME", help="Measure with this one (default: time, or what was used)."),
    ] = None,
    better: Annotated[
        str, typer.Option("--better", metavar="lower|higher", help="What is an improvement (default: the metric's).")
    ] = "",
    confidence: Annotated[
        Optional[float],
        typer.Option("--confidence", metavar="P", help=f"How sure to be (default: {_CONFIDENCE}).", show_default=False),
    ] = None,
    threshold: Annotated[
        Optional[float],
        typer.Option(
            "--threshold",
            min=0,
            metavar="X",
            help="The smallest relative change that matters (default: check.threshold, or 0.01).",
            show_default=False,
        ),
    ] = None,
    max_runs: Annotated[
        Optional[int],
        typer.Option(
            "--max-runs", min=8, max=1_000_000, metavar="N", help=f"Stop after so many runs (default: {_MAX_RUNS})."
        ),
    ] = None,
    budget: Annotated[
        Optional[str], typer.Option("--budget", "-t", metavar="SECONDS", help="Stop after this long; to go on later.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure although program, inputs and environment are the same.")
    ] = False,
    register: Annotated[bool, typer.Option("--add", "-a", help="Register what is measured.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Forget the bisection that is under way.")] = False,
    shell: Annotated[bool, typer.Option("--shell", help="Let a shell run the command.")] = False,
    cwd: Annotated[
        Optional[Path], typer.Option("--cwd", metavar="PATH", help="Folder below the tree's root to run in.")
    ] = None,
    env: Annotated[
        Optional[list[str]],
        typer.Option("--env", "-e", metavar="NAME=VALUE", help="Set a variable for the command."),
    ] = None,
    no_build: Annotated[bool, typer.Option("--no-build", help="Do not run execute.pre_run.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON at the end.")] = False,
) -> None:
    """Find the version that made a command slower, or a metric or function worse, although measurements are noisy.

    GOOD and BAD are measured first; where they do not differ by --threshold, nothing else is. Then each step measures
    the version that tells most, in turn with an end. Without arguments, a bisection that was interrupted goes on. The
    exit code is 0 if the version was found and 8 if nobody can tell.
    """
    console: Console = ctx.obj
    words, argv = what or [], ctx.meta.get(COMMAND)
    if better not in ("", "lower", "higher"):
        raise UsageError(f"--better is lower or higher, not {printable(better)}")
    if confidence is not None and not 0.5 <= confidence < 1:
        raise UsageError("--confidence is a probability from 0.5 to less than 1, such as 0.95")
    perf = console.repository.perf
    if reset and not (words or auto):
        console.say("the bisection is forgotten" if journal.remove(perf) else "there is no bisection to forget")
        return
    check_threshold(threshold)
    (perf / "locks").mkdir(exist_ok=True)
    busy = PerfError("another `perf bisect` is at work here", hint="wait for it, or end it")
    with Lock(perf / "locks" / "bisect").hold(0.0, busy):
        if reset:
            journal.remove(perf)
        before = journal.read(perf)
        if words or auto:
            asked = ask(
                console, words, argv, auto, Wish(metric, function, collector, shell, cwd, env or [], not no_build)
            )
            begun = _begun(console, before, asked)
        elif argv is None and before is not None:
            _require_begun_here(console, before)
            begun = before
        else:
            raise UsageError(
                "say between which versions: perf bisect GOOD BAD -- COMMAND",
                hint="or --auto takes them from the history",
            )
        changes = {
            "confidence": confidence,
            "threshold": threshold,
            "max_runs": max_runs,
            "better": better or None,
            "again": again or None,
        }
        begun = msgspec.structs.replace(begun, **{key: value for key, value in changes.items() if value is not None})
        consent.note(console, journal.digest(console.repository.home, begun))
        journal.write(perf, begun)
        _find(console, begun, register, _until(budget), as_json)


def _find(console: Console, begun: Journal, register: bool, until: float | None, as_json: bool) -> None:
    bisecting = Bisection(console, begun, report.quiet if as_json else report.Telling(console), register, until)
    if not as_json:
        report.begin(console, bisecting.verdict())
    try:
        verdict = bisecting.run()
    except KeyboardInterrupt:
        console.say("\nnothing is lost: `perf bisect` goes on from here")
        raise
    console.clear_progress()
    if as_json:
        console.json(report.as_json(console.repository, verdict))
    else:
        for line in report.conclusion(console, verdict):
            console.line(line)
    if verdict.stopped != "found":
        raise typer.Exit(INCONCLUSIVE)


def _begun(console: Console, before: Journal | None, asked: Journal) -> Journal:
    """What was learnt already, where it answers what is asked now."""
    if before is None or not before.readings:
        return asked
    if before.asks_the_same(asked):
        return msgspec.structs.replace(before, ends_from=asked.ends_from)
    if Bisection(console, before, report.quiet).verdict().stopped:
        return asked
    raise UsageError(
        f"a bisection of {before.versions[0][:10]}..{before.versions[-1][:10]} is under way, of "
        f"{clip(stored_command.label(before.command.job), _SHOWN)}",
        hint="`perf bisect` goes on with it, `perf bisect --reset` forgets it",
    )


def _require_begun_here(console: Console, before: Journal) -> None:
    """UntrustedError unless the user began this bisection on this machine, or confirms what it runs."""
    job = before.command.job
    consent.require(
        console,
        journal.digest(console.repository.home, before),
        job,
        source="the bisection that is under way",
        typed=stored_command.bisect_words(job, before.versions[0], before.versions[-1], reset=True),
    )


def _until(budget: str | None) -> float | None:
    if budget is None:
        return None
    try:
        return time.monotonic() + parse_seconds(budget)
    except ValueError as error:
        raise UsageError(f"--budget: {error}") from error
