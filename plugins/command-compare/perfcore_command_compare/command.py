"""`perf compare`: two programs or versions, interleaved until the difference is decided; or what is stored of them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import attrs
import typer
from perfcore_check_kit import target
from perfcore_check_kit.fail_rules import parse_rules
from perfcore_command_check.options import Format, ReportFiles, Verbose
from perfcore_command_check.reporting import TABLE, Reports, send
from perfcore_command_kit.options import Browse, Force, Output
from perfcore_command_kit.view_options import TakesViewOptions, view_options
from perfcore_command_kit.with_command import COMMAND, WithCommand

from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import INCONCLUSIVE, REGRESSED
from perfcore.cli.console import Console
from perfcore.cli.options import AsJson, Cpu, Cwd, NoBuild, Rebuild, seconds, variables
from perfcore.errors import NotFoundError, UsageError, VersionError
from perfcore.measure import commands
from perfcore.measure.request import working_directory
from perfcore.model import Job, Step
from perfcore.model.record import replace
from perfcore.repository.repository import Repository
from perfcore.store.lookup import Ref, is_number
from perfcore.text import printable
from perfcore_command_compare import engine, stored_command, table
from perfcore_command_compare.host import Host
from perfcore_command_compare.options import Threshold
from perfcore_command_compare.request import Budget, CompareRequest, Program
from perfcore_command_compare.result import ComparisonResult
from perfcore_command_compare.stored_command import Shown, painted


def new_app() -> typer.Typer:
    """A new Typer app with the one command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(cls=CompareCommand)(compare)
    return app


class CompareCommand(TakesViewOptions, WithCommand):
    """It takes a command behind `--`, and the options of its view."""

    default_view = stored_command.DEFAULT


