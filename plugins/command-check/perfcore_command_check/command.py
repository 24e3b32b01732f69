"""`perf check`: what became slower or faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from msgspec.structs import replace
from perfcore_check_kit import checks, machine_names, target
from perfcore_check_kit.checks import CheckOptions
from perfcore_check_kit.run_values import MACHINE
from perfcore_check_kit.target import CheckTarget, Range
from perfcore_command_kit import report_text
from perfcore_command_kit.options import Benchmarks
from typer.core import TyperCommand

from perfcore.analysis.check_result import CheckResult
from perfcore.analysis.fail_on import NOT_COMPARED
from perfcore.cli.console import Console, console_of
from perfcore.cli.options import AsJson, EachNth, Last, Since, Tags, Until
from perfcore.errors import UsageError, nearest
from perfcore.model import Change
from perfcore.plugins.installed import COMMANDS
from perfcore.repository.version_filter import VersionFilter
from perfcore.text import brief, printable
from perfcore_command_check import check_table, companions, next_step, selection
from perfcore_command_check.options import Format, ReportFiles, Verbose
from perfcore_command_check.reporting import TABLE, Delivery
from perfcore_command_check.thresholds import parse_thresholds

_COLORS = {
    **dict.fromkeys(("slower", "worse", "drifts", "broken"), "red"),
    **dict.fromkeys(("faster", "better", "improves"), "green"),
}
_EMPTY = f"nothing was compared: exit code {NOT_COMPARED}; --allow-empty passes a first run"


class _Check(TyperCommand):
    """`check`, whose first word may be the name of a plugin's command below it: `check.ack` is `perf check ack`."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        if parent is None:  # called without `perf` around it, as its contract does
            return super().make_context(info_name, args, parent=parent, **extra)
        name = f"check.{args[0]}" if args else ""
        console = console_of(parent)
        if name in console.plugins.commands():
            from perfcore.cli.extensions import plugin_command

            command = plugin_command(console, name)
            return command.make_context(f"{info_name} {command.name}", args[1:], parent=parent, **extra)
        if name in COMMANDS:
            from perfcore.cli.extensions import unknown_command

            raise unknown_command(parent, args[0], (), "check")
        return super().make_context(info_name, args, parent=parent, **extra)


