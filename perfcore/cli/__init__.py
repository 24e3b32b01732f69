"""The command `perf`. Only this package reads the environment and the arguments, prints, and exits."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code. `--version` answers before anything else is imported."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if arguments in (["--version"], ["-V"]):
        try:
            return _tell_version()
        except OSError:  # nobody reads it, or the disk is full: this is told as everywhere
            from perfcore.cli.outcome import finished

            return finished(_tell_version)
    from perfcore.cli.app import run

    return run(arguments)


def _tell_version() -> int:
    from perfcore import __version__

    print(f"perfcore {__version__}", flush=True)
    return 0
