"""`perf compare A B` without a command: two versions by what is stored of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import typer
from perfcore_check_kit import machine_names
from perfcore_command_check.reporting import TABLE, Reports, send
from perfcore_command_kit.report_text import collectors_of, decided
from perfcore_command_show import context, views

from perfcore.cli.console import Console
from perfcore.model import ViewData
from perfcore.model.record import replace
from perfcore_command_compare import stored, stored_table
from perfcore_command_compare.stored import StoredComparison

DEFAULT = "compare"


@attrs.frozen
class Shown:
    """The view that shows the comparisons, and the file that it writes, which a browser may open."""

    view: str
    path: Path | None
    options: Mapping[str, Any]
    force: bool
    browse: bool

    @classmethod
    def of(
        cls, view: str | None, path: Path | None, options: Mapping[str, Any], *, force: bool, browse: bool
    ) -> Shown | None:
        """As the options say; None where they ask for no view."""
        return cls(view or DEFAULT, path, options, force, browse) if view or path or options or browse else None

    def draw(self, console: Console, comparison: StoredComparison) -> None:
        vcs, outcome = console.repository.vcs, comparison.outcome
        data = ViewData(
            changes=outcome.changes,
            names=tuple(side.title for side in comparison.sides),
            versions=lambda: tuple(vcs.get_minor_version_info(side.version) for side in comparison.sides),
            accepted={change: note.why for change, note in outcome.accepted.items()},
            decided={change.id: words for change in outcome.changes if (words := decided(outcome, change))},
            gated=lambda: context.gated(console.repository, outcome.changes),
        )
        made = views.make(console, self.view, data, self.options)
        name = " ".join(side.version for side in comparison.sides)
        made.draw_to(console, data, self.path, force=self.force, browse=self.browse, name=name)


def run(
    console: Console,
    names: Sequence[str],
    outputs: Reports,
    *,
    benchmarks: str | None,
    metric: str | None,
    threshold: float | None,
    everything: bool,
    verbose: bool,
    shown: Shown | None = None,
) -> None:
    """Compare, print, and write the reports. Exit with the code of the comparison."""
    comparison = stored.compare_versions(
        console.history.repository, names, console, benchmarks=benchmarks, metric=metric, threshold=threshold
    )
    console.clear_progress()
    if shown is not None:
        shown.draw(console, _with_machine_names(console, comparison))
    elif outputs.format == TABLE:
        _print_table(console, _with_machine_names(console, comparison), everything=everything, verbose=verbose)
    else:
        outputs.print(console, comparison.outcome, comparison.as_json)
    reports = outputs.write(console, comparison.outcome, comparison.as_json)
    send(console, [*reports], failing=bool(comparison.exit_code))
    collectors = collectors_of(console.history.repository, comparison.outcome)
    for hint in comparison.hints(collectors, usual_collector=console.plugins.usual_collector()):
        console.note(hint)
    # Damage, which may be why nothing was compared, has an exit code of its own.
    if comparison.exit_code and (comparison.outcome.compared or not console.history.repository.left_out):
        raise typer.Exit(comparison.exit_code)


def _with_machine_names(console: Console, comparison: StoredComparison) -> StoredComparison:
    outcome = comparison.outcome
    changes = machine_names.in_changes(console.history.repository, outcome.changes, outcome.versions)
    return attrs.evolve(comparison, outcome=replace(outcome, changes=changes))


def _print_table(console: Console, comparison: StoredComparison, *, everything: bool, verbose: bool) -> None:
    rows = stored_table.lines(comparison, everything=everything, all_metrics=verbose, columns=console.width)
    for line in rows:
        console.line(painted(console, line))
    for line in stored_table.evidence(comparison.outcome.changes) if verbose else ():
        console.line(line)
    console.line()
    console.line(comparison.conclusion)


def painted(console: Console, line: str) -> str:
    """A row in the color of its verdict, which is its first word."""
    color = {"slower": "red", "worse": "red", "faster": "green", "better": "green"}.get(line.split(" ", 1)[0])
    return console.paint(line, color) if color else line
