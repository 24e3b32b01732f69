"""`perf diff`: the difference of two profiles, by function and path."""

from __future__ import annotations

import functools
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from perfcore_command_kit.options import Force, Output
from perfcore_command_kit.plugin_options import HANDS_ON, run_plugin_command, split_plugin
from perfcore_command_kit.sources import VersionSources
from perfcore_command_show import views

from perfcore.cli.console import Console
from perfcore.errors import UsageError
from perfcore.model import PairSide, ViewData
from perfcore.model.record import replace
from perfcore.profile.stacks import has_stacks
from perfcore.store.lookup import Ref
from perfcore.text import align, clip, percent, plural, printable, quantity
from perfcore_command_diff import engine, matching, selection
from perfcore_command_diff.engine import DiffResult, DiffRow
from perfcore_command_diff.scaling import Scale

_WIDEST = 60  # columns of a function or file: longer ones push the numbers out of a terminal of 120

View = Annotated[
    str | None, typer.Option("--view", metavar="VIEW", help="Show the difference in a view, such as flamegraph.")
]
Save = Annotated[bool, typer.Option("--save", help="Keep the difference as a pending profile.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ScaleOption = Annotated[
    Scale,
    typer.Option(
        "--scale", help="Amounts per run where both profiles tell their runs, sums over all runs, or of one total."
    ),
]
Head = Annotated[int, typer.Option("--head", "-n", metavar="N", min=0, help="Print N rows; 0 prints all.")]


def new_app() -> typer.Typer:
    """A new Typer app with the one command, which hands the options of a plugin on to it."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(context_settings=HANDS_ON)(diff)
    return app


def diff(
    ctx: typer.Context,
    view: View = None,
    output: Output = None,
    force: Force = False,
    save: Save = False,
    head: Head = 20,
    scale: ScaleOption = Scale.RUN,
    json: Json = False,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BASELINE TARGET [DIFF] [OPTIONS]",
            help="Two profiles, a diff (default: amounts), its options.",
        ),
    ] = None,
) -> None:
    """Show the difference of two profiles, target minus baseline: by function if there are stacks.

    A difference between two single runs may be noise: use `perf check` to decide.
    """
    console: Console = ctx.obj
    name, options = split_plugin(words or [], console.plugins, "diff", engine.METHOD)

    def compare(
        profiles: Annotated[list[str] | None, typer.Argument(metavar="BASELINE TARGET", show_default=False)] = None,
        in_view: View = view,
        file: Output = output,
        replace: Force = force,
        keep: Save = save,
        rows: Head = head,
        on_scale: ScaleOption = scale,
        as_json: Json = json,
        *,
        values: dict[str, Any],
    ) -> None:
        repository = console.history.repository
        # A range such as `0@p-1@p` is one word with two profiles.
        refs = selection.find(console, profiles or ())
        if len(refs) != 2:
            raise UsageError(
                f"a difference is between two profiles, and {len(refs)} are named", hint="perf diff BASELINE TARGET"
            )
        baseline, target = (repository.load(ref) for ref in refs)
        result = engine.diff(
            repository,
            baseline,
            target,
            method=name,
            options=values,
            scale=on_scale,
            refs=(refs[0], refs[1]),
            listener=console,
        )
        data = ViewData(
            profiles=(result.profile,),
            names=(f"{refs[0].name} -> {refs[1].name}",),
            versions=(None,),
            pair=result.matched.profiles if result.matched is not None else (baseline, target),
            sides=functools.partial(_sides, console, result),
            source=VersionSources(repository).read,
        )
        chosen = views.make(console, in_view, data) if in_view is not None else None
        lines = [] if chosen is not None else list(_lines(result, refs, rows))  # refused before any file is made
        if keep:
            _save(console, result)
        if chosen is not None:
            chosen.draw_to(console, data, file, force=replace, browse=False)
            return
        console.output_to(file, force=replace)
        if as_json:
            console.json(result.as_json())
        else:
            console.write("".join(f"{line}\n" for line in lines))

    run_plugin_command(console.plugins, "diff", name, options, compare, f"perf diff {name}")


def _sides(console: Console, result: DiffResult) -> tuple[PairSide, PairSide]:
    if result.matched is None:
        return PairSide(), PairSide()
    versions = result.sides[0].version, result.sides[1].version
    return matching.sides(console.history.repository, result.matched, versions)


def _save(console: Console, result: DiffResult) -> None:
    # Of no version: it lies between two.
    profile = replace(result.profile, created=time.time_ns(), origin=None)
    console.say(f"saved {console.history.repository.save(profile).name}")


def _lines(result: DiffResult, refs: Sequence[Ref], head: int) -> Iterator[str]:
    """The first `head` rows, all for 0, below the profiles with their runs, and their totals."""
    table = result.table
    ratio = f" ({percent(table.target / table.baseline)})" if table.baseline > 0 else ""
    totals = f"{quantity(table.baseline, table.unit)} -> {quantity(table.target, table.unit)}{ratio}"
    yield f"baseline: {refs[0].title}, {result.sides[0]}"
    yield f"target:   {refs[1].title}, {result.sides[1]}"
    yield f"{printable(table.metric)}{_scale(result)}: {totals}"
    yield ""
    rows = table.rows[:head] if head else table.rows
    if not rows:
        yield "no difference"
    else:
        yield from _table(result, rows)
    if not has_stacks(result.profile.tables):  # whole commands, which checks compare too
        names = " ".join(printable(shlex.quote(ref.name)) for ref in refs)
        yield f"whether this is more than noise: perf check {names}, or perf compare"


def _table(result: DiffResult, rows: Sequence[DiffRow]) -> Iterator[str]:
    table = result.table
    has_own = any(row.own is not None for row in rows)
    header = ("own change", "change", "baseline", "target", "function", "file")
    cells: list[tuple[str, ...]] = [header if has_own else ("change", "baseline", "target", "where")]
    cells += [_cells(row, table.unit, has_own) for row in rows]
    yield from align(cells, right=range(4 if has_own else 3))
    if len(rows) < len(table.rows):
        yield f"… and {plural(len(table.rows) - len(rows), 'more place')} (--head 0 prints all)"


def _scale(result: DiffResult) -> str:
    """The scale of the amounts in words; a sum over one run is of that run."""
    if result.scale is Scale.TOTAL:
        return ", target scaled to the total of the baseline"
    several = any(side.runs != 1 for side in result.sides)
    if result.medians and several:
        return ", median of the runs"
    return " per run" if result.scale is Scale.RUN and several else ""


def _cells(row: DiffRow, unit: str, has_own: bool) -> tuple[str, ...]:
    cells = (
        _signed(row.change, unit),
        quantity(row.baseline, unit),
        quantity(row.target, unit),
        clip(printable(row.name), _WIDEST),
    )
    return (_signed(row.own or 0, unit), *cells, clip(printable(row.file), _WIDEST)) if has_own else cells


def _signed(value: float, unit: str) -> str:
    return ("+" if value > 0 else "") + quantity(value, unit)
