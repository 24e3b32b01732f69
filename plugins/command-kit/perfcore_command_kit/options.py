"""Options that several commands have, with one spelling and one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")]
Browse = Annotated[bool, typer.Option("--open", help="Open the file in a browser; without -o a temporary page.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")]
Benchmarks = Annotated[
    str | None,
    typer.Option("-k", metavar="PATTERN", help="Only benchmarks whose name holds PATTERN, or fits it with * and ?."),
]
