"""`python -m perfcore`: the same as the command `perf`."""

import sys

from perfcore.cli import command

if __name__ == "__main__":
    sys.exit(command())
