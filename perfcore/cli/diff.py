"""`perf diff`: what differs between two profiles, by function and path."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import attrs
import typer

from perfcore.analysis import differences, pairing
from perfcore.cli.console import Console
from perfcore.cli.options import run_plugin_command, split_plugin
from perfcore.errors import UsageError
from perfcore.model import Profile, Subject
from perfcore.plugins.registry import guard
from perfcore.store.lookup import Ref, sources

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
DEFAULT = "amounts"

View = Annotated[
    Optional[str], typer.Option("--view", metavar="VIEW", help="Show the difference in a view, such as flamegraph.")
]
Output = Annotated[Optional[Path], typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")]
Save = Annotated[bool, typer.Option("--save", help="Keep the difference as a pending profile.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Head = Annotated[int, typer.Option("--head", "-n", metavar="N", min=0, help="Rows to print; 0 prints all.")]


@app.command(
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    }
)
def diff(
    ctx: typer.Context,
    view: View = None,
    output: Output = None,
    force: Force = False,
    save: Save = False,
    head: Head = 20,
    json: Json = False,
    words: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="BASELINE TARGET [DIFF] [OPTIONS]",
            help="Two profiles, a way to compare (default: amounts), its options.",
        ),
    ] = None,
) -> None:
    """Show what the target took more, or less, than the baseline: by function where there are stacks.

    A difference between two single runs may be noise: `perf check` says how sure it is.
    """
    console: Console = ctx.obj
    name, rest = split_plugin(words or [], console.plugins, "diff", DEFAULT)

    def compare(
        profiles: Annotated[Optional[list[str]], typer.Argument(metavar="BASELINE TARGET", show_default=False)] = None,
        in_view: View = view,
        file: Output = output,
        replace: Force = force,
        keep: Save = save,
        rows: Head = head,
        as_json: Json = json,
        *,
        values: dict[str, Any],
    ) -> None:
        repository = console.repository
        refs = [ref for word in profiles or () for ref in console.find(word)]
        if len(refs) != 2:
            raise UsageError(
                f"a difference is between two profiles, and {len(refs)} are named", hint="perf diff BASELINE TARGET"
            )
        baseline, target = (repository.load(ref) for ref in refs)
        _tell_unlike(console, baseline, target)
        found, driver = console.plugins.make("diff", name, {**repository.plugin_options("diff", name), **values})
        with guard(found, "diff"):
            made = attrs.evolve(driver.diff(baseline, target), sources=sources(refs))
        found_differences = differences.differences(made) if in_view is None else None
        if keep:
            console.say(f"saved {repository.save(attrs.evolve(made, created=time.time_ns(), origin=None)).name}")
        console.output_to(file, force=replace)
        if found_differences is None:
            _render(console, str(in_view), made, refs)
        elif as_json:
            console.json(differences.as_json(found_differences))
        else:
            for line in differences.lines(found_differences, [ref.title for ref in refs], rows):
                console.line(line)

    run_plugin_command(console.plugins, "diff", name, rest, compare, f"perf diff {name}")


def _tell_unlike(console: Console, baseline: Profile, target: Profile) -> None:
    """Amounts are of all runs together, so they differ without any change where one side was measured more."""
    if unlike := pairing.configuration_difference(baseline, target):
        console.say(f"note: these were not measured alike: {unlike}")
    runs = pairing.measured_runs(baseline), pairing.measured_runs(target)
    if None not in runs and runs[0] != runs[1]:
        console.say(f"note: the amounts are those of {runs[0]} runs and of {runs[1]}")


def _render(console: Console, view: str, made: Profile, refs: Sequence[Ref]) -> None:
    found, driver = console.plugins.make("view", view, console.repository.plugin_options("view", view))
    subject = Subject(profiles=(made,), names=(f"{refs[0].name} -> {refs[1].name}",), versions=(None,))
    with guard(found, "render"):
        driver.render(subject, console)
