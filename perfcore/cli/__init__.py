"""The command `perf`. Only this package reads the environment and the arguments, prints, and exits."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code. `--version` answers before anything else is imported."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments in (["--version"], ["-V"]):
        from perfcore import __version__

        print(f"perfcore {__version__}")
        return 0
    from perfcore.cli.app import run

    return run(arguments)