def new_app() -> typer.Typer:
    """A new Typer app with the one command, below which other plugins add theirs."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(cls=_Check)(check)
    return app


def check(
    ctx: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[head | all | REV | A..B | A B | [profiles] PROFILE [PROFILE]]",
            help="A version (default: the head), a history or a part of it, two versions (baseline, target), a profile "
            "or two.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="The whole history of the branch, as `all`.")] = False,
    since: Since = None,
    until: Until = None,
    tags: Tags = None,
    last: Last = None,
    step: EachNth = 1,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="The check to use (default: check.name; check.history for histories).",
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="[METRIC=]X",
            help="The smallest relative change that matters, for all metrics or for METRIC: 0.05 is 5 %. Repeatable.",
        ),
    ] = None,
    benchmarks: Benchmarks = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", metavar="NAME", help="Show this metric, too. Repeatable."),
    ] = None,
    all_metrics: Annotated[bool, typer.Option("--all-metrics", help="Show all metrics.")] = False,
    verbose: Verbose = False,
    format: Format = None,
    as_json: AsJson = False,
    reports: ReportFiles = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="Also fail on: degradation:METRIC, drift:METRIC, any-degradation, noise, noise:METRIC, cannot-tell, "
            "cannot-tell:METRIC, not-compared. Repeatable. With never, nothing else fails the check.",
        ),
    ] = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Pass if nothing was compared, as in a first run, instead of exit 9.")
    ] = False,
    collect: Annotated[
        bool,
        typer.Option(
            "--collect",
            help="First measure a version without profiles, with its baseline: the jobs of the "
            "configuration, or commands that you measured before.",
        ),
    ] = False,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm",
            help="Measure a regression again with its baseline, as `perf compare` does, before it fails the check.",
        ),
    ] = False,
    notify: Annotated[
        list[str] | None,
        typer.Option("--notify", metavar="NAME", help="The notifier to use (default: check.notify). Repeatable."),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Measure how small a change the checks detect here."),
    ] = False,
    no_store: Annotated[bool, typer.Option("--no-store", help="Do not store the result for log and status.")] = False,
) -> None:
    """Compare a version with its nearest ancestor that was measured in the same way, or with another one; or find the
    changes of a history.

    The options --since, --until, --tags, --last and --every choose the versions of a history that are looked at, as
    they do in `perf collect`; versions without profiles do not count. The result of such a part is not stored.

    The exit code is 1 if a primary metric (CPU time, where there is one) regressed, in a step or in a slow drift, and
    was not fixed since, 9 if nothing was compared, and 0 otherwise. `perf check ack` accepts a change for good.
    """
    console: Console = ctx.obj
    words = list(what or ())
    delivery = Delivery.of(
        console,
        format=format,
        as_json=as_json,
        reports=reports or (),
        fail_on=fail_on or (),
        notify=notify or (),
        allow_empty=allow_empty,
    )
    options = CheckOptions(
        method=method,
        also=MACHINE if all_metrics else tuple(metrics or ()),
        thresholds=parse_thresholds(threshold or ()),
        rules=delivery.rules,
        store=not no_store,
    )
    part = VersionFilter(since=since, until=until, tags=tags, last=last, step=step)
    if calibrate:
        if words or every or part:
            raise UsageError("--calibrate takes no version: it tries the whole branch")
        from perfcore_check_kit import judges

        result = judges.calibrate(console.repository, method, store=not no_store, listener=console)
        console.clear_progress()
        if as_json:
            console.json(result.as_json())
        else:
            console.write("".join(f"{line}\n" for line in result.lines()))
        return
    asked = _target(console, words, every, part)
    if collect:
        from perfcore_command_check.collection import collect_missing

        collect_missing(console.history, asked, console)
    outcome = checks.check(console.repository, asked, options, console)
    if confirm:
        from perfcore_command_check.confirmation import confirmed

        outcome = confirmed(console.history, outcome, options.thresholds, console, store=not no_store)
    if benchmarks is not None:
        outcome = selection.of_benchmarks(outcome, benchmarks, history=isinstance(asked, Range))
    console.clear_progress()
    if delivery.reports.format == TABLE:
        _print(console, outcome, _metrics(outcome, metrics or ()), everything=verbose or all_metrics, verbose=verbose)
    else:
        delivery.reports.print(console, outcome, outcome.as_json)
    delivery.deliver(console, outcome)
    if hint := report_text.way_to_decide(outcome.changes, report_text.collectors_of(console.repository, outcome)):
        console.note(hint)
    _refuse_unknown(console, outcome)
    if outcome.exit_code == NOT_COMPARED and console.history.repository.left_out:
        return  # damage, which may be why nothing was compared, has an exit code of its own
    if not outcome.compared:
        if outcome.exit_code == NOT_COMPARED:
            console.note(_EMPTY)
        if benchmarks is None and (advice := next_step.towards_a_comparison(console.repository, asked)):
            console.note(advice)
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)


def _refuse_unknown(console: Console, outcome: CheckResult) -> None:
    """A metric that nothing has fails no build, whatever happens: who named it wants to know."""
    if not outcome.unmatched_metrics:
        return
    error = UsageError(
        f"--fail-on or check.fail_on names {brief(outcome.unmatched_metrics[0])}, which is not a compared metric",
        hint=nearest(outcome.unmatched_metrics[0], outcome.metrics) or f"one of {', '.join(sorted(outcome.metrics))}",
    )
    if not outcome.exit_code:
        raise error
    console.warn(error.message)


def _target(console: Console, words: Sequence[str], every: bool, part: VersionFilter) -> CheckTarget:
    if every and words:
        raise UsageError("--all takes no further argument")
    asked = target.parse(console.repository, (words or [target.ALL]) if every or part else words, console.find)
    if not part:
        return asked
    if not isinstance(asked, Range):
        raise UsageError(
            "--since, --until, --tags, --last and --every choose versions of a history",
            hint="such as `perf check all --last 20`, or `perf check A..B --every 2`",
        )
    return replace(asked, part=replace(part, start=asked.start))


def _metrics(outcome: CheckResult, names: Sequence[str]) -> Sequence[str]:
    """The names of metrics, each of which was compared, where anything was."""
    for name in names:
        if outcome.metrics and name not in outcome.metrics:
            raise UsageError(
                f"no metric {brief(name)} was compared",
                hint=nearest(name, outcome.metrics) or f"one of {', '.join(sorted(outcome.metrics))}",
            )
    return names


def _print(console: Console, outcome: CheckResult, metrics: Sequence[str], *, everything: bool, verbose: bool) -> None:
    changes = machine_names.in_changes(console.repository, outcome.changes, outcome.versions)
    rows = check_table.lines(
        changes,
        outcome.unpaired,
        everything=everything,
        always={change.id for change in outcome.failing},
        metrics={*metrics, *companions.watched(outcome)},
        standings={c.id: s for c in outcome.changes if (s := report_text.standing(outcome, c))},
        columns=console.width,
    )
    for line in rows:
        console.line(_painted(console, line))
    if verbose:
        for line in _evidence(changes):
            console.line(line)
    if outcome.changes or outcome.unpaired:
        console.line()
    console.line(report_text.conclusion(outcome))


def _painted(console: Console, line: str) -> str:
    word = line.split(" ", 1)[0]
    color = _COLORS.get(word)
    return console.paint(line, color) if color else line


def _evidence(changes: Sequence[Change]) -> Iterator[str]:
    yield ""
    for change in changes:
        if change.evidence:
            yield f"{change.target} {printable(change.metric)}: {printable(change.evidence)}"