def compare(
    ctx: typer.Context,
    operands: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[A [B]] [-- COMMAND [ARG]...]",
            help="Two versions, also as A..B, for a command (default: the head, the working tree) or by what is "
            "stored; or two profiles.",
            show_default=False,
        ),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Option("--command", "-c", metavar="TEXT", help="A program as one text; give two of them."),
    ] = None,
    collector: Annotated[
        str, typer.Option("--collector", metavar="NAME", help="The collector, with its configured options.")
    ] = "time",
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric", "-m", metavar="NAME", help="The metric that decides (default: CPU time, if measured)."
        ),
    ] = None,
    threshold: Threshold = None,
    benchmarks: Annotated[
        str | None,
        typer.Option(
            "-k",
            metavar="PATTERN",
            help="Of stored versions, only benchmarks and commands like PATTERN (with * and ?).",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", "-a", help="Of stored versions, list also what is unchanged, inconclusive or one-sided."),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            "-t",
            metavar="SECONDS",
            help="Begin no pair after this time, building included (default: 60 s of measuring).",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        int,
        typer.Option(
            "--max-pairs", min=2, max=100_000, metavar="N", help="Measure no more pairs than this, repeats included."
        ),
    ] = 200,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--inputs",
            metavar="PATTERN",
            help="Files that decide what the command does (default: execute.inputs). Repeatable.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure even if both sides are in the same state.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the runs as pending profiles.")] = False,
    shell: Annotated[bool, typer.Option("--shell", help="Let a shell run the commands.")] = False,
    cpu: Cpu = None,
    cwd: Cwd = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="NAME=VALUE", help="Set a variable for the commands."),
    ] = None,
    no_build: NoBuild = False,
    rebuild: Rebuild = False,
    verbose: Verbose = False,
    format: Format = None,
    as_json: AsJson = False,
    reports: ReportFiles = None,
    view: Annotated[
        str | None,
        typer.Option(
            "--view",
            metavar="VIEW",
            help="Of stored versions, show the comparisons in a view, with its options: --view VIEW --help lists them.",
        ),
    ] = None,
    output: Output = None,
    force: Force = False,
    browse: Browse = False,
) -> None:
    """Say whether B is slower than A: two versions, two programs, or two existing profiles.

    A command runs on both sides, interleaved, until the interval of their ratio decides or the budget is spent. Without
    a command, two versions are compared by all that is stored of both, the largest changes first. The exit code is 0 if
    B is the same or faster, 1 if it is slower, 8 if the result is inconclusive, and 9 if nothing was compared.
    """
    console: Console = ctx.obj
    words, argv, texts = _split_range(operands or []), ctx.meta.get(COMMAND), command or []
    _check_threshold(threshold)
    outputs = Reports.of(console, format=format, as_json=as_json, reports=reports or ())
    limits = Budget(pairs=most)
    if (longest := seconds("--budget", budget)) is not None:
        limits = attrs.evolve(limits, seconds=longest, whole=True)
    stored = argv is None and not texts
    values = view_options(ctx, view or stored_command.DEFAULT)
    shown = Shown.of(view, output, values, force=force, browse=browse)
    if stored and (versions := _versions(console, words)) is not None:
        stored_command.run(
            console,
            versions,
            outputs,
            benchmarks=benchmarks,
            metric=metric,
            threshold=threshold,
            everything=everything,
            verbose=verbose,
            shown=shown,
        )
        return
    if benchmarks is not None or everything:
        raise UsageError("-k and --all choose among what is stored of two versions", hint="perf compare A B")
    if shown is not None and not stored:
        raise UsageError("--view, -o and --open are for what is stored of two versions", hint="perf compare A B")
    if stored:
        result = _of_profiles(console, words, metric, threshold)
        if shown is not None:
            hint = f"perf show {' '.join(words)} histogram draws their runs"
            raise UsageError("--view, -o and --open show two versions, and these are profiles", hint=hint)
    else:
        common = Job(argv=(), cmd="", env=variables(env or []), collector=Step(name=collector))
        if texts:
            programs = _of_texts(console, words, argv, texts, common, shell, cwd)
        else:
            programs = _of_versions(console.history.repository, words, _job(argv or [], common, shell), cwd)
        request = CompareRequest(
            programs=programs,
            metric=metric,
            threshold=threshold,
            budget=limits,
            inputs=tuple(inputs or ()),
            build=not no_build,
            rebuild=rebuild,
            again=again,
            save=keep,
            cpu=cpu,
        )
        host = Host.of(console.history.repository) if keep else _host(console)
        result = engine.compare(host, request, console)
    _print(console, result, outputs, verbose=verbose)
    if result.kind in ("degradation", "cannot tell"):
        raise typer.Exit(REGRESSED if result.kind == "degradation" else INCONCLUSIVE)


def _split_range(words: list[str]) -> list[str]:
    """`A..B` as two words; an end that is left out is the head."""
    if len(words) != 1 or ".." not in words[0] or "/.." in words[0] or "../" in words[0] or is_number(words[0]):
        return words
    first, _, second = words[0].partition("..")
    return [first or "HEAD", second or "HEAD"]


def _versions(console: Console, words: Sequence[str]) -> Sequence[str] | None:
    """The names, if they are of two versions."""
    if len(words) != 2:
        return None
    return words if target.version_pair(console.history.repository, words) is not None else None


def _check_threshold(threshold: float | None) -> None:
    """UsageError for one that is no size."""
    if threshold is not None and not math.isfinite(threshold):
        raise UsageError(
            f"the threshold is {threshold:g}", hint="a threshold is a share such as 0.02 for 2 %, and 0 or more"
        )


def _of_texts(
    console: Console,
    words: Sequence[str],
    argv: list[str] | None,
    texts: Sequence[str],
    common: Job,
    shell: bool,
    cwd: Path | None,
) -> tuple[Program, Program]:
    if len(texts) != 2 or words or argv is not None:
        raise UsageError("two programs are compared: give --command twice, and nothing beside it")
    split_texts = [[text] if shell else commands.split(text, "--command") for text in texts]
    empty = next((number for number, text in enumerate(texts, 1) if not text.strip()), None)
    if empty is not None:
        raise UsageError(f"--command {empty} of 2 is empty", hint="give each a program: -c './old x' -c './new x'")
    repository = _repository_if_any(console)
    directory = (cwd or Path()) if repository is None else working_directory(repository, cwd)
    first, second = (
        Program(name=text, job=commands.in_folder(replace(_job(words, common, shell), cwd=directory)))
        for text, words in zip(texts, split_texts, strict=True)
    )
    return first, second


