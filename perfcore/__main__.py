"""`python -m perfcore`: the same as the command `perf`."""

import sys

from perfcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
