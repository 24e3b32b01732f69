"""`perf fsck`: verify the store."""

from __future__ import annotations

from typing import Annotated

import attrs
import typer

from perfcore.cli.console import Console
from perfcore.errors import FormatError
from perfcore.store.gc import examine
from perfcore.text import plural, printable

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command()
def fsck(ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Read everything that is stored and name what is damaged or missing. Nothing is changed."""
    console: Console = ctx.obj
    findings = list(examine(console.repository.store))
    if as_json:
        console.json({"schema": 1, "findings": [attrs.asdict(finding) for finding in findings]})
    for finding in findings if not as_json else ():
        console.line(f"{finding.level}: {finding.key}: {printable(finding.text)}")
    errors = sum(1 for finding in findings if finding.level == "error")
    if errors:
        raise FormatError(f"{plural(errors, 'part')} of the store damaged or missing; the rest goes on working")
    console.say("the store is whole")