def _of_versions(repository: Repository, words: Sequence[str], job: Job, cwd: Path | None) -> tuple[Program, Program]:
    if len(words) > 2:
        raise UsageError(f"two versions are compared, and {len(words)} are named")
    job = commands.in_folder(replace(job, cwd=working_directory(repository, cwd)))
    revisions: list[str | None] = [*(words or (None,)), ""]
    first, second = (_of_version(repository, word, job) for word in revisions[:2])
    return first, second


def _of_version(repository: Repository, revision: str | None, job: Job) -> Program:
    """The command at a revision, at the head for None; in the user's own tree for an empty one."""
    if revision == "":
        return Program(name="working tree", job=job)
    version = repository.version(revision)
    name = version[:10] if revision is None or version.startswith(revision) else f"{revision} ({version[:10]})"
    return Program(name=name, job=job, version=version)


def _job(words: list[str], common: Job, shell: bool) -> Job:
    job = commands.job(words, shell=shell)
    return replace(common, argv=job.argv, cmd=job.cmd, args=job.args, shell=shell)


def _of_profiles(
    console: Console, words: Sequence[str], metric: str | None, threshold: float | None
) -> ComparisonResult:
    """The verdict on stored runs; nothing is measured."""
    if len(words) != 2:
        raise UsageError(
            "name both sides: two versions or profiles, a command after `--`, or two --command",
            hint="perf compare HEAD~1 HEAD -- ./program",
        )
    repository, names = console.history.repository, (words[0], words[1])
    refs_of = {name: _find(console, name) for name in target.versions_last(repository, names)}
    refs = refs_of[names[0]], refs_of[names[1]]
    return engine.compare_profiles(
        Host.of(repository), repository, names, refs, console, metric=metric, threshold=threshold
    )


def _find(console: Console, word: str) -> list[Ref]:
    """The profiles of a name. UsageError where it is one of a version: a version is compared with a version."""
    try:
        return console.find(word)
    except NotFoundError:
        with contextlib.suppress(VersionError):
            version = console.history.repository.version(word)
            raise UsageError(
                f"{printable(word)} is version {version[:10]}, and the other side is none",
                hint="name two versions or two profiles; perf compare A B -- COMMAND measures",
            ) from None
        raise


def _repository_if_any(console: Console) -> Repository | None:
    """None outside of one."""
    try:
        return console.history.repository
    except NotFoundError:
        return None


def _host(console: Console) -> Host:
    repository = _repository_if_any(console)
    if repository is not None:
        return Host.of(repository)
    return Host(directory=console.directory, plugins=console.plugins, config=console.config)


def _print(console: Console, result: ComparisonResult, outputs: Reports, *, verbose: bool) -> None:
    verdicts = _verdicts(result)
    if outputs.format == TABLE:
        _print_table(console, result, verbose=verbose)
    else:
        outputs.print(console, verdicts, result.as_json)
    send(console, [*outputs.write(console, verdicts, result.as_json)], failing=bool(verdicts.exit_code))


def _verdicts(result: ComparisonResult) -> CheckResult:
    """The comparison as reports take it: an inconclusive one fails, as it does by its exit code."""
    # Both exit codes and reports fail for "cannot tell": a gate must not pass for want of an answer.
    return CheckResult(
        changes=result.changes,
        rules=parse_rules(["cannot-tell"]),
        conclusion=table.conclusion(result),
        compared=1 if result.identical else sum(change.primary for change in result.changes),
    )


def _print_table(console: Console, result: ComparisonResult, *, verbose: bool) -> None:
    for line in table.lines(result, everything=verbose, columns=console.width):
        console.line(painted(console, line))
    for line in table.evidence(result.changes) if verbose else ():
        console.line(line)
    console.line()
    console.line(table.conclusion(result))
