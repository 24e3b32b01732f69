"""The start of the command `tagit`: `--version` answers before anything else is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from perfcore_vcs_tagit.version_option import print_version


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words in (["--version"], ["-V"]):
        print_version()
        return 0
    from perfcore_vcs_tagit.command import run

    return run(words)
