"""The options of commands that print verdicts."""

from __future__ import annotations

from typing import Annotated

import typer

Verbose = Annotated[bool, typer.Option("--verbose", help="All metrics, with the evidence for each verdict.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Print json or a report (junit, sarif, github, markdown) instead of the table.",
    ),
]
ReportFiles = Annotated[
    list[str] | None,
    typer.Option("--report", metavar="NAME=FILE", help="Also write a report to FILE (-: stdout). Repeatable."),
]
