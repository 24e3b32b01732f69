"""The options of commands that measure until a difference is decided."""

from __future__ import annotations

from typing import Annotated

import typer

Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        min=0,
        metavar="X",
        help="The smallest relative change that matters (default: check.threshold, or 0.01).",
        show_default=False,
    ),
]
