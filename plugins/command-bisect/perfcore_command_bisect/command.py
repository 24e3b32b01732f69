"""`perf bisect`: the version that made a command slower, by few and noisy measurements."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from perfcore_command_compare.options import Threshold
from perfcore_command_kit.with_command import COMMAND, WithCommand

from perfcore.analysis.fail_on import INCONCLUSIVE
from perfcore.cli.options import Cpu, Cwd, NoBuild, Rebuild, seconds, variables
from perfcore.errors import UsageError
from perfcore_command_bisect import engine, report
from perfcore_command_bisect.journal import CONFIDENCE, MAX_RUNS
from perfcore_command_bisect.options import BisectOptions
from perfcore_command_bisect.result import BisectResult

if TYPE_CHECKING:
    from perfcore.hookspecs import CommandContext


def new_app() -> typer.Typer:
    """A new Typer app with the one command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(cls=WithCommand)(bisect)
    return app


def bisect(
    ctx: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GOOD BAD] [-- COMMAND [ARG]...]",
            help="A version before the change, one with it, and the command (default: the command measured for them).",
            show_default=False,
        ),
    ] = None,
    auto: Annotated[
        bool,
        typer.Option("--auto", help="Take the ends from the history: its last regression, or else its largest step."),
    ] = False,
    metric: Annotated[
        str,
        typer.Option(
            "--metric", "-m", metavar="NAME", help="The metric that became worse (default: CPU time, if measured)."
        ),
    ] = "",
    function: Annotated[
        str,
        typer.Option(
            "--function",
            "--benchmark",
            metavar="NAME",
            help="Only the total of this function with its callees, or this benchmark of a suite.",
        ),
    ] = "",
    collector: Annotated[
        str | None,
        typer.Option("--collector", metavar="NAME", help="The collector (default: that of the ends, or time)."),
    ] = None,
    better: Annotated[
        str,
        typer.Option(
            "--better", metavar="lower|higher", help="The direction of an improvement (default: the metric's)."
        ),
    ] = "",
    confidence: Annotated[
        float | None,
        typer.Option(
            "--confidence", metavar="P", help=f"The required probability (default: {CONFIDENCE}).", show_default=False
        ),
    ] = None,
    threshold: Threshold = None,
    max_runs: Annotated[
        int | None,
        typer.Option(
            "--max-runs", min=8, max=1_000_000, metavar="N", help=f"Measure at most N runs (default: {MAX_RUNS})."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", "-t", metavar="SECONDS", help="Stop after this time; it can continue later."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure even if program, inputs and environment are identical.")
    ] = False,
    register: Annotated[bool, typer.Option("--add", help="Register the measured profiles.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Discard the unfinished bisection.")] = False,
    shell: Annotated[bool, typer.Option("--shell", help="Let a shell run the command.")] = False,
    cpu: Cpu = None,
    cwd: Cwd = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="NAME=VALUE", help="Set a variable for the command."),
    ] = None,
    no_build: NoBuild = False,
    rebuild: Rebuild = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON at the end.")] = False,
) -> None:
    """Find the version that made a command slower, or a metric or function worse, although measurements are noisy.

    GOOD and BAD are measured first; if they do not differ by --threshold, the bisection ends. Then each step measures
    the most informative version, interleaved with an end. Without arguments, an interrupted bisection continues. The
    exit code is 0 if the version was found, and 8 if the result is inconclusive or BAD is better than GOOD.
    """
    context: CommandContext = ctx.obj
    if reset and not (what or auto):
        context.say(
            "the bisection is discarded"
            if engine.forget(context.history.repository)
            else "there is no bisection to discard"
        )
        return
    good, bad = _ends(what or [], auto)
    argv = ctx.meta.get(COMMAND)
    options = BisectOptions(
        good=good,
        bad=bad,
        auto=auto,
        command=None if argv is None else tuple(argv),
        shell=shell,
        cwd=cwd,
        env=variables(env or []),
        build=not no_build,
        rebuild=rebuild,
        collector=collector,
        metric=metric,
        function=function,
        better=better,
        confidence=confidence,
        threshold=threshold,
        max_runs=max_runs,
        budget=seconds("--budget", budget),
        again=again,
        register=register,
        reset=reset,
        cpu=cpu,
    )
    with engine.bisection(
        context.history.repository, options, context, confirm=functools.partial(_confirm, context)
    ) as bisection:
        result = _run(context, bisection, as_json)
    if not (result.found and result.status.is_worse):
        raise typer.Exit(INCONCLUSIVE)


def _confirm(context: CommandContext, lines: Iterable[str]) -> bool:
    for line in lines:
        context.say(line)
    return context.confirm("run it?")


def _run(context: CommandContext, bisection: engine.Bisection, as_json: bool) -> BisectResult:
    if not as_json:
        context.line(report.heading(bisection.status()))
    try:
        result = bisection.run(engine.no_steps if as_json else report.StepReport(context))
    except KeyboardInterrupt:
        context.say("\nnothing is lost: `perf bisect` goes on from here")
        raise
    context.clear_progress()
    if as_json:
        context.json(result.as_json())
    else:
        for line in report.conclusion(context, result):
            context.line(line)
    return result


def _ends(words: list[str], auto: bool) -> tuple[str, str]:
    """GOOD and BAD of the command line; two empty words for neither."""
    if auto and words:
        raise UsageError("--auto takes the ends from the history", hint="leave GOOD and BAD away")
    if not words:
        return "", ""
    if len(words) != 2:
        named = "1 is" if len(words) == 1 else f"{len(words)} are"
        raise UsageError(
            f"two versions are wanted, GOOD and BAD, and {named} named", hint="the command stands after `--`"
        )
    return words[0], words[1]
