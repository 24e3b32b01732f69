"""Options that several commands have, with one spelling and one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def is_standard_output(path: Path) -> bool:
    """Whether a file of the command line means standard output."""
    return str(path) in ("-", "/dev/stdout")


def _file(path: Path | None) -> Path | None:
    """The file; None for standard output, where commands without the option write."""
    return None if path is None or is_standard_output(path) else path


Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", callback=_file, help="Write to a file.")]
Browse = Annotated[bool, typer.Option("--open", help="Open the file in a browser; without -o a temporary page.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace the file.")]
Benchmarks = Annotated[
    str | None,
    typer.Option("-k", metavar="PATTERN", help="Only benchmarks whose name holds PATTERN, or fits it with * and ?."),
]
